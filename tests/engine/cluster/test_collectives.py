"""Collectives: schedules that are executed, formulas against them, crossovers and bounds."""

import math

import numpy as np
import pytest

from ironlaw.engine.cluster.collectives import (
    ALGORITHMS,
    BEST,
    POWERS_OF_TWO,
    Wires,
    algorithm_bandwidth,
    bus_bandwidth,
    bus_factor,
    crossover,
    fastest,
    least,
    time,
)
from ironlaw.engine.cluster.schedules import SCHEDULES, Schedule, steps
from ironlaw.errors import BadValue, UnknownName


def execute(schedule: Schedule, n: int) -> list[list[int]]:
    """The schedule on small integers; every send of a step starts from what was there before it."""
    buffers = [[(rank + 1) * (part + 3) for part in range(schedule.parts)] for rank in range(n)]
    buffers.append([0] * schedule.parts)  # rank n: a switch that adds
    for step in schedule.steps:
        before = [list(buffer) for buffer in buffers]
        for send in step:
            for part in send.parts:
                value = before[send.source][part]
                buffers[send.target][part] = buffers[send.target][part] + value if send.add else value
    return buffers[:n]


@pytest.mark.parametrize("algorithm", SCHEDULES)
def test_every_schedule_leaves_the_sum_on_every_rank(algorithm: str) -> None:
    for n in range(1, 34):
        if algorithm == "rabenseifner" and n & (n - 1):
            continue
        for per_node in (1, 2, 4) if algorithm == "two_level" else (1,):
            if n % per_node:
                continue
            schedule = steps(algorithm, n, per_node)
            expected = [sum((rank + 1) * (part + 3) for rank in range(n)) for part in range(schedule.parts)]
            assert execute(schedule, n) == [expected] * n, (algorithm, n, per_node)


