"""A toy of four layers on a toy box: parameters, bytes, calls and every term of a step, counted on paper."""

from dataclasses import replace

import pytest

from ironlaw.engine.cluster.footprint import Parts, activations, layer_activations, memory, stage_parameters
from ironlaw.engine.cluster.layouts import Layout, check, divisors, layouts, micro_batches, stage_layers
from ironlaw.engine.cluster.links import Box, Interconnect
from ironlaw.engine.cluster.overlaps import exposed
from ironlaw.engine.cluster.pipelines import Slot, bubble, bubble_overhead, gantt
from ironlaw.engine.cluster.search import Job, judge, rank
from ironlaw.engine.cluster.shapes import Shape, hfu, mfu, token_flops
from ironlaw.engine.cluster.steps import Compute, StepTime, speed, step_time
from ironlaw.engine.cluster.volumes import Call, calls, hop_bytes, pipeline_bytes, traffic, visits
from ironlaw.errors import BadValue

TOY = Shape("toy", 4, 8, 2, 2, 4, 16, 10)
LAYER = 256 + 256 + 32 + 56  # attention, feed-forward, norms, biases
GATED = Shape("gated", 4, 8, 2, 1, 4, 16, 10, gated=True, tied=True, qkv_bias=True)
LINK, PORT = Interconnect("l", "link", 100.0, 100.0), Interconnect("p", "port", 10.0, 10.0)
BOX = Box("toy", "toy", "x", 4, 4, LINK, None, PORT, 4)
COMPUTE = Compute(1.0, 2.0, 0.0, 0.5, 0.25)


def test_parameters_and_flops() -> None:
    assert (TOY.width, TOY.kv_width, TOY.attention_weights, TOY.expert_weights) == (8, 8, 256, 256)
    assert TOY.layer_parameters == LAYER and TOY.parameters == 4 * LAYER + 80 + 80 + 16
    assert GATED.layer_parameters == 192 + 384 + 16 + 16 and GATED.parameters == 4 * 608 + 80 + 8
    mixed = replace(TOY, experts=4, top_k=2)
    assert mixed.layer_parameters == LAYER + 3 * 256 + 32 and mixed.layer_products == 256 + 2 * 256 + 32
    assert replace(TOY, top_k=3).layer_products == 512 and TOY.top_k == 1  # of one feed-forward a token takes one
    learned = replace(TOY, positions=5)
    assert learned.parameters == TOY.parameters + 40
    layer = 2 * 512 + 4 * 8 * 6
    assert token_flops(TOY, 6) == 12 * layer + 480 and token_flops(TOY, 6, "full") == 16 * layer + 480
    assert token_flops(TOY, 6, causal=True) == 12 * (1024 + 96) + 480 and token_flops(TOY, 6, "selective") == token_flops(TOY, 6)
    plain = replace(TOY, fused_attention=False)
    assert token_flops(plain, 6, "selective") == token_flops(TOY, 6) + 4 * 192
    assert mfu(TOY, 10, 6, 2.0, 5, 100.0) == 10 * token_flops(TOY, 6) / 1000
    assert hfu(TOY, 10, 6, 2.0, 5, 100.0, "full") == 10 * token_flops(TOY, 6, "full") / 1000


