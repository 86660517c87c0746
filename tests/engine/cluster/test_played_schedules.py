"""Schedules played on wires against the formulas, buckets behind a backward pass, and placements: by hand and for any setting."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ironlaw.engine.cluster.buckets import Queue, best_bucket, sent
from ironlaw.engine.cluster.collectives import time
from ironlaw.engine.cluster.placement import fragmented
from ironlaw.engine.cluster.schedule_replay import Inside, addends, busiest, step_ends
from ironlaw.engine.cluster.schedules import Send, steps
from ironlaw.errors import BadValue

PLAYED = ("star", "ring", "binomial", "recursive_doubling", "rabenseifner")


@pytest.mark.parametrize("algorithm", PLAYED)
@pytest.mark.parametrize("n", [2, 4, 8, 16])
def test_a_schedule_on_wires_takes_what_the_formula_says(algorithm: str, n: int) -> None:
    ends = step_ends(steps(algorithm, n), 1e6, 5e-6, 50e9)
    assert ends[-1] == pytest.approx(time("all_reduce", algorithm, n, 1e6, 5e-6, 50e9).total, rel=1e-12) and list(ends) == sorted(ends)


def test_a_switch_that_adds_halves_the_bytes_and_streams_both_ways() -> None:
    """Played step by step every wire carries the message in, then out; the law has both at the same time."""
    ends = step_ends(steps("in_network", 8), 1e6, 5e-6, 50e9, switch=8)
    terms = time("all_reduce", "in_network", 8, 1e6, 5e-6, 50e9)
    assert ends[-1] == pytest.approx(terms.latency + 2 * terms.bandwidth)
    assert step_ends(steps("in_network", 8), 1e6, 5e-6, 50e9)[-1] == pytest.approx(terms.latency + 16 * terms.bandwidth)


def test_two_levels_on_equal_wires() -> None:
    for n, per_node in ((8, 2), (8, 4), (12, 4), (32, 8)):
        played = step_ends(steps("two_level", n, per_node), 1e6, 5e-6, 50e9)[-1]
        assert played == pytest.approx(time("all_reduce", "two_level", n, 1e6, 5e-6, 50e9, per_node=per_node).total, rel=1e-12)


def test_wires_of_one_way_take_twice_where_a_rank_sends_and_takes_in() -> None:
    ring, tree = steps("ring", 8), steps("binomial", 8)
    assert step_ends(ring, 1e6, 0.0, 1.0, both_ways=False)[-1] == pytest.approx(2 * step_ends(ring, 1e6, 0.0, 1.0)[-1])
    assert step_ends(tree, 1e6, 0.0, 1.0, both_ways=False) == step_ends(tree, 1e6, 0.0, 1.0)
    assert step_ends(steps("ring", 1), 1e6, 1.0, 1.0) == ()
    assert busiest((Send(0, 1, (0, 1), True), Send(2, 1, (0,), True))) == 3
    assert busiest((Send(0, 1, (0, 1), True), Send(1, 2, (0,), True)), both_ways=False) == 3


def test_buckets_by_hand() -> None:
    """100 bytes in 10 s of backward pass, 40 a bucket, a second to start and 0.1 a byte: 40 | 40 | 20."""

    def cost(size: float) -> float:
        return 1.0 + 0.1 * size

    found = sent(100.0, 40.0, 10.0, cost)
    figures = [figure for b in found for figure in (b.size, b.ready, b.start, b.end)]
    assert figures == pytest.approx([40, 4, 4, 9, 40, 8, 9, 14, 20, 10, 14, 17])
    assert Queue(100.0, 40.0, 10.0, cost).exposed == pytest.approx(7.0)
    assert Queue(100.0, 1000.0, 10.0, cost).exposed == pytest.approx(11.0)  # one bucket: all of it shows
    assert Queue(100.0, 1.0, 10.0, cost).exposed == pytest.approx(0.1 + 110 - 10)  # a hundred starts
    assert Queue(100.0, 40.0, 10.0, cost, as_made=False).exposed == pytest.approx(5 + 5 + 3) and Queue(1, 1, 1, cost).seconds == 1.1
    assert best_bucket(100.0, 10.0, cost, (1, 10, 20, 40, 1000)) == 40
    assert best_bucket(100.0, 10.0, lambda size: 0.0, (1, 10)) == 10
    with pytest.raises(BadValue, match="bucket"):
        sent(100.0, 0.0, 10.0, cost)


@given(st.floats(1.0, 1e9), st.floats(2e-3, 2.0), st.floats(1e-3, 100.0), st.floats(1e-6, 1.0), st.floats(1e3, 1e12))
def test_the_closed_form_is_the_queue_gone_through(gradients: float, share: float, backward: float, start: float, rate: float) -> None:
    def cost(size: float) -> float:
        return start + size / rate

    found, queue = sent(gradients, share * gradients, backward, cost), Queue(gradients, share * gradients, backward, cost)
    assert queue.count == len(found) and queue.seconds == pytest.approx(sum(b.end - b.start for b in found))
    for i in {1, len(found) // 2 or 1, len(found)}:
        one = found[i - 1]
        assert (queue.ready(i), queue.start(i), queue.end(i)) == pytest.approx((one.ready, one.start, one.end), rel=1e-6)
    late = 1e-9 * found[-1].end
    waiting = max(sum(b.size for b in found[: i + 1] if b.end > one.ready + late) for i, one in enumerate(found))
    assert abs(queue.waiting - waiting) <= queue.full * (1 + 1e-6)  # one more or less where it ends at that very moment
    turned = Queue(gradients, share * gradients, backward, cost, as_made=False)
    assert turned.exposed == pytest.approx(queue.seconds) and turned.waiting == gradients
    assert turned.end(turned.count) >= queue.end(queue.count) * (1 - 1e-9)


def test_nodes_have_their_own_wires_inside() -> None:
    for n, per_node in ((8, 2), (16, 8)):
        law = time("all_reduce", "two_level", n, 1e6, 5e-6, 50e9, per_node=per_node, alpha_inner=2e-6, beta_inner=400e9)
        played = step_ends(steps("two_level", n, per_node), 1e6, 5e-6, 50e9, inside=Inside(per_node, 2e-6, 400e9))
        assert played[-1] == pytest.approx(law.total, rel=1e-12)


@pytest.mark.parametrize("algorithm", [*PLAYED, "double_tree", "two_level", "in_network"])
def test_addends_grow_to_the_sum_on_every_rank(algorithm: str) -> None:
    schedule = steps(algorithm, 8, 4)
    whole = ((8,) * schedule.parts,) * 8
    assert addends(schedule, 8, 0) == ((1,) * schedule.parts,) * 8 and addends(schedule, 8, len(schedule.steps)) == whole
    if algorithm == "ring":  # half-way each rank has one part of eight, and it is the whole sum
        assert [sum(count == 8 for count in parts) for parts in addends(schedule, 8, 7)] == [1] * 8
    if algorithm == "binomial":  # at the top of the tree one rank has all of it
        assert [parts[0] for parts in addends(schedule, 8, 3)] == [8, 1, 2, 1, 4, 1, 2, 1]


@given(st.floats(1.0, 1e12), st.floats(1e-3, 1.0), st.floats(0.0, 100.0), st.floats(0.0, 1e-2), st.floats(1e6, 1e12))
def test_what_shows_is_the_last_bucket_at_least_and_all_at_most(
    gradients: float, share: float, backward: float, start: float, rate: float
) -> None:
    def cost(size: float) -> float:
        return start + size / rate

    found = sent(gradients, share * gradients, backward, cost)
    assert sum(b.size for b in found) == pytest.approx(gradients) and found[-1].ready == pytest.approx(backward)
    shown, whole = found[-1].end - backward, sum(cost(b.size) for b in found)
    assert cost(found[-1].size) * (1 - 1e-9) - 1e-9 <= shown <= whole * (1 + 1e-9) + 1e-9
    assert found[-1].end >= max(backward, whole) * (1 - 1e-12)


@given(st.integers(1, 200), st.floats(0.0, 1.0), st.integers(0, 50))
def test_a_placement_names_each_host_once_and_moves_no_more_than_its_share(hosts: int, share: float, seed: int) -> None:
    order = fragmented(hosts, share, seed)
    assert sorted(order) == list(range(hosts)) and order == fragmented(hosts, share, seed)
    assert sum(rank != host for rank, host in enumerate(order)) <= round(share * hosts)
    assert fragmented(hosts, 0.0, seed) == tuple(range(hosts))


def test_all_ranks_scattered_lie_anywhere() -> None:
    order = fragmented(1024, 1.0, 3)
    assert sum(rank == host for rank, host in enumerate(order)) < 8 and order != fragmented(1024, 1.0, 4)
    with pytest.raises(BadValue, match="between 0 and 1"):
        fragmented(8, 1.5)
