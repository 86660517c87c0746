"""A step's time: schedules that are run, published runs, and what holds for any layout."""

from dataclasses import replace

import pytest

from ironlaw.engine.cluster.layouts import Layout, layouts, micro_batches
from ironlaw.engine.cluster.pipelines import bubble, bubble_overhead, gantt
from ironlaw.engine.cluster.search import Job, judge, rank
from ironlaw.engine.cluster.shapes import token_flops
from ironlaw.engine.cluster.steps import Compute, step_time
from ironlaw.engine.cluster.volumes import calls, pipeline_bytes, traffic
from ironlaw.engine.device.predict import predict
from ironlaw.errors import BadValue
from ironlaw.registry.boxes import box
from ironlaw.registry.decoder_shapes import decoder
from ironlaw.registry.machines import hardware
from ironlaw.registry.runs import Run, runs
from ironlaw.systems.training import shards
from ironlaw.systems.training.shard_times import BUSY, compute, steady


@pytest.mark.parametrize(
    ("stages", "micro", "share"), [(4, 8, 0.2727), (4, 16, 0.1579), (8, 32, 0.1795), (16, 16, 0.4839), (12, 24, 0.3143), (1, 8, 0)]
)
def test_the_bubble_is_the_idle_area_of_the_schedule_that_ran(stages: int, micro: int, share: float) -> None:
    assert bubble(stages, micro) == pytest.approx(share, abs=5e-5)
    for virtual in (1, 2, 4) if micro % stages == 0 and stages > 1 else (1,):
        slots = gantt(stages, micro, virtual)
        end = max(slot.end for slot in slots)
        busy = sum(slot.end - slot.start for slot in slots)
        assert len(slots) == 2 * stages * micro * virtual
        assert 1 - busy / (stages * end) == pytest.approx(bubble(stages, micro, virtual), abs=1e-9)
    assert bubble(stages, micro, 1e9) == pytest.approx(0, abs=1e-6)


def test_a_schedule_keeps_to_its_order() -> None:
    slots = gantt(4, 8, 2)
    at = {(s.stage, s.backward, s.micro, s.piece): s for s in slots}
    for (stage, backward, micro, piece), slot in at.items():
        if not backward and stage:
            assert slot.start >= at[stage - 1, False, micro, piece].end
        if backward:
            assert slot.start >= at[stage, False, micro, piece].end
        others = [s for s in slots if s.stage == stage and s is not slot]
        assert all(s.end <= slot.start or s.start >= slot.end for s in others)
    with pytest.raises(BadValue, match="not a multiple of 4 stages"):
        gantt(4, 6, 2)
    assert bubble_overhead(12, 24, 8) == pytest.approx(0.0573, abs=5e-5)


def predicted(run: Run) -> float:
    at = box(run.box)
    return step_time(
        run.shape, run.layout, at, run.batch, run.seq, compute(run.shape, run.layout, run.seq, at.device, run.dtype), run.overlap
    ).total


@pytest.mark.parametrize(
    ("publication", "mean", "worst"), [("megatron_2022", 0.08, 0.105), ("megatron_2021", 0.08, 0.13), ("llama3_2024", 0.08, 0.10)]
)
def test_published_steps(publication: str, mean: float, worst: float) -> None:
    errors = [predicted(run) / run.seconds - 1 for run in runs(publication)]
    assert sum(map(abs, errors)) / len(errors) <= mean and max(map(abs, errors)) <= worst
    assert max(errors) <= 0.02  # what is left out (stragglers, input, logging) only takes time


def test_llamas_share_of_the_peak_is_within_five_points() -> None:
    """Published: 430, 400 and 380 TFLOP/s a device, 43, 41 and 38%; half of the scores counted."""
    peak = hardware("h100_sxm").peak("bf16")
    for run, published in zip(runs("llama3_2024"), (430e12, 400e12, 380e12), strict=True):
        done = run.tokens * token_flops(run.shape, run.seq, causal=True) / run.layout.devices
        assert done / run.seconds == pytest.approx(published)
        assert 0 < done / predicted(run) / peak - published / peak < 0.05