def test_bytes_of_stages() -> None:
    two = Layout(2, 2, data=3, zero=1)
    assert [stage_parameters(TOY, two, stage) for stage in (0, 1)] == [(2 * LAYER + 80) / 2, (2 * LAYER + 96) / 2]
    assert stage_parameters(TOY, two, 1, embeddings=False) == LAYER
    assert [stage_parameters(GATED, two, stage) for stage in (0, 1)] == [(2 * 608 + 80) / 2, (2 * 608 + 88) / 2]
    assert stage_parameters(GATED, Layout(), 0) == GATED.parameters
    assert layer_activations(TOY, Layout(2), 6) == 6 * (10 * 8 + 24 * 8) / 2
    assert layer_activations(TOY, Layout(2, sequence_parallel=False), 6) == 6 * (10 * 8 + 24 * 8 / 2)
    assert layer_activations(TOY, Layout(2, recompute="full", micro=3), 6) == 6 * 3 * 8
    assert layer_activations(TOY, Layout(2, recompute="full", sequence_parallel=False), 6) == 2 * 6 * 8
    scores = replace(TOY, fused_attention=False)
    assert layer_activations(scores, Layout(2), 6) == 6 * (272 + 5 * 2 * 6) / 2
    assert layer_activations(scores, Layout(2, recompute="selective"), 6) == layer_activations(TOY, Layout(2), 6)
    assert layer_activations(GATED, Layout(2, context=2), 6) == 3 * (8 * 8 + 2 * (16 + 8) + 6 * 16) / 2
    routed = replace(GATED, experts=4, top_k=2)
    assert layer_activations(routed, Layout(2), 6) == 6 * (64 + 48 + 192) / 2
    last = 2 * 6 * 272 / 2 + 4 * 6 * 10 / 2  # the last stage: its own microbatch, and the logits
    first = 2 * 2 * 6 * 272 / 2
    assert activations(TOY, two, 6) == first and activations(TOY, two, 6, 1) == first / 2
    held = memory(TOY, two, 6, 4)
    assert held == Parts(2 * 640, 4 * 640, pytest.approx(12 * 640 / 3), first)
    assert memory(TOY, two, 6, 1) == Parts(2 * 648, 4 * 648, pytest.approx(12 * 648 / 3), last)
    assert memory(TOY, Layout(), 6).activations == 4 * 6 * 272 + 4 * 6 * 10
    pieces = memory(TOY, Layout(1, 2, data=2, virtual=2, zero=2), 6, 4)
    assert pieces.gradients == pytest.approx(4 * 1280 / 2 + 4 * 1280 / 2)


def test_calls_of_a_step() -> None:
    layout = Layout(2, 2, data=2, micro=3, recompute="full", sequence_parallel=False, zero=0)
    made = calls(TOY, layout, 5, 4, 8)
    assert made == {"tensor": (Call("all_reduce", 2, 2, 240.0, 48.0),), "data": (Call("all_reduce", 2, 2, 4 * 648.0, 1.0),)}
    assert made["tensor"][0].wire_bytes == 48 * 240 and Call("all_reduce", 1, 1, 5.0, 2.0).wire_bytes == 0
    split = calls(TOY, replace(layout, sequence_parallel=True, recompute="none"), 5, 4, 8)["tensor"]
    assert split == (Call("all_gather", 2, 2, 240.0, 32.0), Call("reduce_scatter", 2, 2, 240.0, 32.0))
    keys = calls(TOY, Layout(context=2), 6, 3, 8)["context"]
    assert keys == (Call("all_gather", 2, 2, 192.0, 24.0), Call("reduce_scatter", 2, 2, 192.0, 12.0))
    assert calls(TOY, Layout(2, context=4), 8, 3, 4)["context"][0] == Call("all_gather", 4, 2, 128.0, 24.0)
    mixed = replace(TOY, experts=4, top_k=2)
    sent = calls(mixed, Layout(2, data=4, expert=2), 6, 3, 8)["expert"]
    assert sent == (Call("all_to_all", 2, 2, 96.0, 48.0),)
    assert calls(mixed, Layout(2, data=4, expert=2, sequence_parallel=False), 6, 3, 8)["expert"][0].size == 192.0
    for zero, counts in ((1, [1, 1]), (2, [4, 1]), (3, [4, 8])):
        assert [call.count for call in calls(TOY, Layout(data=4, zero=zero), 6, 4, 8)["data"]] == counts
    again = calls(TOY, Layout(data=4, zero=3, recompute="full"), 6, 4, 8)["data"]
    assert [call.count for call in again] == [4, 8]  # a pass that is computed again finds its weights gathered
    both = calls(TOY, Layout(data=4), 6, 4, 8)["data"]
    assert [(call.kind, call.size) for call in both] == [("reduce_scatter", 4 * TOY.parameters), ("all_gather", 2 * TOY.parameters)]
    assert calls(TOY, Layout(4, data=16), 6, 4, 8)["data"][0].per_box == 2 and "tensor" not in calls(TOY, Layout(data=2), 6, 4, 8)
    assert visits(Layout(1, 2, virtual=2), 4) == 2.0 and visits(Layout(1, 2), 4) == 4.0
    assert hop_bytes(TOY, Layout(2, 2, micro=3, context=5), 10) == 2 * 3 * 8 * 2 / 2
    assert pipeline_bytes(TOY, Layout(1, 2, virtual=2), 5, 4) == 2 * 2 * 4 * 80 and pipeline_bytes(TOY, Layout(), 5, 4) == 0
    assert traffic(TOY, Layout(1, 2), 5, 4, 8) == {"pipeline": 640.0}


