"""A model over several devices: the fewest that hold it and what crosses between them, against every way to cut a small one."""

from dataclasses import replace
from itertools import combinations

import pytest

import ironlaw as il
from ironlaw.engine.cluster.pipeline_stages import KEPT, Needs, smallest_group
from ironlaw.engine.device.memory import live_profile
from ironlaw.registry.boxes import box, box_with

H100 = il.hardware("h100_sxm")
BOX = box("dgx_h100")


def small(capacity: float, name: str = "mlp8_1024", **settings: object):
    return il.predict(il.workload(name, **settings), replace(H100, capacity=capacity, reserved=0.0))


def held(graph, first: int, last: int) -> float:
    """What ops first … last − 1 need, counted tensor by tensor."""
    kept = {t.name: t.bytes for op in graph.ops[first:last] for t in (*op.inputs, *op.outputs) if t.role in KEPT}
    return sum(kept.values()) + max(live_profile(graph)[1 + first : 1 + last])


def sent(graph, at: int) -> float:
    """Activations and inputs that exist before a cut and are read behind it. Without views."""
    before = {t.name: t.bytes for t in graph.tensors.values() if t.role == "input"}
    before |= {t.name: t.bytes for op in graph.ops[:at] for t in op.outputs}
    return sum(before[name] for name in {t.name for op in graph.ops[at:] for t in op.inputs} & before.keys())


@pytest.mark.parametrize("capacity", [4.5e6, 6.6e6, 9e6, 30e6])
def test_no_way_to_cut_a_model_takes_fewer_devices(capacity):
    p = small(capacity)
    graph, count = p.graph, len(p.graph.ops)
    group = smallest_group(p)
    assert group and all(stage.bytes <= capacity and stage.bytes == held(graph, stage.first, stage.last) for stage in group.stages)
    assert [stage.first for stage in group.stages] == [0, *(stage.last for stage in group.stages[:-1])] and group.stages[-1].last == count
    for fewer in range(1, group.devices):
        for cuts in combinations(range(1, count), fewer - 1):
            ends = (0, *cuts, count)
            assert any(held(graph, *ends[i : i + 2]) > capacity for i in range(fewer))


def test_what_crosses_a_cut_is_what_is_read_behind_it():
    for p in (small(1e9), small(1e9, "unet_block")):
        crossing = Needs(p).crossing
        assert crossing[-1] == 0.0
        assert crossing[:-1] == pytest.approx([sent(p.graph, at) for at in range(len(p.graph.ops))])


def test_a_pass_takes_what_its_ops_take_and_the_transfers():
    p = small(6.6e6)
    group = smallest_group(p, BOX)
    assert group and group.devices == 3
    assert sum(stage.seconds for stage in group.stages) == pytest.approx(float(p.seconds))
    wire = BOX.link
    assert wire and group.hops == pytest.approx([BOX.start + stage.sends / wire.achieved for stage in group.stages[:-1]])
    assert group.seconds == pytest.approx(float(p.seconds) + sum(group.hops))
    assert float(p.seconds) / 3 <= group.interval < 0.6 * float(p.seconds)


def test_stages_that_leave_a_box_pay_for_its_port():
    p = small(2.2e6)
    two = replace(BOX, devices=2, group=2)
    group = smallest_group(p, two)
    assert group and group.devices > 3
    assert group.hops[1] > 5 * group.hops[0] and group.hops[0] == pytest.approx(group.hops[2])


def test_an_op_that_is_too_large_alone_can_not_be_cut():
    assert smallest_group(small(2e6)) is None


def test_llama_3_70b_is_cut_between_two_layers():
    """512 tokens of 8,192 in FP16 go on, and the table of rotations with them; not the four times wider ones inside a layer."""
    group = smallest_group(il.predict(il.workload("llama3_70b"), H100), box_with("h100_sxm"))
    assert group and group.devices == 2 and group.box and group.box.slug == "dgx_h100"
    assert 512 * 8192 * 2 <= group.stages[0].sends < 1.1 * 512 * 8192 * 2


def test_the_largest_box_of_a_device():
    assert box_with("t4") is None and {box_with(slug).device for slug in ("h100_pcie", "tpu_v4")} == {"h100_pcie", "tpu_v4"}  # type: ignore[union-attr]