def test_a_step_lasts_until_the_clock_has_fallen() -> None:
    """On the H200 steady products take 1.0964 times as long as short ones; an H100's times are carried over from it, an A100's are not,
    and an H20 has power to spare."""
    layer = shards.forward(decoder("llama3_70b"), Layout(8), 8192)
    slower = {slug: steady(layer, hardware(slug)) for slug in ("h200_sxm", "h100_sxm", "a100_80gb_sxm", "h20")}
    assert 1.05 < slower["h200_sxm"] < 1.0964 and slower["h100_sxm"] == pytest.approx(slower["h200_sxm"], abs=0.005)
    assert slower["a100_80gb_sxm"] == slower["h20"] == 1.0
    for slug, factor in slower.items():
        once = predict(layer, hardware(slug), BUSY).busy_s
        assert compute(decoder("llama3_70b"), Layout(8), 8192, slug).forward == pytest.approx(factor * once)


def test_a_layer_for_seconds_on_end() -> None:
    """benchmarks/device/steady_layer.py on an H200 at its 692 W: 32.27 ms after four seconds (27.5 before the clock fell)."""
    once = compute(decoder("llama3_405b"), Layout(8), 8192, "h200_sxm")
    assert once.forward + once.backward == pytest.approx(32.27e-3, rel=0.035)


def test_a_layers_products_are_the_shapes() -> None:
    """Ops of one shard against 6·N + 12·L·a·s by hand: forward once, backward twice; attention's kernel computes the scores once more."""
    for name, layout in (("gpt3_175b", Layout(8)), ("llama3_70b", Layout(4)), ("gpt3_175b", Layout(2, micro=2, sequence_parallel=False))):
        shape, seq = decoder(name), 2048
        ahead = shards.forward(shape, layout, seq).work.matmul_flops
        back = shards.backward(shape, layout, seq).work.matmul_flops
        rows = seq * layout.micro / layout.tensor
        products, scores = 2 * rows * shape.layer_products, 4 * rows * shape.width * seq
        assert ahead == pytest.approx(products + scores)
        assert back == pytest.approx(2 * products + (2.5 if shape.fused_attention else 2.0) * scores)
        head = shards.head(shape, layout, seq).work.matmul_flops
        assert head == pytest.approx(6 * rows * shape.vocab * shape.hidden)
    whole = shape.layers * (products + scores) * 3 + head
    assert layout.tensor * whole == pytest.approx(seq * layout.micro * token_flops(shape, seq))


def test_experts_take_the_tokens_that_are_routed_to_them() -> None:
    shape, seq = decoder("moe_small"), 512
    ahead = [shards.forward(shape, Layout(expert=e, data=8), seq).work.matmul_flops for e in (1, 4)]
    assert ahead[0] == pytest.approx(ahead[1]) == pytest.approx(seq * (2 * shape.layer_products + 4 * shape.width * seq))
    assert shards.backward(shape, Layout(expert=4, data=8), seq).work.matmul_flops > 1.9 * ahead[0] - 4 * seq * shape.width * seq
    sent = calls(shape, Layout(expert=4, data=8), seq, 1, 8)["expert"][0]
    assert sent.size == seq * shape.hidden * 2 * shape.top_k and sent.count == 4 * shape.layers
    assert shards.attention_only(shape, Layout(), seq) is None


def test_traffic_by_hand() -> None:
    shape = decoder("llama3_70b")
    layout = Layout(8, 4, data=2, sequence_parallel=False, zero=0)
    made = calls(shape, layout, 8192, 16, 8)
    assert [c.size for c in made["tensor"]] == [8192 * 8192 * 2]  # 134 MB
    assert made["tensor"][0].count == 4 * 20 * 16 and made["tensor"][0].kind == "all_reduce"
    assert made["data"][0].per_box == 1
    parameters = (20 * shape.layer_parameters + shape.vocab * shape.hidden + shape.hidden) / 8
    assert made["data"][0].size == pytest.approx(4 * parameters, rel=1e-6)
    assert pipeline_bytes(shape, layout, 8192, 16) == 2 * 16 * 8192 * 8192 * 2 / 8
    assert pipeline_bytes(shape, replace(layout, pipeline=1), 8192, 16) == 0
    split = calls(shape, replace(layout, sequence_parallel=True, zero=3), 8192, 16, 8)
    assert sum(c.wire_bytes for c in split["tensor"]) == pytest.approx(sum(c.wire_bytes for c in made["tensor"]))
    assert [c.count for c in split["data"]] == [16, 32]
    assert "tensor" not in calls(shape, Layout(data=8), 8192, 16, 8)
    keys = calls(shape, Layout(8, context=4, data=2), 131072, 16, 8)["context"]
    assert keys[0].size == 131072 * 2 * shape.kv_width / 8 * 2


