"""Trees of switches and the jobs that share them: sizes by hand, uplinks against the general link loads, fair shares as properties."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ironlaw.engine.cluster.jobs import EXCHANGE, LINE, PLACEMENTS, RING, FabricJob, fair_shares, typical_waiting, uplinks, waiting
from ironlaw.engine.cluster.loads import flow, torus_all_reduce, traffic
from ironlaw.engine.cluster.placement import fragmented
from ironlaw.engine.cluster.topology import hosts, leaf_spine, thin_tree, three_tiers, torus
from ironlaw.engine.cluster.trees import Tree
from ironlaw.errors import BadValue, UnknownName

RATE = 50e9


def test_trees_hold_what_their_switches_allow() -> None:
    for radix in (32, 64, 128):
        assert Tree(64, radix, (1,), RATE).holds == hosts(radix, 2) == radix**2 // 2
        assert Tree(64, radix, (1, 1), RATE).holds == hosts(radix, 3) == radix**3 // 4
    assert Tree(64, 64, (3,), RATE).holds == thin_tree(64, 64, 3)[0] == 3_072
    assert not Tree(2048, 32, (1,), RATE).fits and Tree(2048, 32, (1,), RATE, planes=8).fits and Tree(2048, 32, (1, 1), RATE).fits


def test_ports_by_hand() -> None:
    """A port for each host, and two for each link between switches: 3, 5 and 1.5 a host."""
    assert Tree(2048, 64, (1,), RATE).ports == 3 * 2048 == Tree(2048, 64, (1,), RATE, planes=8).ports
    assert Tree(2048, 64, (1, 1), RATE).ports == 5 * 2048
    thin = Tree(2048, 64, (3,), RATE)  # 48 down and 16 up, 43 leaves
    assert (thin.leaf, thin.leaf_links, thin.leaves, thin.ports) == (48, 16, 43, 2048 + 2 * 43 * 16)
    assert Tree(2048, 64, (1, 7), RATE).links == (2048, 256 + 37)  # pods of 56 and of 8 leaves, 32 links each, a seventh of them up


def test_a_tier_that_joins_nothing_takes_no_ports() -> None:
    assert Tree(32, 64, (1,), RATE).ports == 32 and Tree(32, 64, (1,), RATE).tiers == ()
    assert Tree(2048, 128, (1, 1), RATE).ports == Tree(2048, 128, (1,), RATE).ports


def test_trees_that_do_not_exist_are_refused() -> None:
    with pytest.raises(BadValue, match="multiple of 64"):
        Tree(100, 64, (1,), RATE, planes=8)
    with pytest.raises(BadValue, match="even number of ports"):
        Tree(64, 63, (1,), RATE)
    with pytest.raises(BadValue, match="take larger ones"):
        Tree(64, 8, (1,), RATE)
    with pytest.raises(BadValue, match="oversubscription"):
        Tree(64, 64, (0,), RATE)


@pytest.mark.parametrize("thin", [1, 2, 4, 7])
@pytest.mark.parametrize("scattered", [0.0, 1.0])
def test_one_job_alone_takes_what_the_link_loads_say(thin: int, scattered: float) -> None:
    """A ring over every node, and an exchange among all, on leaves of four nodes: two ways of counting, in two files."""
    nodes = fragmented(128, scattered, 3)
    tree = Tree(1024, 64, (thin,), RATE)
    order = [8 * node + nic for node in nodes for nic in range(8)]
    if 1024 % tree.leaf == 0:
        fabric = leaf_spine(1024, tree.leaf, tree.leaf / tree.leaf_links, RATE)
        ring = FabricJob("ring", 128, RING, float(traffic("two_level", fabric, 1e9, per_node=8).host), 1.0)
        assert waiting(tree, [ring], nodes)["ring"].communication == pytest.approx(flow("two_level", fabric, 1e9, order, per_node=8))
    exchange = FabricJob("exchange", 128, EXCHANGE, 1e9, 1.0, 128)
    leaf = tree.leaf // 8
    expected = max(127 / 128, leaf * 8 * (128 - leaf) / 128 / tree.leaf_links) * 1e9 / RATE
    assert waiting(tree, [exchange], nodes)["exchange"].communication == pytest.approx(expected)
    assert waiting(tree, [exchange], nodes)["exchange"].share == pytest.approx(expected / (1 + expected))


def test_rails_keep_a_group_under_one_leaf() -> None:
    """32 nodes of one rail on a leaf: their exchange crosses nothing; without rails a leaf has four nodes of it."""
    exchange = FabricJob("exchange", 32, EXCHANGE, 1e9, 1.0, 32)
    flat, rails = (Tree(1024, 64, (1,), RATE, planes) for planes in (1, 8))
    order = range(128)
    assert all(not each.load for each in uplinks(rails, [exchange], order)["leaf"])
    assert uplinks(flat, [exchange], order)["leaf"][0].load == pytest.approx(28 / 31)
    ring = FabricJob("ring", 128, RING, 1e9, 1.0)
    assert [uplinks(tree, [ring], order)["leaf"][0].load for tree in (flat, rails)] == [pytest.approx(8 / 32), pytest.approx(1 / 32)]


def test_a_line_sends_both_ways_and_stops_at_its_ends() -> None:
    line = FabricJob("line", 8, LINE, 1e9, 1.0, 4)
    assert line.leaving(range(8)) == {0: 1e9, 1: 2e9, 2: 2e9, 3: 1e9, 4: 1e9, 5: 2e9, 6: 2e9, 7: 1e9}
    assert line.port_bytes == 2e9 and FabricJob("pair", 8, LINE, 1e9, 1.0, 2).port_bytes == 1e9


@pytest.mark.parametrize("collisions", [0.0, 0.2])
def test_jobs_that_meet_share_an_uplink(collisions: float) -> None:
    """A node of each of two rings on one leaf: 8 + 8 ports over its 12 links."""
    tree = Tree(1024, 64, (4,), RATE)  # 48 down, 12 up: six nodes on a leaf
    jobs = [FabricJob(name, 3, RING, 1e9, 1.0) for name in "ab"]
    order = [0, 6, 12, 1, 7, 13, *(node for node in range(128) if node not in (0, 6, 12, 1, 7, 13))]
    here = uplinks(tree, jobs, order, collisions)["leaf"][0]
    usable = 12 * (1 - collisions / 2)
    assert here.load == pytest.approx(16 / usable)
    assert here.seconds["a"] == here.seconds["b"] == pytest.approx(8e9 / (usable / 2 * RATE))


def test_a_full_spine_slows_nobody_down() -> None:
    jobs = [FabricJob("ring", 64, RING, 1e9, 1.0), FabricJob("exchange", 64, EXCHANGE, 1e9, 1.0, 32)]
    for seed in range(5):
        for planes in (1, 8):
            found = waiting(Tree(1024, 64, (1,), RATE, planes), jobs, fragmented(128, 1.0, seed))
            assert all(one.communication == pytest.approx(one.port) for one in found.values())


@given(st.lists(st.integers(0, 3), min_size=8, max_size=8), st.sampled_from([1, 2, 4, 8]))
def test_an_exchange_leaves_pair_by_pair(at: list[int], group: int) -> None:
    pairs = [(at[a], at[b]) for a in range(8) for b in range(8) if a // group == b // group]
    leaving = {tree: sum(a == tree != b for a, b in pairs) / group for tree in set(at)}
    found = FabricJob("exchange", 8, EXCHANGE, 1.0, 1.0, group).leaving(at)
    assert found == pytest.approx({tree: size for tree, size in leaving.items() if size})


@given(st.lists(st.integers(0, 3), min_size=8, max_size=8), st.sampled_from([1, 2, 4, 8]))
def test_a_ring_and_a_line_leave_flow_by_flow(at: list[int], group: int) -> None:
    lines = [pair for a in range(7) if a // group == (a + 1) // group for pair in ((a, a + 1), (a + 1, a))]
    for kind, flows in ((RING, [(a, (a + 1) % 8) for a in range(8)]), (LINE, lines)):
        leaving = {tree: sum(at[a] == tree != at[b] for a, b in flows) for tree in set(at)}
        assert FabricJob("job", 8, kind, 2.0, 1.0, group).leaving(at) == {tree: 2.0 * count for tree, count in leaving.items() if count}


def test_half_of_the_placements_are_worse_than_the_typical_one() -> None:
    tree, jobs = Tree(1024, 64, (4,), RATE), [FabricJob("ring", 64, RING, 1e9, 1.0), FabricJob("exchange", 64, EXCHANGE, 1e9, 1.0, 32)]
    draws = [waiting(tree, jobs, fragmented(128, 0.1, seed), 0.2) for seed in range(PLACEMENTS)]
    for name, one in typical_waiting(tree, jobs, 0.1, 0.2).items():
        times = [draw[name].communication for draw in draws]
        assert sum(time <= one.communication for time in times) > PLACEMENTS / 2 < sum(time >= one.communication for time in times)
        assert min(times) < max(times)  # or there would be nothing to be typical of
    assert typical_waiting(tree, jobs, 0.0, 0.2) == waiting(tree, jobs, range(128), 0.2)


@given(st.floats(1.0, 100.0), st.lists(st.floats(0.1, 100.0), min_size=1, max_size=6))
def test_shares_are_fair(capacity: float, wanted: list[float]) -> None:
    asked = {str(i): want for i, want in enumerate(wanted)}
    shares = fair_shares(capacity, asked)
    assert sum(shares.values()) == pytest.approx(min(capacity, sum(wanted)))
    most = max(shares.values())
    for name, share in shares.items():  # nobody gets more than it wants, and who gets less than the most has all it wants
        assert share <= asked[name] * (1 + 1e-12) and (share == pytest.approx(asked[name]) or share == pytest.approx(most))


def test_jobs_that_can_not_be_are_refused() -> None:
    with pytest.raises(UnknownName, match="no traffic of a job 'gossip'"):
        FabricJob("x", 8, "gossip", 1.0, 1.0)
    with pytest.raises(BadValue, match="divisor of 8"):
        FabricJob("x", 8, EXCHANGE, 1.0, 1.0, 3)
    with pytest.raises(BadValue, match="from 0 to below 1"):
        waiting(Tree(64, 64, (1,), RATE), [], range(8), 1.0)
    with pytest.raises(BadValue, match="give each job a place"):
        waiting(Tree(64, 64, (1,), RATE), [FabricJob("x", 9, RING, 1.0, 1.0)], range(8))


# --- fabrics that the general loads know besides


def test_three_tiers_are_thin_at_the_top_alone() -> None:
    fabric = three_tiers(1024, 16, 256, 7, RATE)
    assert [(tier.name, tier.hosts, tier.uplink / RATE) for tier in fabric.tiers] == [
        ("leaf", 16, 16),
        ("pod", 256, pytest.approx(256 / 7)),
    ]
    assert fabric.across == pytest.approx(1024 / 2 / 7 * RATE)
    assert flow("all_to_all", fabric, 1e9) / flow("all_to_all", three_tiers(1024, 16, 256, 1, RATE), 1e9) == pytest.approx(7 * 768 / 1023)


@pytest.mark.parametrize("side", [4, 8, 16])
def test_an_all_to_all_on_a_torus_is_bound_by_its_links(side: int) -> None:
    """By hops: a quarter of the side on average and dimension, over two links of each chip: a/8 of the message on every link."""
    pod = torus(RATE, side, side, side)
    hops = sum(min(step, side - step) for step in range(side)) / side
    on_a_link = hops * 1e9 / 2 / RATE
    assert flow("all_to_all", pod, 1e9) == pytest.approx(max(on_a_link, (1 - side**-3) * 1e9 / 6 / RATE))
    assert flow("ring", pod, 1e9) == pytest.approx(torus_all_reduce(pod, 1e9))
    assert flow("neighbour", pod, 1e9) == pytest.approx(1e9 / RATE)
