"""Fabrics: cuts by hand, published pods, and which traffic a thin spine slows."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ironlaw.engine.cluster.collectives import time
from ironlaw.engine.cluster.loads import flow, torus_all_reduce, traffic
from ironlaw.engine.cluster.placement import fragmented
from ironlaw.engine.cluster.topology import bisection, dragonfly, fat_tree, hosts, leaf_spine, rail, ring, sides, switches, thin_tree, torus
from ironlaw.errors import BadValue, UnknownName

RATE = 50e9


def test_cuts_through_the_middle() -> None:
    assert bisection(ring(16, 1.0)) == 2
    assert bisection(fat_tree(64, 1.0)) == 64**3 / 8 == 32_768
    assert bisection(fat_tree(64, 1.0, oversubscription=7)) == pytest.approx(32_768 / 7)
    assert bisection(torus(1.0, 16, 16, 16)) == 512 and bisection(torus(1.0, 2, 2, 2)) == 4
    assert bisection(dragonfly(4, 2, 2, 1.0)) == 4 * 5  # nine groups, a link between any two
    assert bisection(leaf_spine(1024, 32, 4, 1.0)) == 1024 / 2 / 4
    assert bisection(rail(128, 8, 1.0, 16)) == 8 * bisection(leaf_spine(128, 16, 1, 1.0))


def test_a_tpu_v4_pod_crosses_its_middle_as_published() -> None:
    pod = torus(RATE, 16, 16, 16)
    assert bisection(pod) == pytest.approx(24e12, rel=0.10)
    assert pod.hosts * pod.ports * 44.8e9 == pytest.approx(1.1e15, rel=0.05)
    assert torus_all_reduce(pod, 1e9) == pytest.approx(2 * 4095 / 4096 * 1e9 / 300e9)


def test_trees_hold_what_their_switches_allow() -> None:
    assert (hosts(64, 3), switches(64, 3)) == (65_536, 5_120)
    assert (hosts(64, 2), switches(64, 2)) == (2_048, 96)
    assert thin_tree(64, 64, 3) == (3_072, 80)
    small = fat_tree(4, 1.0)  # by hand: 16 hosts, 4 pods of 4, edge switches of 2
    assert (small.hosts, [tier.hosts for tier in small.tiers], small.switches) == (16, [2, 4], 20)


@pytest.mark.parametrize("thin", [1, 2, 4, 7, 8, 32])
def test_a_ring_in_rack_order_does_not_feel_the_spine_and_a_scattered_one_does(thin: int) -> None:
    full, fabric = leaf_spine(1024, 32, 1, RATE), leaf_spine(1024, 32, thin, RATE)
    assert flow("ring", fabric, 1e9) == flow("ring", full, 1e9)
    order = list(range(1024))
    random.Random(3).shuffle(order)
    assert flow("ring", fabric, 1e9, order) / flow("ring", full, 1e9) == pytest.approx(thin, rel=0.01)
    assert flow("all_to_all", fabric, 1e9) / flow("all_to_all", full, 1e9) == pytest.approx(max(1.0, thin * (1024 - 32) / 1023))


def test_a_leaf_of_one_makes_every_edge_cross() -> None:
    assert flow("ring", leaf_spine(1024, 1, 4, RATE), 1e9) / flow("ring", leaf_spine(1024, 1, 1, RATE), 1e9) == pytest.approx(4.0)


@pytest.mark.parametrize(("thin", "factor"), [(1, 1), (4, 1), (8, 2), (32, 8)])
def test_eight_rings_cross_on_eight_edges(thin: int, factor: float) -> None:
    """A NIC a device and a ring for each: the cost is max(1, r/4) with 32 devices, four nodes, on a leaf."""
    at, full = (flow("two_level", leaf_spine(1024, 32, r, RATE), 1e9, per_node=8) for r in (thin, 1))
    assert at / full == pytest.approx(factor)


def test_two_levels_send_their_share_to_the_byte() -> None:
    loads = traffic("two_level", leaf_spine(1024, 32, 1, RATE), 1e9, per_node=8)
    assert loads.host == pytest.approx(2 * 127 / 128 * 1e9 / 8)
    assert loads.tiers[0] == pytest.approx(8 * loads.host)
    assert flow("two_level", leaf_spine(1024, 32, 1, RATE), 1e9, per_node=8) >= 2 * 1e9 / 8 / RATE * 127 / 128


def test_two_scattered_leaves_pay_half() -> None:
    """64 hosts on two leaves: every second neighbour is in the other one, so that the busiest leaf sends on about half of its edges."""
    full, thin = (leaf_spine(64, 32, r, RATE) for r in (1, 8))
    factors = [flow("ring", thin, 1e9, fragmented(64, 1.0, seed)) / flow("ring", full, 1e9) for seed in range(20)]
    assert sum(factors) / 20 == pytest.approx(0.5 * 8, rel=0.06) and max(factors) <= 8
    assert flow("ring", thin, 1e9, fragmented(64, 0.0)) == flow("ring", full, 1e9)


@pytest.mark.parametrize(("thin", "factor"), [(1, 1), (4, 4), (32, 32)])
def test_a_permutation_across_the_fabric_pays_for_the_spine_in_full(thin: int, factor: float) -> None:
    fabric = leaf_spine(1024, 32, thin, RATE)
    assert flow("permutation", fabric, 1e9) == pytest.approx(factor * 1e9 / RATE)
    inside = [32 * (i // 32) + (i + 1) % 32 for i in range(1024)]  # to a neighbour on the same leaf
    assert flow("permutation", fabric, 1e9, inside) == pytest.approx(1e9 / RATE)


@pytest.mark.parametrize("kind", ["ring", "two_level"])
@pytest.mark.parametrize("thin", [1, 4, 32])
def test_no_all_reduce_beats_the_bytes_that_must_cross_a_cut(kind: str, thin: int) -> None:
    """The whole message leaves every leaf, over all its uplinks; and all ports of a node carry what leaves the node."""
    fabric = leaf_spine(1024, 32, thin, RATE)
    for order in (None, fragmented(1024, 0.3, 1), fragmented(1024, 1.0, 1)):
        taken = flow(kind, fabric, 1e9, order, per_node=8)
        assert taken >= 1e9 / fabric.tiers[0].uplink
        assert taken >= 2 * 127 / 128 * 1e9 / (8 * RATE)
    assert flow("two_level", fabric, 1e9, per_node=8) < flow("ring", leaf_spine(1024, 32, 1, RATE), 1e9)  # which one NIC would bound


@given(st.permutations(range(4)), st.floats(1.0, 32.0), st.floats(1.0, 1e9))
def test_leaves_are_alike_and_less_never_takes_longer(leaves: list[int], thin: float, more: float) -> None:
    fabric = leaf_spine(16, 4, thin, RATE)
    order = [4 * leaf + place for leaf in leaves for place in range(4)]
    assert flow("ring", fabric, 1e9, order) == flow("ring", fabric, 1e9)
    for kind in ("ring", "all_to_all", "all_gather", "neighbour", "two_level", "permutation"):
        taken = flow(kind, fabric, 1e9)
        assert flow(kind, fabric, 1e9 + more) >= taken
        assert flow(kind, leaf_spine(16, 4, thin, 2 * RATE), 1e9) == pytest.approx(taken / 2)
        assert flow(kind, leaf_spine(16, 4, thin + 1, RATE), 1e9) >= taken
    assert flow("ring", fabric, 1e9) >= time("all_reduce", "ring", 16, 1e9, 0.0, RATE).total * (1 - 1e-12)


def test_trees_that_do_not_exist_are_refused() -> None:
    with pytest.raises(BadValue, match="do not fill leaves of 32"):
        leaf_spine(1000, 32, 1, RATE)
    with pytest.raises(BadValue, match="even number of ports"):
        fat_tree(63, RATE)
    with pytest.raises(BadValue, match="joins at most 64"):
        thin_tree(64, 65, 3)
    with pytest.raises(BadValue, match="length of each side"):
        torus(RATE)
    with pytest.raises(UnknownName, match="no traffic 'gossip'"):
        flow("gossip", ring(4, RATE), 1.0)
    with pytest.raises(BadValue, match="each of 16 hosts once"):
        flow("ring", leaf_spine(16, 4, 1, RATE), 1.0, [0] * 16)


def test_sides_of_a_torus_are_as_equal_as_they_can_be() -> None:
    assert [sides(2**n) for n in (0, 1, 4, 6, 12)] == [(1, 1, 1), (2, 1, 1), (4, 2, 2), (4, 4, 4), (16, 16, 16)]
