"""Small fabrics, rings and collectives, every figure of which can be counted on paper."""

import math
from itertools import product

import pytest

from ironlaw.engine.cluster import expert_exchange
from ironlaw.engine.cluster.collectives import ALGORITHMS, KINDS, Terms, Wires, crossover, fastest, least, time
from ironlaw.engine.cluster.links import Box, Edge, Interconnect, ring_edges, transfer
from ironlaw.engine.cluster.loads import Loads, flow_time, torus_all_reduce, traffic
from ironlaw.engine.cluster.topology import Fabric, Tier, dragonfly, fat_tree, hosts, leaf_spine, rail, ring, torus


def test_fabrics() -> None:
    assert leaf_spine(64, 16, 4, 10.0) == Fabric("leaf and spine", 64, 10.0, 80.0, (Tier("leaf", 16, 40.0),), hops=4)
    assert leaf_spine(9, 3, 1, 10.0).across == 30.0  # one leaf of three on one side
    assert leaf_spine(9, 9, 2, 10.0).across == 40.0  # one leaf alone: its switch does not hold anybody up
    assert fat_tree(4, 10.0, 3, 2.0) == Fabric("fat tree", 16, 10.0, 40.0, (Tier("edge", 2, 20.0), Tier("pod", 4, 20.0)), 1, 20, 6)
    assert fat_tree(4, 10.0, 2, 2.0) == Fabric("fat tree", 8, 10.0, 20.0, (Tier("edge", 2, 10.0),), 1, 6, 4)
    assert fat_tree(6, 10.0).tiers[1] == Tier("pod", 9, 90.0) and hosts(2, 2) == 2
    assert rail(16, 8, 10.0, 4, 2.0) == Fabric("rail-optimised", 16, 10.0, 320.0, (Tier("leaf", 4, 160.0),), ports=8, hops=4)
    assert torus(10.0, 4, 2, 1) == Fabric("torus", 8, 10.0, 40.0, (Tier("half", 4, 40.0),), 3, hops=3, direct=True)
    assert torus(10.0, 3) == Fabric("torus", 3, 10.0, 20.0, (Tier("half", 1, 20.0),), 2, hops=1, direct=True) == ring(3, 10.0)
    assert (ring(2, 10.0).across, ring(2, 10.0).ports, torus(10.0, 1).across) == (10.0, 1, 0.0)
    assert dragonfly(4, 2, 2, 10.0) == Fabric("dragonfly", 72, 10.0, 200.0, (Tier("group", 8, 80.0),), switches=36, hops=5)


@pytest.mark.parametrize(
    ("kind", "host", "edge", "pod"),
    [
        ("ring", 30, 30, 30), ("all_gather", 15, 15, 15), ("neighbour", 16, 16, 16), ("all_to_all", 15, 28, 48),
        ("permutation", 16, 32, 64),
    ],
)  # fmt: skip
def test_bytes_on_a_tree_of_sixteen(kind: str, host: float, edge: float, pod: float) -> None:
    """Edge switches of two hosts, pods of four, sixteen bytes each."""
    assert traffic(kind, fat_tree(4, 1.0), 16.0) == Loads(host, (edge, pod))


def test_two_levels_on_a_tree_of_sixteen() -> None:
    """Nodes of two: eight of them, rings of every second host, so that both hosts of an edge switch and two of a pod's four send out."""
    assert traffic("two_level", fat_tree(4, 1.0), 16.0, per_node=2) == Loads(14.0, (28.0, 28.0))
    assert traffic("two_level", fat_tree(4, 1.0), 16.0) == traffic("ring", fat_tree(4, 1.0), 16.0)


def farthest(neighbours: dict[tuple[int, ...], list[tuple[int, ...]]]) -> int:
    """Links between the two nodes that are farthest apart, by walking out from each."""
    most = 0
    for start in neighbours:
        seen, edge, far = {start}, [start], 0
        while edge := [b for a in edge for b in neighbours[a] if b not in seen and not seen.add(b)]:  # type: ignore[func-returns-value]
            far += 1
        most = max(most, far)
    return most


@pytest.mark.parametrize("sides", [(2,), (3,), (4, 2), (5, 3, 2)])
def test_the_longest_way_through_a_torus_is_half_of_every_side(sides: tuple[int, ...]) -> None:
    nodes = list(product(*map(range, sides)))
    near = {
        at: [(*at[:i], (at[i] + way) % side, *at[i + 1 :]) for i, side in enumerate(sides) for way in (-1, 1) if side > 1] for at in nodes
    }
    assert farthest(near) == torus(1.0, *sides).hops


