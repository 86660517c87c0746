"""What a run knows about its own percentiles: against many runs of a line whose law is known."""

import pytest

from ironlaw.engine.serving.batching import poisson
from ironlaw.engine.serving.line import simulate
from ironlaw.engine.serving.llm.run_spread import mean_between, percentile_between, share_between
from ironlaw.engine.serving.queues import mm1
from ironlaw.engine.streams import exponential

RUNS = 40


def times(seed: int) -> list[float]:
    run = simulate(poisson(0.5, 3_000, seed=seed), exponential(seed + 1000, 3_000))
    return list(run.times)[300:]


def test_nineteen_intervals_in_twenty_hold_the_truth() -> None:
    """M/M/1 at one half, where neighbours in the line are late together; some chance is left to forty runs."""
    law, held = mm1(0.5, 1.0), [0, 0, 0]
    for seed in range(RUNS):
        values = times(seed)
        counted = [(value, 1.0) for value in values]
        checks = (
            (law.mean, mean_between(values)), (law.quantile(0.9), percentile_between(counted, 0.9)),
            (0.1, share_between(counted, law.quantile(0.9)))
        )  # fmt: skip
        for k, (truth, (low, high)) in enumerate(checks):
            held[k] += low <= truth <= high
    assert all(count >= 0.85 * RUNS for count in held), held


def test_by_hand() -> None:
    """Ten stretches of two: one of them has a long one, so a tenth of stretches is half over; values count as often as they are given."""
    values = [(1.0, 1.0)] * 19 + [(5.0, 1.0)]
    low, high = share_between(values, 1.0)
    assert (low + high) / 2 == pytest.approx(0.05) and high - low == pytest.approx(2 * 2.26 * 0.05)
    assert percentile_between(values, 0.9) == (1.0, 5.0)
    assert percentile_between([(1.0, 1.0), (2.0, 3.0)] * 10, 0.5) == (2.0, 2.0)
    assert mean_between([3.0] * 20) == (3.0, 3.0)
