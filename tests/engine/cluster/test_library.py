"""Collectives as a library runs them: the best of all pipelines, ports between boxes, and a switch that adds."""

from dataclasses import replace

import numpy as np
import pytest

from ironlaw.engine.cluster.collectives import bus_bandwidth
from ironlaw.engine.cluster.library import collective, in_switch, pace, pipelined, switch_adds, switch_factor
from ironlaw.errors import BadValue
from ironlaw.registry.boxes import box


@pytest.mark.parametrize("seconds", [1e-6, 1e-4, 1e-2])
def test_the_law_is_the_best_of_all_pipelines(seconds: float) -> None:
    """(k + h)·(c + x/k) over every whole k, with h hops of c: never under the law, and within 3% where pieces are many."""
    hops, cost = 16, 5e-7
    best = min((k + hops) * (cost + seconds / k) for k in range(1, 20_000))
    assert pipelined(hops * cost, seconds) <= best * (1 + 1e-12)
    assert best == pytest.approx(pipelined(hops * cost, seconds), rel=0.03 if seconds > 1e-5 else 0.2)


def test_a_collective_across_boxes_is_paced_by_the_ports() -> None:
    dgx = box("dgx_h100")
    start, rate = pace(dgx, 1024)
    assert rate == min(dgx.bus, 8 * 47e9) and start == 7 * dgx.network_start
    assert pace(dgx, 128, per_box=1)[1] == 47e9
    assert collective(dgx, "all_reduce", 1, 1e9) == 0
    assert collective(dgx, "all_reduce", 16, 1e9) > collective(dgx, "all_reduce", 8, 1e9)
    with pytest.raises(BadValue, match="need 2 boxes, and a100_pairs has no NIC; add nic and nics"):
        collective(box("a100_pairs"), "all_reduce", 8, 1e9)
    with pytest.raises(BadValue, match="give at least 1"):
        collective(dgx, "all_reduce", 0, 1e9)


def test_between_boxes_each_doubling_is_a_level_and_the_slower_of_link_and_ports_paces() -> None:
    dgx = box("dgx_h100")
    assert pace(dgx, 8) == (dgx.start, dgx.bus) and pace(dgx, 2) == (dgx.start, dgx.bus)
    assert [pace(dgx, 8 * boxes)[0] / dgx.network_start for boxes in (2, 3, 4, 5)] == [1, 2, 2, 3]
    assert pace(replace(dgx, nics=4), 16)[1] == 4 * 47e9 and pace(replace(dgx, nics=4), 16, per_box=4)[1] == 2 * 47e9
    assert pace(replace(dgx, nics=2), 16, per_box=2)[1] == 47e9 / 2  # four groups at once share two ports
    assert pace(replace(dgx, network_start=0.0), 16)[0] == dgx.start
    pairs = box("h100_pairs")
    assert pace(pairs, 2)[1] == pairs.bus and pace(pairs, 4)[1] == pairs.bridge.achieved < pairs.bus
    assert pace(replace(pairs, bus=0.0), 2)[1] == pairs.link.achieved


def test_devices_of_several_boxes_go_through_their_ports() -> None:
    dgx = box("dgx_h100")
    apart, together = (collective(dgx, "all_reduce", 8, 1e9, per_box=inside) for inside in (4, 8))
    assert apart == pipelined(dgx.network_start, 1.75e9 / (4 * 47e9)) and together == collective(dgx, "all_reduce", 8, 1e9)
    assert collective(dgx, "all_reduce", 1, 0.0) == 0.0


def test_a_switch_that_adds_is_what_its_makers_see() -> None:
    """nccl-tests#212: 480 GB/s of bus bandwidth on eight H100 for very long messages, 370 with a ring."""
    dgx = box("dgx_h100")
    for size, seen in ((16e9, 480e9), (536.9e6, 445e9)):
        assert bus_bandwidth("all_reduce", 8, size, collective(dgx, "all_reduce", 8, size)) == pytest.approx(seen, rel=0.06)
    ring = collective(dgx, "all_reduce", 8, 16e9, floats=False)
    assert bus_bandwidth("all_reduce", 8, 16e9, ring) == pytest.approx(370e9, rel=0.02)
    assert collective(replace(dgx, sums=0.0), "all_reduce", 8, 16e9) == ring


def test_what_each_wire_carries_where_the_switch_adds() -> None:
    """By hand for eight: a buffer up, an eighth of the sum up once more; down an eighth and the sum. A ring: seven eighths twice."""
    assert switch_factor(8) == 1.125 and switch_factor(2) == 1.5
    dgx = replace(box("dgx_h100"), start=0.0)
    assert in_switch(dgx, 8, 8e9) == pytest.approx(9e9 / dgx.sums)
    assert in_switch(box("dgx_h100"), 8, 0.0) == pytest.approx(2 * box("dgx_h100").start)
    assert collective(dgx, "all_reduce", 2, 1e9) == pytest.approx(1e9 / dgx.bus)  # over two devices a ring is shorter


def test_a_library_takes_the_faster_and_only_where_one_switch_joins_all() -> None:
    dgx = box("dgx_h100")
    sizes = np.array([1e3, 1e6, 1e9])
    swept = collective(dgx, "all_reduce", 8, sizes)
    assert swept == pytest.approx([collective(dgx, "all_reduce", 8, size) for size in sizes])
    assert all(swept <= collective(dgx, "all_reduce", 8, sizes, floats=False))
    assert switch_adds(dgx, "all_reduce", 8) and switch_adds(dgx, "all_reduce", 4, per_box=4)
    assert not switch_adds(dgx, "all_reduce", 16) and not switch_adds(dgx, "all_reduce", 8, per_box=4)
    assert not switch_adds(dgx, "reduce_scatter", 8) and not switch_adds(box("dgx_a100"), "all_reduce", 8)
    assert not switch_adds(replace(dgx, group=4), "all_reduce", 8)