def test_terms_of_a_step() -> None:
    """Eight devices in two boxes: two-way tensor inside, two stages, two replicas; ports of 10 bytes a second between boxes."""
    layout = Layout(2, 2, data=2, sequence_parallel=False, zero=0)
    step = step_time(TOY, layout, BOX, 8, 5, COMPUTE, overlap=False)
    tensor = 2 * 2 * 2 * 4 * 80 / 100.0  # four microbatches through two layers, two passes of two sums
    hops = 2 * 4 * 40 / 10.0  # an activation on and a gradient back, 40 bytes each
    slot = 2 * 3.0 + (tensor + hops) / 4
    assert step == StepTime(4 * (6.0 + 0.5), 0.0, tensor, 0.0, 0.0, hops, slot, 4 * 648 / 100.0, 0.25)
    assert step.parts["data"] == step.data and step.total == pytest.approx(sum(step.parts.values()))
    again = step_time(TOY, replace(layout, recompute="full"), BOX, 8, 5, replace(COMPUTE, again=1.0), overlap=False)
    assert again.recompute == 4 * 2 * 1.0 and again.tensor == 1.5 * tensor
    hidden = step_time(TOY, layout, BOX, 8, 5, COMPUTE)
    assert hidden.data == pytest.approx(4 * 648 / 100.0 - 2 * 2.0) and hidden.pipeline == hops
    uneven = step_time(replace(TOY, layers=6), Layout(1, 2, zero=0), BOX, 4, 5, COMPUTE)
    assert uneven.compute == 4 * (3 * 3.0 + 0.5)
    short = step_time(replace(TOY, layers=6), Layout(1, 4, zero=0), BOX, 4, 5, COMPUTE)  # 1, 2, 2, 1 layers: the head fills the gap
    assert short.compute == 4 * 2 * 3.0 and step_time(TOY, Layout(), BOX, 4, 5, COMPUTE).bubble == 0.0
    large = step_time(replace(TOY, layers=6), Layout(1, 4, zero=0), BOX, 4, 5, replace(COMPUTE, head=5.0))
    assert large.compute == 4 * (2 * 3.0 + 5.0 - 3.0)
    one_box = step_time(TOY, Layout(2, 2, zero=0), BOX, 4, 5, COMPUTE)
    assert one_box.pipeline == 2 * 4 * 40 / 100.0  # within the box over its link
    assert speed(TOY, layout, 8, 5, 2.0, 100.0).tokens_per_s == 20.0


def test_what_passes_leave_of_sums_and_gathers() -> None:
    zero_1 = (Call("reduce_scatter", 2, 2, 400.0, 1.0), Call("all_gather", 2, 2, 200.0, 1.0))  # 2 s and 1 s on the link
    assert exposed(BOX, zero_1, 0.25, 0.5) == pytest.approx(1.5 + 0.75)
    assert exposed(BOX, zero_1, 9.0, 9.0) == 0.0 and exposed(BOX, zero_1, 9.0, 9.0, False) == 3.0
    zero_3 = (Call("reduce_scatter", 2, 2, 400.0, 4.0), Call("all_gather", 2, 2, 200.0, 8.0))
    assert exposed(BOX, zero_3, 0.25, 0.5) == pytest.approx(4 * 0.75 + 4 * (3.0 - 0.5))
    assert exposed(BOX, (), 1.0, 1.0) == 0.0
    whole = (Call("all_reduce", 2, 2, 400.0, 1.0),)
    assert exposed(BOX, whole, 0.25, 0.5) == pytest.approx(4.0 - 0.5)


def test_a_schedule_of_two_stages() -> None:
    """Two microbatches, forward 1 and backward 2: the second stage begins at 1, the first is done at 9 of which 3 are idle."""
    assert gantt(2, 2) == (
        Slot(0, False, 0, 0, 0.0, 1.0), Slot(0, False, 1, 0, 1.0, 2.0), Slot(1, False, 0, 0, 1.0, 2.0), Slot(1, True, 0, 0, 2.0, 4.0),
        Slot(1, False, 1, 0, 4.0, 5.0), Slot(1, True, 1, 0, 5.0, 7.0), Slot(0, True, 0, 0, 4.0, 6.0), Slot(0, True, 1, 0, 7.0, 9.0),
    )  # fmt: skip
    assert bubble(2, 2) == pytest.approx(3 / 9) and bubble_overhead(2, 2, 2) == 0.25 and bubble_overhead(2, 2) == 0.5
    assert [slot.end for slot in gantt(1, 2, 1, 3.0, 5.0)] == [3.0, 8.0, 11.0, 16.0]