@pytest.mark.parametrize("name", ["gpt3_175b", "llama3_70b"])
def test_twice_the_ranks_halve_the_products_and_never_the_traffic(name: str) -> None:
    shape, seq = decoder(name), 2048
    activation = seq * shape.hidden * 2
    for t in (1, 2, 4):
        once, twice = (shards.forward(shape, Layout(ranks), seq).work.matmul_flops for ranks in (t, 2 * t))
        assert once == pytest.approx(2 * twice)
        sent = traffic(shape, Layout(2 * t), seq, 1, 8)["tensor"]
        assert sent >= 4 * shape.layers * 2 * (2 * t - 1) / (2 * t) * activation * (1 - 1e-12)
        assert sent > traffic(shape, Layout(t), seq, 1, 8).get("tensor", 0.0)


def test_traffic_is_what_the_calls_send() -> None:
    shape, layout = decoder("llama3_70b"), Layout(8, 4, data=2)
    sent = traffic(shape, layout, 8192, 16, 8)
    made = calls(shape, layout, 8192, 16, 8)
    assert set(sent) == {"tensor", "data", "pipeline"} and sent["pipeline"] == pipeline_bytes(shape, layout, 8192, 16)
    assert sent["data"] == sum(call.wire_bytes for call in made["data"]) and "pipeline" not in traffic(shape, Layout(8), 8192, 16, 8)


def test_tensor_parallelism_across_boxes_falls_off_the_cliff() -> None:
    """Llama 3 70B, 8,192 tokens: the share of a layer's time on the wires, inside a box and between boxes with a port each."""
    shape, layout, at = decoder("llama3_70b"), Layout(8, sequence_parallel=False, zero=0), box("dgx_h100")
    chip = hardware("h100_sxm")
    half = 6 * shape.parameters * 8192 / (8 * chip.peak("bf16") * 0.5)  # arithmetic at half of the peak
    whole = 4 * shape.layers
    inside, across = (whole * 2 * 7 / 8 * 8192 * 8192 * 2 / rate for rate in (370.8e9, 47e9))
    assert inside / (inside + half) == pytest.approx(0.19, abs=0.005) and across / (across + half) == pytest.approx(0.65, abs=0.01)
    ours = step_time(shape, layout, at, 1, 8192, compute(shape, layout, 8192, "h100_sxm"))
    assert 0.15 < ours.tensor / ours.total < 0.35


def test_stages_in_several_boxes_meet_over_a_port() -> None:
    shape, pairs = decoder("gpt2"), box("h100_pairs")
    inside = [step_time(shape, Layout(t, p, zero=0), pairs, 8, 512, FIXED).pipeline for t, p in ((1, 2), (2, 2))]
    assert inside[1] > inside[0] / 2  # half the bytes over the bridge, which is slower than the link by more than that
    with pytest.raises(BadValue, match="h100_pairs has no NIC"):
        step_time(shape, Layout(2, 3, zero=0), pairs, 9, 512, FIXED)
    assert calls(shape, Layout(3, 4), 512, 8, 8)["tensor"][0].per_box == 1  # twelve devices: a group of three lies across two boxes
    assert calls(shape, Layout(3, 2), 512, 8, 8)["tensor"][0].per_box == 3
    assert 3 not in {one.tensor for one in layouts(shape, 12, 16, 512, 8)} and 3 in {one.tensor for one in layouts(shape, 6, 16, 512, 8)}