def test_a_latency_for_each_link_on_the_way() -> None:
    assert flow_time(leaf_spine(8, 4, 1, 1.0), Loads(3.0, (0.0,)), 0.5) == 3.0 + 4 * 0.5
    assert leaf_spine(4, 4, 1, 1.0).hops == 2 and dragonfly(1, 4, 3, 1.0).hops == 3  # host, router, router, host


def test_the_busiest_link_paces() -> None:
    tree = fat_tree(4, 2.0, oversubscription=2.0)
    assert flow_time(tree, Loads(16.0, (0.0, 0.0))) == 8.0 and flow_time(tree, Loads(0.0, (16.0, 0.0))) == 4.0
    assert flow_time(tree, Loads(0.0, (0.0, 16.0))) == 4.0
    assert traffic("permutation", leaf_spine(12, 6, 1, 1.0), 1.0) == Loads(1.0, (6.0,)) and torus(1.0, 4).tiers == (Tier("half", 2, 2.0),)
    assert flow_time(rail(16, 8, 2.0, 4), Loads(16.0, (0.0,))) == 1.0
    alone = leaf_spine(8, 8, 4, 1.0)
    assert traffic("ring", alone, 8.0) == Loads(14.0, (0,))
    backwards = traffic("ring", fat_tree(4, 1.0), 16.0, list(range(16))[::-1])
    assert backwards == Loads(30.0, (30.0, 30.0))
    zigzag = [0, 8, 1, 9, 2, 10, 3, 11, 4, 12, 5, 13, 6, 14, 7, 15]
    assert traffic("neighbour", fat_tree(4, 1.0), 1.0, zigzag) == Loads(1.0, (2.0, 4.0))
    assert torus_all_reduce(torus(10.0, 4), 4.0) == pytest.approx(0.3)


def wire(rate: float) -> Interconnect:
    return Interconnect("w", "wire", 2 * rate, rate)


def test_a_ring_through_two_boxes() -> None:
    pairs = Box("pairs", "pairs", "x", 4, 2, wire(200.0), wire(24.0), wire(10.0), 4)
    kinds = [("link", 200), ("bridge", 24), ("link", 200), ("nic", 20), ("link", 200), ("bridge", 24), ("link", 200), ("nic", 20)]
    assert ring_edges(pairs, 8, nics=2) == tuple(Edge(i, (i + 1) % 8, kind, rate) for i, (kind, rate) in enumerate(kinds))
    assert [edge.rate for edge in ring_edges(pairs, 4, order=(0, 2, 1, 3))] == [24.0] * 4
    assert ring_edges(pairs, 1) == () and [edge.kind for edge in ring_edges(pairs, 2)] == ["link", "link"]
    assert Interconnect("w", "wire", 2.0, 1.0) == Interconnect("w", "wire", 2.0, 1.0, 0.0, 1)
    assert Box("b", "b", "x", 2, 2) == Box("b", "b", "x", 2, 2, None, None, None, 0, 0.0, 0.0, 0.0, 0.0, ())
    assert wire(50.0).efficiency == 0.5 and transfer(100.0, wire(50.0)) == 2.0
    assert repr(pairs) == "<Box pairs: 4 × x>" and pairs.edge(5, 6) == ("bridge", wire(24.0))


def test_an_all_to_all_of_six_in_two_boxes() -> None:
    """Two bytes for each other rank: one neighbour on the link, two over the bridge, four ranks to two over the NICs."""
    pairs = Box("pairs", "pairs", "x", 4, 2, wire(200.0), wire(24.0), wire(10.0), 4, bus=150.0)
    assert expert_exchange.loads(pairs, 6, 12.0, nics=3) == (
        expert_exchange.Load("link", 2.0, 150.0), expert_exchange.Load("bridge", 4.0, 24.0), expert_exchange.Load("nic", 16.0, 30.0),
    )  # fmt: skip
    alone = Box("alone", "alone", "x", 2, 1, None, wire(24.0))
    assert (
        expert_exchange.loads(alone, 2, 12.0) == (expert_exchange.Load("bridge", 6.0, 24.0),)
        and expert_exchange.all_to_all(alone, 2, 12.0) == 0.25
    )