def test_the_steps_are_those_of_the_formulas() -> None:
    for n in range(2, 34):
        levels = math.ceil(math.log2(n))
        assert len(steps("ring", n).steps) == len(steps("star", n).steps) == 2 * (n - 1)
        assert len(steps("in_network", n).steps) == 2 == time("all_reduce", "in_network", n, 0.0, 1.0, 1.0).total
        assert len(steps("binomial", n).steps) == len(steps("double_tree", n).steps) == 2 * levels
        for algorithm in ("ring", "star", "binomial", "recursive_doubling"):
            assert time("all_reduce", algorithm, n, 0.0, 1.0, 1.0).total == len(steps(algorithm, n).steps)
    for n in (2, 4, 8, 16, 32):
        assert len(steps("recursive_doubling", n).steps) == math.log2(n)
        assert len(steps("rabenseifner", n).steps) == 2 * math.log2(n)
        inside, across = 2 * (2 - 1), 2 * (n // 2 - 1)
        assert len(steps("two_level", n, 2).steps) == inside + across


def _sent(schedule: Schedule, rank: int) -> float:
    return sum(len(send.parts) for step in schedule.steps for send in step if send.source == rank) / schedule.parts


def test_a_rank_sends_the_bytes_of_the_formula() -> None:
    for n in (2, 5, 8, 32):
        assert _sent(steps("ring", n), 0) == pytest.approx(2 * (n - 1) / n)
        assert _sent(steps("ring", n), 0) == pytest.approx(time("all_reduce", "ring", n, 1.0, 0.0, 1.0).total)
        star = sum(len(s.parts) for step in steps("star", n).steps for s in step if 0 in (s.source, s.target))
        assert star == 2 * (n - 1) == pytest.approx(n * _sent(steps("ring", n), 0))
    for n in (2, 8, 32):
        assert _sent(steps("rabenseifner", n), 3 % n) == pytest.approx(2 * (n - 1) / n)


@pytest.mark.parametrize(("n", "size"), [(8, 0.4706e6), (256, 8.8165e6), (1024, 28.136e6)])
def test_a_ring_beats_an_unpipelined_tree_from_here_on(n: int, size: float) -> None:
    at = crossover("ring", "binomial", n, 5e-6, 50e9)
    assert at == pytest.approx(size, rel=1e-4)
    closed = 5e-6 * 50e9 * (n - 1 - math.log2(n)) / (math.log2(n) - (n - 1) / n)
    assert at == pytest.approx(closed, rel=1e-9)
    ring, tree = (time("all_reduce", name, n, at, 5e-6, 50e9).total for name in ("ring", "binomial"))
    assert ring == pytest.approx(tree, rel=1e-9)


def test_a_doubled_tree_moves_the_crossing_away_and_chunks_bring_it_back() -> None:
    assert crossover("ring", "double_tree", 256, 5e-6, 50e9) == pytest.approx(15.808e9, rel=1e-4)
    chunked = crossover("ring", "double_tree", 256, 5e-6, 50e9, chunk=1e6)
    assert 1e6 < chunked < 15.8e9
    assert crossover("binomial", "recursive_doubling", 8, 5e-6, 50e9) == math.inf
    assert crossover("recursive_doubling", "binomial", 8, 5e-6, 50e9) == 0.0


def test_the_best_chunk_of_a_double_tree_is_the_derived_one() -> None:
    """(2h + k − 1)·(α + 2M/(kβ)) is least at k = √((2h − 1)·2M/(αβ))."""
    n, size, alpha, beta = 64, 64e6, 5e-6, 50e9
    count = math.sqrt((2 * 6 - 1) * 2 * size / (alpha * beta))
    best = time("all_reduce", "double_tree", n, size, alpha, beta, chunk=size / 2 / count).total
    for factor in (0.5, 0.9, 1.1, 2.0):
        assert time("all_reduce", "double_tree", n, size, alpha, beta, chunk=size / 2 / count * factor).total >= best
    assert best > time("all_reduce", "double_tree", n, size, alpha, beta).total
    assert time("all_reduce", "double_tree", n, size, alpha, beta, chunk=BEST).total == pytest.approx(best)
    chain = time("broadcast", "chain", n, size, alpha, beta, chunk=BEST).total
    assert all(time("broadcast", "chain", n, size, alpha, beta, chunk=chunk).total >= chain for chunk in (1e3, 1e5, 1e6, 1e7))
    assert time("all_reduce", "double_tree", n, 8.0, alpha, beta, chunk=BEST).latency == pytest.approx(12 * alpha)  # one piece
    for chunk, start in (("small", alpha), (BEST, 0.0)):
        with pytest.raises(BadValue, match="or 'best' with an α above 0"):
            time("all_reduce", "double_tree", n, size, start, beta, chunk=chunk)


def test_the_best_chunks_bring_the_crossing_back_onto_the_page() -> None:
    """√x against its square: 2(N−1)α + 2(N−1)/N·x = (√((2h−1)α) + √(2x))², h = 8, N = 256, at 0.45 GB."""
    at = crossover("ring", "double_tree", 256, 5e-6, 50e9, chunk=BEST)
    x, alpha = at / 50e9, 5e-6
    assert (math.sqrt(15 * alpha) + math.sqrt(2 * x)) ** 2 == pytest.approx(510 * alpha + 510 / 256 * x) and 0.4e9 < at < 0.6e9


@pytest.mark.parametrize("kind", ALGORITHMS)
def test_nothing_beats_the_bounds_and_one_rank_takes_no_time(kind: str) -> None:
    for name in ALGORITHMS[kind]:
        for n in (2, 4, 8, 64, 1024):
            for size in (1.0, 1e4, 1e9):
                taken = time(kind, name, n, size, 5e-6, 50e9, per_node=2 if name == "two_level" else 1).total
                bound = least(kind, n, size, 5e-6, 50e9, in_network=name in ("in_network", "two_level"))
                if name == "two_level":  # links inside carry their own share
                    bound = 2 * (n - 2) / n * size / 2 / 50e9
                assert taken >= bound * (1 - 1e-12), (name, n, size)
        assert time(kind, name, 1, 1e9, 5e-6, 50e9).total == 0.0
        once, twice = (time(kind, name, 8, 1e6, alpha, 50e9) for alpha in (5e-6, 1e-5))
        assert twice.latency == pytest.approx(2 * once.latency) and twice.bandwidth == once.bandwidth
        assert time(kind, name, 8, 0.0, 5e-6, 50e9).total == pytest.approx(once.latency)


def test_published_magnitudes() -> None:
    """1 MB on 256 ranks: ring 2.59 ms, Rabenseifner 0.12, recursive doubling 0.20."""
    times = {name: time("all_reduce", name, 256, 1e6, 5e-6, 50e9).total for name in ("ring", "rabenseifner", "recursive_doubling")}
    assert [round(1e3 * t, 2) for t in times.values()] == [2.59, 0.12, 0.20]
    assert fastest(256, 1e6, 5e-6, 50e9) == "rabenseifner" and fastest(6, 1e9, 5e-6, 50e9) == "ring"


def test_bus_bandwidth_is_a_convention_that_a_switch_may_exceed() -> None:
    assert bus_bandwidth("all_reduce", 8, 1e9, 1e9 / 274.29e9) == pytest.approx(480e9, rel=1e-4)
    factors = [bus_factor(kind, 8) for kind in ("all_reduce", "all_gather", "reduce_scatter", "all_to_all", "broadcast")]
    assert factors == [1.75, 0.875, 0.875, 0.875, 1.0]
    assert algorithm_bandwidth(4e9, 2.0) == 2e9


def test_two_levels_put_a_share_on_each_nic() -> None:
    terms = time("all_reduce", "two_level", 64, 8e9, 5e-6, 50e9, per_node=8, beta_inner=math.inf, alpha_inner=0.0)
    assert terms.bandwidth == pytest.approx(2 * 7 / 8 * 1e9 / 50e9) and terms.latency == pytest.approx(14 * 5e-6)


def test_arrays_are_the_same_law() -> None:
    sizes = np.array([1e3, 1e6, 1e9])
    for name in ALGORITHMS["all_reduce"]:
        swept = time("all_reduce", name, 8, sizes, 5e-6, 50e9, chunk=1e5).total
        assert swept == pytest.approx([time("all_reduce", name, 8, size, 5e-6, 50e9, chunk=1e5).total for size in sizes])
    ranks = np.array([2, 8, 256])
    assert time("all_reduce", "binomial", ranks, 1e6, 5e-6, 50e9).total[2] == time("all_reduce", "binomial", 256, 1e6, 5e-6, 50e9).total


def test_what_can_not_run_is_refused_with_the_next_step() -> None:
    with pytest.raises(UnknownName, match="no algorithm for all_gather 'star'"):
        time("all_gather", "star", 8, 1e6, 5e-6, 50e9)
    with pytest.raises(UnknownName, match="no collective 'gossip'"):
        time("gossip", "ring", 8, 1e6, 5e-6, 50e9)
    with pytest.raises(UnknownName, match="no schedule of an all-reduce 'gossip'"):
        steps("gossip", 8)
    with pytest.raises(BadValue, match="needs a power of two ranks, such as 4, not 6"):
        time("all_reduce", "rabenseifner", 6, 1e6, 5e-6, 50e9)
    with pytest.raises(BadValue, match="give a multiple of 4"):
        time("all_reduce", "two_level", 6, 1e6, 5e-6, 50e9, per_node=4)
    with pytest.raises(BadValue, match="give a finite number above 0"):
        time("all_reduce", "ring", 8, 1e6, 5e-6, 0.0)
    assert POWERS_OF_TWO == ("rabenseifner",) and Wires(8, 1.0, 0.0, 1.0).levels == 3