FIXED = Compute(1e-3, 2e-3, 0.0, 5e-3, 1e-3)


def test_terms_add_up_and_no_step_beats_its_arithmetic() -> None:
    shape, at = decoder("llama3_70b"), box("dgx_h100")
    alone = step_time(shape, Layout(8, zero=0), at, 64, 4096, FIXED)
    assert alone.total == pytest.approx(sum(alone.parts.values()))
    assert (alone.pipeline, alone.bubble, alone.data, alone.recompute) == (0, 0, 0, 0)
    assert alone.compute == pytest.approx(64 * (80 * 3e-3 + 5e-3))
    piped = step_time(shape, Layout(8, 4, zero=0), at, 64, 4096, FIXED)
    assert piped.bubble / (piped.total - piped.update) == pytest.approx(bubble(4, 64), abs=0.01)
    assert step_time(shape, Layout(8, 4, virtual=2, zero=0), at, 64, 4096, FIXED).bubble == pytest.approx(piped.bubble / 2, rel=0.01)
    job = Job(shape, at, 64, 4096, 80e9, hardware("h100_sxm").peak("bf16"))
    for data in (1, 2, 4, 8):
        one = judge(job, Layout(8, 2, data=data), lambda layout: compute(shape, layout, 4096, "h100_sxm"))
        assert one.time.total > 64 * 4096 * token_flops(shape, 4096) / (one.layout.devices * job.peak)
        assert micro_batches(one.layout, 64) == one.micro_batches == 64 // data


def test_gradients_hide_behind_the_last_backward_pass() -> None:
    shape, at = decoder("llama3_8b"), box("dgx_h100")
    hidden, bare = (step_time(shape, Layout(1, data=64), at, 64, 4096, FIXED, overlap) for overlap in (True, False))
    assert bare.data - hidden.data == pytest.approx(32 * 3e-3, rel=0.01) or hidden.data == 0.0
    assert hidden.total < bare.total
    thick = Compute(1.0, 2.0, 0.0, 5e-3, 1e-3)
    for zero in (0, 1, 2, 3):
        assert step_time(shape, Layout(1, data=64, zero=zero), at, 64, 4096, thick).data == 0.0
    thin = Compute(0.0, 0.0, 0.0, 0.0, 0.0)
    for zero in (0, 1, 2, 3):
        both = [step_time(shape, Layout(1, data=16, zero=zero), at, 64, 4096, thin, overlap).data for overlap in (True, False)]
        assert both[0] == pytest.approx(both[1])


def test_more_replicas_of_a_fixed_batch_never_raise_the_share_of_the_peak() -> None:
    shape, at = decoder("llama3_70b"), box("dgx_h100")
    job = Job(shape, at, 512, 4096, 1e12, hardware("h100_sxm").peak("bf16"))
    shares = [
        judge(job, Layout(8, 4, data=n), lambda layout: compute(shape, layout, 4096, "h100_sxm")).speed.mfu for n in (1, 2, 4, 8, 16, 32)
    ]
    assert shares == sorted(shares, reverse=True)


def test_the_best_layout_fits_and_is_first() -> None:
    shape, at = decoder("llama3_70b"), box("dgx_h100")
    chip = hardware(at.device)
    job = Job(shape, at, 512, 4096, float(chip.usable), float(chip.peak("bf16")))
    found = rank(job, 64, lambda layout: compute(shape, layout, 4096, at.device))
    assert all(one.memory.total <= job.capacity and one.layout.devices == 64 for one in found)
    assert [one.time.total for one in found] == sorted(one.time.total for one in found)
    assert 0.3 < found[0].speed.mfu < 0.7 and set(found[0].traffic) <= {"tensor", "context", "expert", "data", "pipeline"}
    with pytest.raises(
        BadValue, match=r"no layout of 2 devices holds llama3_70b: the smallest, .* needs .* a device, which has .* give more devices"
    ):
        rank(job, 2, lambda layout: FIXED)
    with pytest.raises(BadValue, match=r"no layout of 37 devices divides llama3_70b.*such as 32"):
        rank(replace(job, batch=64), 37, lambda layout: FIXED)