def test_layouts_of_a_toy() -> None:
    assert divisors(12) == [1, 2, 3, 4, 6, 12] and stage_layers(TOY, Layout(1, 2)) == (2, 2)
    assert stage_layers(replace(TOY, layers=6), Layout(1, 4)) == (1, 2, 2, 1)
    assert micro_batches(Layout(data=2, micro=3), 12) == 2
    found = {str(one) for one in layouts(TOY, 4, 8, 64, 4, virtual=(1,), micro=(1,), recompute=("none",))}
    assert found == {"TP 1 · PP 1 · DP 4", "TP 1 · PP 1 · DP 4 · ZeRO-2", "TP 1 · PP 1 · DP 4 · ZeRO-3", "TP 1 · PP 2 · DP 2",
                     "TP 1 · PP 2 · DP 2 · ZeRO-2", "TP 1 · PP 4 · DP 1", "TP 2 · PP 1 · DP 2", "TP 2 · PP 1 · DP 2 · ZeRO-2",
                     "TP 2 · PP 1 · DP 2 · ZeRO-3", "TP 2 · PP 2 · DP 1"}  # fmt: skip
    assert {one.data for one in layouts(TOY, 4, 8, 64, 4, data=(2,))} == {2} and not list(layouts(TOY, 4, 8, 64, 4, tensor=(3,)))
    assert {one.virtual for one in layouts(TOY, 2, 8, 64, 4)} == {1, 2, 3} and {one.micro for one in layouts(TOY, 2, 8, 64, 4)} == {
        1,
        2,
        4,
        8,
    }
    mixed = list(layouts(replace(TOY, experts=4, top_k=2), 4, 8, 64, 4, expert=(2,), virtual=(1,)))
    assert mixed and all((one.expert, one.virtual, one.sequence_parallel) == (2, 1, True) for one in mixed)
    long = {one.context for one in layouts(TOY, 4, 8, 32768, 4)}
    assert long == {1, 2, 4} and {one.context for one in layouts(TOY, 4, 8, 8192, 4)} == {1}
    scores = {one.recompute for one in layouts(replace(TOY, fused_attention=False), 2, 8, 64, 4)}
    assert scores == {"none", "selective", "full"}
    assert {one.tensor for one in layouts(replace(TOY, heads=8, kv_heads=8), 8, 8, 64, 4)} == {1, 2, 4}  # a group fits a box
    check(TOY, Layout(2, 2, data=2, virtual=2), 8, 64)
    assert str(Layout(2, context=2, expert=2, data=2)) == "TP 2 · CP 2 · PP 1 · DP 2 · EP 2"
    assert (Layout(2, 2, 2, 2).devices, Layout(2, 2, 2, 3).replicas) == (16, 6)


def test_candidates_are_ranked_by_time() -> None:
    job = Job(TOY, BOX, 8, 64, 1e9, 1e6)
    one = judge(job, Layout(2, 2), lambda layout: COMPUTE)
    assert one.time == step_time(TOY, Layout(2, 2), BOX, 8, 64, COMPUTE) and one.memory == memory(TOY, Layout(2, 2), 64, 8)
    assert (one.micro_batches, one.traffic) == (8, traffic(TOY, Layout(2, 2), 64, 8, 4))
    assert one.speed == speed(TOY, Layout(2, 2), 8, 64, one.time.total, 1e6)
    found = rank(job, 4, lambda layout: replace(COMPUTE, forward=1.0 / layout.tensor))
    assert [each.time.total for each in found] == sorted(each.time.total for each in found)
    tight = sorted(each.memory.total for each in found)[3]
    fewer = rank(replace(job, capacity=tight), 4, lambda layout: COMPUTE)
    assert 0 < len(fewer) < len(found) and all(each.memory.total <= tight for each in fewer)
    assert {each.layout.micro for each in rank(job, 4, lambda layout: COMPUTE, micro=(2,))} == {2}
    with pytest.raises(
        BadValue, match=r"^no layout of 4 devices holds toy: the smallest, TP .*, needs .* a device, which has 1 B; give"
    ) as no:
        rank(replace(job, capacity=1.0), 4, lambda layout: COMPUTE)
    assert no.value.field == "devices"
    with pytest.raises(
        BadValue, match=r"^no layout of 7 devices divides toy \(4 layers, 2 heads\) and 8 sequences; .* such as 4, or"
    ) as no:
        rank(job, 7, lambda layout: COMPUTE)
    assert no.value.field == "devices"
