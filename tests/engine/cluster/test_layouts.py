"""Shapes, layouts and their bytes: published parameters, FLOPs and activations; what divides, what fits."""

import math
from dataclasses import replace
from functools import cache

import pytest
from hypothesis import given
from hypothesis import strategies as st

import ironlaw as il
from ironlaw.engine.cluster.footprint import (
    activations,
    expert_parameters,
    kept_layers,
    layer_activations,
    memory,
    static_bytes,
    updated_parameters,
)
from ironlaw.engine.cluster.layouts import Layout, check, layouts, micro_batches, stage_layers
from ironlaw.engine.cluster.pipelines import gantt
from ironlaw.engine.cluster.shapes import Shape, hfu, mfu, token_flops
from ironlaw.engine.cluster.volumes import calls
from ironlaw.errors import BadValue, UnknownName
from ironlaw.registry.decoder_shapes import decoder, decoders
from ironlaw.registry.runs import published_shapes, runs

SELENE = {  # arXiv:2205.05198, figure 1: GiB of activations with nothing and with attention recomputed, of parameters and optimiser
    "megatron_22b": (1, 1, 4, 59.25, 9.5625, 45.5625, 46.26),
    "gpt3_175b": (8, 3, 1, 66.84375, 12.3515625, 45.5625, 45.74),
    "mt_nlg_530b": (35, 3, 1, 114.0234375, 23.076171875, 31.640625, 31.71),
    "megatron_1t": (64, 1, 1, 131.25, 26.5625, 32.958984375, 33.01),
}


@pytest.mark.parametrize("name", SELENE)
def test_activations_and_state_are_the_published_ones(name: str) -> None:
    pipeline, virtual, micro, none, selective, layers_only, whole = SELENE[name]
    shape = decoder(name)
    plain = Layout(8, pipeline, virtual=virtual, micro=micro, sequence_parallel=False, zero=0)
    both = replace(plain, recompute="selective", sequence_parallel=True)
    assert activations(shape, plain, 2048) / 2**30 == pytest.approx(none, rel=1e-9)
    assert activations(shape, both, 2048) / 2**30 == pytest.approx(selective, rel=1e-9)
    assert static_bytes(12 * shape.layers * shape.hidden**2 / 8 / pipeline, plain).static / 2**30 == pytest.approx(layers_only, rel=1e-9)
    assert static_bytes(shape.parameters / 8 / pipeline, plain).static / 2**30 == pytest.approx(whole, abs=0.006)
    assert layer_activations(shape, replace(plain, recompute="full"), 2048) == 2 * 2048 * micro * shape.hidden


def test_what_gpt_3_keeps_of_one_sequence() -> None:
    """All layers on one device: 275 GB in full, 82 with attention computed again, 4.8 with all of it; stages do not divide it."""
    shape = decoder("gpt3_175b")
    kept = [activations(shape, Layout(recompute=way), 2048) / 1e9 for way in ("none", "selective", "full")]
    assert kept == pytest.approx([275, 82, 4.8], rel=0.01)
    whole = activations(shape, Layout(), 2048)
    assert [activations(shape, Layout(pipeline=p), 2048) for p in (2, 8, 32)] == [whole] * 3


schedule = cache(gantt)


