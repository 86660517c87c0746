"""A layout's step on boxes of the registry: published layouts, what a search brings, and laws that hold for every layout."""

from dataclasses import replace

import pytest

from ironlaw.engine.cluster.layouts import Layout
from ironlaw.engine.cluster.shapes import token_flops
from ironlaw.errors import BadValue
from ironlaw.registry.boxes import box
from ironlaw.registry.publications import published
from ironlaw.registry.runs import runs
from ironlaw.systems.training.layout_steps import layout_ranking, layout_step, training_job

TETON = "grand_teton_h100"


@pytest.mark.parametrize("run", runs("llama3_2024"), ids=lambda run: f"{run.layout.devices}x{run.seq}")
def test_the_published_layouts_fit_and_are_the_best_of_the_search(run) -> None:
    """Found by ranking every layout that divides and fits: the one that Meta ran, on as many devices and with as many tokens."""
    ranking = layout_ranking("llama3_405b", run.box, run.layout.devices, run.batch, run.seq)
    assert ranking[0].layout == run.layout
    assert ranking[0].time.total == pytest.approx(run.seconds, rel=0.15)
    assert all(one.layout.devices == run.layout.devices and one.memory.total <= 84.4e9 for one in ranking)


def test_strong_scaling_falls_as_published_within_a_few_points() -> None:
    table = published("training_mfu")
    ends = [layout_ranking("gpt3_core", "dgx_h100", devices, 1152, 4096)[0].speed.mfu for devices in (96, 4608)]
    stated = [table.value("mfu", devices=devices) for devices in (96, 4608)]
    assert 100 * (ends[0] - ends[1]) == pytest.approx(stated[0] - stated[1], abs=4)
    assert all(0 < 100 * ours - theirs < 8 for ours, theirs in zip(ends, stated, strict=True))


def test_more_replicas_of_a_fixed_batch_never_raise_the_share_of_the_peak() -> None:
    shares = [layout_step("gpt3_core", "dgx_h100", Layout(8, 12, 1, data), 1152, 4096).speed.mfu for data in (1, 2, 3, 6, 12, 24, 48)]
    assert shares == sorted(shares, reverse=True)


@pytest.mark.parametrize(
    "layout", [Layout(8, 16, 1, 128, virtual=8, zero=2), Layout(4, 32, 1, 128), Layout(8, 8, data=256, recompute="full")]
)
def test_no_step_is_shorter_than_its_arithmetic_at_peak(layout: Layout) -> None:
    job = training_job("llama3_405b", TETON, 2048, 8192)
    step = layout_step("llama3_405b", TETON, layout, 2048, 8192)
    least = job.batch * job.seq * token_flops(job.shape, job.seq, layout.recompute, causal=True) / (layout.devices * job.peak)
    assert step.time.total > least and step.speed.hfu >= step.speed.mfu


def test_fewer_ports_and_no_overlap_cost_time() -> None:
    layout = Layout(8, 16, 1, 128, virtual=8, zero=2)
    usual = layout_step("llama3_405b", TETON, layout, 2048, 8192).time
    narrow = layout_step("llama3_405b", TETON, layout, 2048, 8192, nics=2).time
    plain = layout_step("llama3_405b", box(TETON), layout, 2048, 8192, overlap=False).time
    assert narrow.data > usual.data and plain.data > usual.data and plain.compute == usual.compute


def test_scores_in_memory_are_kept_and_selective_recomputation_drops_them() -> None:
    layout = Layout(8, 8, 1, 64)
    fused, plain = (layout_step("gpt3_175b", "dgx_a100", layout, 1536, 2048, fused=fused).memory.activations for fused in (True, False))
    again = layout_step("gpt3_175b", "dgx_a100", replace(layout, recompute="selective"), 1536, 2048, fused=False).memory.activations
    assert plain > 2 * fused and again == pytest.approx(fused)


def test_what_does_not_divide_is_refused() -> None:
    with pytest.raises(BadValue, match="126 layers do not divide into 4 stages of 3 chunks"):
        layout_step("llama3_405b", TETON, Layout(8, 4, 1, 512, virtual=3), 2048, 8192)