@pytest.mark.parametrize(
    ("kind", "algorithm", "latency", "carried"),
    [
        ("all_reduce", "star", 14, 14), ("all_reduce", "ring", 14, 1.75), ("all_reduce", "binomial", 6, 6),
        ("all_reduce", "double_tree", 6, 2), ("all_reduce", "recursive_doubling", 3, 3), ("all_reduce", "rabenseifner", 6, 1.75),
        ("all_reduce", "in_network", 2, 1), ("all_gather", "ring", 7, 0.875), ("all_gather", "recursive_doubling", 3, 0.875),
        ("reduce_scatter", "ring", 7, 0.875), ("reduce_scatter", "recursive_halving", 3, 0.875), ("all_to_all", "pairwise", 7, 0.875),
        ("all_to_all", "bruck", 3, 1.5), ("broadcast", "binomial", 3, 3), ("broadcast", "chain", 7, 1),
    ],
)  # fmt: skip
def test_steps_and_bytes_of_eight_ranks(kind: str, algorithm: str, latency: float, carried: float) -> None:
    assert time(kind, algorithm, 8, 1000.0, 2.0, 10.0) == Terms(2.0 * latency, 100.0 * carried)


def test_pieces_down_a_pipeline() -> None:
    """Eight ranks, 1,000 bytes, pieces of 125: a chain of 6 + 8 slots; two trees with four pieces each, 6 + 3 slots of four pieces."""
    assert time("broadcast", "chain", 8, 1000.0, 2.0, 10.0, chunk=125.0) == Terms(28.0, 14 * 12.5)
    assert time("all_reduce", "double_tree", 8, 1000.0, 2.0, 10.0, chunk=125.0) == Terms(18.0, 9 * 50.0)
    assert time("all_reduce", "double_tree", 8, 100.0, 2.0, 10.0, chunk=125.0) == Terms(12.0, 6 * 20.0)  # one piece at least
    assert time("broadcast", "chain", 8, 100.0, 2.0, 10.0, chunk=125.0) == Terms(14.0, 7 * 10.0)


def test_nodes_with_faster_wires_inside() -> None:
    """Two nodes of four: 3 + 3 steps inside of three quarters each at 100, a ring of two with a quarter of the message at 10."""
    terms = time("all_reduce", "two_level", 8, 1000.0, 2.0, 10.0, per_node=4, beta_inner=100.0, alpha_inner=0.5)
    assert terms == Terms(6 * 0.5 + 2 * 2.0, pytest.approx(2 * 7.5 + 25.0))
    plain = time("all_reduce", "two_level", 8, 1000.0, 2.0, 10.0, per_node=4)
    assert plain == Terms(6 * 2.0 + 2 * 2.0, 2 * 75.0 + 25.0)


def test_bounds_and_choices() -> None:
    assert tuple(ALGORITHMS) == KINDS and Wires(8, 1.0, 2.0, 4.0) == Wires(8, 1.0, 2.0, 4.0, 1, 0.0, 0.0, None)
    assert least("all_reduce", 8, 1000.0, 2.0, 10.0) == 175.0 and least("all_reduce", 8, 1.0, 2.0, 10.0) == 6.0
    assert least("all_reduce", 8, 1000.0, 2.0, 10.0, in_network=True) == 100.0 and least("broadcast", 8, 1000.0, 2.0, 10.0) == 100.0
    assert least("all_reduce", 1, 1000.0, 2.0, 10.0, in_network=True) == 0.0
    assert crossover("ring", "star", 8, 2.0, 10.0) == 0.0  # the same steps, fewer bytes
    assert crossover("star", "ring", 8, 2.0, 10.0) == math.inf
    assert crossover("pairwise", "bruck", 8, 2.0, 10.0, kind="all_to_all") == pytest.approx(4 * 2.0 * 10.0 / 0.625)
    assert fastest(8, 1.0, 2.0, 10.0) == "recursive_doubling" and fastest(8, 1e6, 2.0, 10.0) == "rabenseifner"
    assert fastest(6, 1.0, 2.0, 10.0) == "recursive_doubling" and fastest(8, 1.0, 2.0, 10.0, "all_to_all") == "bruck"
    assert fastest(8, 1e6, 2.0, 10.0, "broadcast") == "chain" and fastest(8, 1e4, 2.0, 10.0, "broadcast", chunk=1e4) == "binomial"