def waiting(shape: Shape, layout: Layout, stage: int, micro_batches: int) -> float:
    """Layers of microbatches that wait, at most, in the schedule as it runs: a piece begins to wait when it runs forward."""
    pieces = layout.pipeline * layout.virtual
    sizes = dict.fromkeys(range(pieces), max(stage_layers(shape, layout)) // layout.virtual)
    if shape.layers % pieces:
        sizes[0] -= 1
        sizes[pieces - 1] -= 1
    slots = sorted((s for s in schedule(layout.pipeline, micro_batches, layout.virtual) if s.stage == stage), key=lambda s: s.start)
    held = most = 0
    for slot in slots:
        size = sizes[slot.piece * layout.pipeline + stage]
        held += -size if slot.backward else size
        most = max(most, held)
    return most


@pytest.mark.parametrize(
    ("layers", "pipeline", "virtual", "micro"),
    [
        (8, 4, 1, 8), (8, 4, 1, 2), (16, 4, 2, 8), (16, 4, 4, 4), (14, 4, 1, 8), (14, 4, 2, 8), (14, 4, 2, 4), (14, 4, 4, 8), (14, 4, 4, 4),
        (126, 16, 8, 32), (126, 16, 8, 16),
    ],
)  # fmt: skip
def test_what_waits_at_each_stage_is_what_the_schedule_leaves_waiting(layers: int, pipeline: int, virtual: int, micro: int) -> None:
    shape = replace(decoder("llama3_405b"), layers=layers)
    layout = Layout(8, pipeline, virtual=virtual)
    counts = [kept_layers(shape, layout, stage, micro) for stage in range(pipeline)]
    assert counts == pytest.approx([waiting(shape, layout, stage, micro) for stage in range(pipeline)])
    fullest = memory(shape, layout, 8192, micro).activations
    assert fullest >= max(counts[:-1]) * layer_activations(shape, layout, 8192) * (1 - 1e-12)
    assert activations(shape, layout, 8192, micro) == max(counts) * layer_activations(shape, layout, 8192)


def test_llama_fits_where_it_ran() -> None:
    """By this account 84, 77 and 77 GB of an H100's 85.5 (81,559 MiB, as its driver says): gradients are summed up piece by piece."""
    held = [memory(run.shape, run.layout, run.seq, micro_batches(run.layout, run.batch)) for run in runs("llama3_2024")]
    assert [parts.total / 1e9 for parts in held] == pytest.approx([83.9, 76.6, 76.6], abs=0.1)
    assert max(parts.total for parts in held) < 81_559 * 2**20
    for parts, run in zip(held, runs("llama3_2024"), strict=True):
        mine = 8 * run.shape.layer_parameters / 8
        assert parts.gradients == pytest.approx(4 * mine / run.layout.replicas + 4 * mine / 8, rel=0.01)


def test_selenes_runs_fit_its_devices() -> None:
    for run in (*runs("megatron_2022"), *runs("megatron_2021")):
        assert memory(run.shape, run.layout, run.seq, micro_batches(run.layout, run.batch)).total < 80e9, str(run.layout)


def test_zero_three_of_gpt_3_on_64_devices() -> None:
    assert static_bytes(175e9, Layout(data=64, zero=3, gradient_bytes=2.0)).static == 43.75e9


@pytest.mark.parametrize("name", [name for name in decoders() if name not in published_shapes()])
def test_parameters_are_those_of_the_real_model(name: str) -> None:
    assert decoder(name).parameters == il.workload(name).params


@pytest.mark.parametrize(
    ("name", "billions"),
    [
        ("megatron_1_7b", 1.7), ("megatron_7_5b", 7.5), ("megatron_145_6b", 145.6), ("megatron_1t", 1008.0), ("llama3_405b", 405.9),
        ("palm_540b", 540.4),
    ],
)  # fmt: skip
def test_parameters_are_the_published_ones(name: str, billions: float) -> None:
    assert decoder(name).parameters / 1e9 == pytest.approx(billions, abs=0.06)


def test_flops_are_megatrons_formula() -> None:
    """96·B·s·l·h²·(1 + s/6h + V/16lh) with all recomputed, 72 (… V/12lh) without."""
    shape, seq, batch = decoder("gpt3_175b"), 2048, 1536
    layers, h, vocab = shape.layers, shape.hidden, shape.vocab
    once = 72 * seq * layers * h**2 * (1 + seq / (6 * h) + vocab / (12 * layers * h))
    twice = 96 * seq * layers * h**2 * (1 + seq / (6 * h) + vocab / (16 * layers * h))
    assert seq * token_flops(shape, seq) == pytest.approx(once, rel=1e-12)
    assert seq * token_flops(shape, seq, "full") == pytest.approx(twice, rel=1e-12)
    assert batch * twice / 1024 / 32 / 1e12 == pytest.approx(137.7, abs=0.4)  # Megatron's README: 138
    assert hfu(shape, batch * seq, seq, 32.0, 1024, 312e12, "full") == pytest.approx(0.44, abs=0.005)
    assert mfu(shape, batch * seq, seq, 32.0, 1024, 312e12) == pytest.approx(0.331, abs=0.001)
    assert token_flops(shape, seq, "none", causal=True) < token_flops(shape, seq)


def test_palm_reaches_the_published_share_of_its_peak() -> None:
    (run,) = runs("palm_2022")
    assert run.tokens / run.seconds == pytest.approx(238.3e3, rel=1e-4)
    assert mfu(run.shape, run.tokens, run.seq, run.seconds, 6144, 275e12) == pytest.approx(0.462, abs=0.001)


def test_llama_took_the_published_hours() -> None:
    """6·405e9·15.6e12 FLOPs; at 400 TFLOP/s a device 26.3 million hours, 85% of the model card's 30.84."""
    hours = 6 * 405e9 * 15.6e12 / 400e12 / 3600
    assert hours / 1e6 == pytest.approx(26.3, abs=0.05) and hours / 30.84e6 == pytest.approx(0.85, abs=0.005)


def test_uneven_stages_leave_room_for_embedding_and_head() -> None:
    shape = decoder("llama3_405b")
    assert stage_layers(shape, Layout(8, 16)) == (7, *(8,) * 14, 7)
    assert stage_layers(shape, Layout(8, 9)) == (14,) * 9
    with pytest.raises(BadValue, match=r"126 layers do not divide into 5 stages of 1 chunks.*divides 126 or 128"):
        stage_layers(shape, Layout(8, 5))


@pytest.mark.parametrize(
    ("layout", "batch", "seq", "message"),
    [
        (Layout(5), 8, 2048, "96 heads do not divide by 5"),
        (Layout(data=3), 8, 2048, "8 sequences do not divide into 3 replicas with microbatches of 1; give a multiple of 3"),
        (Layout(pipeline=5), 8, 2048, "96 layers do not divide into 5 stages"),
        (Layout(context=3), 8, 2048, "2,048 tokens of a sequence do not divide by 6"),
        (Layout(pipeline=8, virtual=2), 4, 2048, "a multiple of 8 microbatches in it; this layout leaves 4"),
        (Layout(expert=2), 8, 2048, "1 experts do not divide by 2"),
    ],
)
def test_what_does_not_divide_is_named(layout: Layout, batch: int, seq: int, message: str) -> None:
    shape = decoder("gpt3_175b")
    check(shape, Layout(3), batch, seq)  # 96 heads and 49,152 columns do
    with pytest.raises(BadValue, match=message):
        check(shape, layout, batch, seq)


def test_layouts_that_can_not_be_are_refused() -> None:
    with pytest.raises(BadValue, match="tensor is 0; give a whole number"):
        Layout(0)
    with pytest.raises(UnknownName, match="no recomputation 'some'"):
        Layout(recompute="some")
    with pytest.raises(BadValue, match="not a valid ZeRO stage"):
        Layout(zero=4)
    with pytest.raises(BadValue, match="give a divisor of 32"):
        Shape("x", 2, 64, 32, 5, 2, 256, 1000)
    with pytest.raises(BadValue, match="resnet50 is of the family resnet, not a decoder"):
        decoder("resnet50")
    with pytest.raises(UnknownName, match="no decoder 'llama9'"):
        decoder("llama9")


def test_the_enumerator_gives_each_layout_once_and_all_divide() -> None:
    shape = decoder("llama3_70b")
    found = list(layouts(shape, 64, 256, 8192, 8))
    assert len(found) == len(set(found)) > 100
    for one in found:
        check(shape, one, 256, 8192)
        assert one.devices == 64 and one.tensor <= 8
        assert one.tensor * one.pipeline * one.context * one.data == 64
    assert {one.tensor for one in found} == {1, 2, 4, 8} and {one.recompute for one in found} == {"none", "full"}
    assert {one.micro for one in layouts(shape, 64, 256, 8192, 8, micro=(2,))} == {2}
    experts = {one.expert for one in layouts(decoder("moe_small"), 8, 64, 512, 8)}
    assert experts == {1, 2, 4, 8}


@given(st.sampled_from([1, 2, 4, 8, 64]), st.sampled_from([0, 1, 2, 3]))
def test_zero_shares_what_it_says(replicas: int, stage: int) -> None:
    held = static_bytes(1e9, Layout(data=replicas, zero=stage, gradient_bytes=2.0))
    split = [1e9 * size / (replicas if stage >= at else 1) for size, at in ((2, 3), (2, 2), (12, 1))]
    assert (held.weights, held.gradients, held.optimiser) == pytest.approx(tuple(split))
    if stage == 3:
        assert held.static == pytest.approx(16e9 / replicas)
    assert held.total == held.static == pytest.approx(sum(split))


def test_memory_adds_up_and_splitting_never_adds() -> None:
    shape = decoder("llama3_70b")
    parts = memory(shape, Layout(8, 4, data=2), 8192, 32)
    assert parts.total == parts.weights + parts.gradients + parts.optimiser + parts.activations
    for more in (Layout(8, 4, data=4), Layout(8, 4, data=2, recompute="full")):
        assert memory(shape, more, 8192, 32).total < parts.total
    assert memory(shape, Layout(8, 8, data=1, zero=0), 8192, 32).weights < parts.weights
    assert micro_batches(Layout(8, 4, data=2, micro=4), 256) == 32
    assert memory(shape, Layout(8, 1, data=8), 8192).activations > 80 * layer_activations(shape, Layout(8), 8192)
    assert math.isclose(activations(shape, Layout(8, 8), 8192, 4), 10 * 4 * layer_activations(shape, Layout(8), 8192))
    assert str(Layout(8, 4, 2, 16, zero=3)) == "TP 8 · CP 2 · PP 4 · DP 16 · ZeRO-3"


def test_experts_have_fewer_replicas_to_share_their_state() -> None:
    """Eight experts over four of eight devices: two of them on each, the same ones on two devices."""
    shape = decoder("moe_small")
    together, spread = Layout(data=8), Layout(data=8, expert=4)
    experts = 8 * shape.layers * shape.expert_weights
    shared = shape.parameters - experts
    assert expert_parameters(shape, together, 0) == experts and expert_parameters(shape, spread, 0) == experts / 4
    assert expert_parameters(decoder("llama3_8b"), together, 0) == 0
    for layout, copies in ((together, 8), (spread, 2)):
        parts = memory(shape, layout, 512)
        here = experts / layout.expert
        assert parts.weights == 2 * (shared + here) and parts.gradients == 4 * (shared + here)
        assert parts.optimiser == pytest.approx(12 * (shared / 8 + here / copies))
        assert updated_parameters(shape, layout, 0) == pytest.approx(shared / 8 + here / copies)
    assert updated_parameters(shape, replace(spread, zero=0), 0) == shared + experts / 4
    sums = calls(shape, spread, 512, 1, 8)["data"]
    assert [(call.kind, call.ranks) for call in sums] == [
        ("reduce_scatter", 8),
        ("all_gather", 8),
        ("reduce_scatter", 2),
        ("all_gather", 2),
    ]
    assert sums[2].size == 4 * experts / 4 and len(calls(shape, Layout(data=8, expert=8), 512, 1, 8)["data"]) == 2
