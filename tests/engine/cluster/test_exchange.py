"""An all-to-all against a count of every pair, and a ring in any order against the library's own pace."""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ironlaw.engine.cluster.expert_exchange import all_to_all, loads
from ironlaw.engine.cluster.library import pace, pipelined, ring_pace
from ironlaw.engine.cluster.links import Box, Interconnect
from ironlaw.errors import BadValue
from ironlaw.registry.boxes import box


def wire(rate: float) -> Interconnect:
    return Interconnect("w", "wire", rate, rate)


@given(st.integers(1, 3), st.integers(1, 4), st.integers(1, 3), st.data())
def test_every_pair_is_counted_once(group: int, groups: int, boxes: int, data: st.DataObject) -> None:
    """By hand: each ordered pair of ranks puts a part on the wire between them; a box's NICs add up."""
    at = Box("b", "b", "x", group * groups, group, wire(200.0), wire(20.0), wire(5.0), 4)
    ranks = data.draw(st.integers(2, max(2, at.devices * boxes)))
    sent: Counter[tuple[str, int]] = Counter()
    for a in range(ranks):
        for b in range(ranks):
            if a != b:
                kind = at.edge(a, b)[0]
                sent[kind, a // at.devices if kind == "nic" else a] += 1
    for load in loads(at, ranks, float(ranks), nics=2 if ranks > at.devices else None):
        assert load.size == max(count for (kind, _), count in sent.items() if kind == load.kind)
        assert load.rate == {"link": 200.0, "bridge": 20.0, "nic": 10.0}[load.kind]
    assert {load.kind for load in loads(at, ranks, 1.0)} == {kind for kind, _ in sent}


def test_an_all_to_all_between_boxes_has_one_port_a_device() -> None:
    """As NCCL's maintainers say of nccl-tests#267: the rate is that of a single NIC."""
    at, size = box("dgx_h100"), 4e9
    busiest = max(loads(at, 16, size), key=lambda load: load.seconds)
    assert busiest.kind == "nic" and busiest.size / 8 == pytest.approx(size / 2) and busiest.rate / 8 == at.nic.achieved
    assert all_to_all(at, 16, size) == pytest.approx(pipelined(at.network_start, size / 2 / at.nic.achieved))
    assert all_to_all(at, 16, size, nics=1) > 7 * all_to_all(at, 16, size)


@pytest.mark.parametrize("slug", ["dgx_a100", "dgx_h100", "a100_pairs", "h100_pairs", "pcie_h100"])
def test_a_ring_in_order_has_the_librarys_pace(slug: str) -> None:
    at = box(slug)
    for ranks in (2, at.devices, *((2 * at.devices, 4 * at.devices) if at.nic else ())):
        assert ring_pace(at, ranks) == pytest.approx(pace(at, ranks))
    if at.nic:
        assert ring_pace(at, 2 * at.devices, nics=1)[1] == at.nic.achieved


def test_too_few_ranks_and_too_many_ports_are_refused() -> None:
    for call in (lambda: loads(box("dgx_h100"), 1, 1.0), lambda: ring_pace(box("dgx_h100"), 1)):
        with pytest.raises(BadValue, match="give at least 2"):
            call()
    with pytest.raises(BadValue, match="9 NICs per box; dgx_h100 has 8: give 1 to 8"):
        loads(box("dgx_h100"), 16, 1.0, nics=9)
