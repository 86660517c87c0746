"""Timing on a clock that a test moves: warm-up, batches, quantiles, when it stops."""

from statistics import quantiles

import pytest

from ironlaw.errors import BadValue
from ironlaw.measure.clock import RESOLUTION, Clock, Timing, quantile, step, timed
from ironlaw.measure.progress_lines import Cancelled


class FakeClock(Clock):
    """Moves by `tick` when it is read, and by what the calls add; device work is waited for in sync."""

    def __init__(self, tick: float = 1e-9) -> None:
        self.time, self.tick, self.queued, self.syncs = 0.0, tick, 0.0, 0

    def now(self) -> float:
        self.time += self.tick
        return self.time

    def sync(self) -> None:
        self.syncs += 1
        self.time, self.queued = self.time + self.queued, 0.0


def test_what_a_call_takes_is_found_and_warming_up_is_left_out():
    clock, calls = FakeClock(), []

    def call():
        calls.append(1)
        clock.time += 5.0 if len(calls) <= 3 else 1e-3

    timing = timed(call, clock, seconds=0.05, least=7, warmup=3)
    assert timing.median == pytest.approx(1e-3, rel=1e-4)
    assert timing.high == pytest.approx(1e-3, rel=1e-4)  # no sample holds a slow first call
    assert timing.count >= 50


def test_short_calls_are_batched_far_above_the_clock():
    clock = FakeClock(tick=1e-6)

    def call():
        clock.time += 1e-7

    timing = timed(call, clock, seconds=0, least=5)
    assert timing.batch * 1e-7 >= RESOLUTION * 1e-6 * 0.99
    assert timing.median == pytest.approx(1e-7, rel=0.01)


def test_long_calls_are_not_batched():
    clock = FakeClock(tick=1e-6)

    def call():
        clock.time += 1e-2

    assert timed(call, clock, seconds=0, least=3).batch == 1


def test_a_call_that_takes_no_time_ends_all_the_same():
    assert timed(lambda: None, FakeClock(tick=1e-3), seconds=0, least=1, warmup=0).median >= 0


def test_the_device_is_waited_for():
    clock = FakeClock()

    def call():  # returns at once; the work is queued
        clock.queued += 2e-3

    assert timed(call, clock, seconds=0, least=4, batch=10).median == pytest.approx(2e-3, rel=1e-3)


def test_it_stops_when_both_time_and_samples_are_there():
    clock = FakeClock()

    def call():
        clock.time += 0.5

    assert timed(call, clock, seconds=0.1, least=7, warmup=0).count == 7  # the time is long over
    assert timed(call, clock, seconds=10, least=3, warmup=0).count == 20


def test_median_and_quantiles_resist_one_slow_sample():
    clock, lengths = FakeClock(tick=1e-12), iter([1e-3] * 20 + [9.0] + [1e-3] * 1000)

    def call():
        clock.time += next(lengths)

    timing = timed(call, clock, seconds=0, least=40, warmup=0, batch=1)
    assert (timing.median, timing.best) == pytest.approx((1e-3, 1e-3))
    assert timing.spread == pytest.approx(0, abs=1e-6)


def test_quantiles_are_those_of_the_standard_library():
    samples = [float(n * n % 17) for n in range(23)]
    tenths = quantiles(samples, n=10, method="inclusive")
    found = Timing.of(samples)
    assert (found.low, found.median, found.high) == pytest.approx((tenths[0], tenths[4], tenths[8]))
    assert found.best == min(samples)
    assert found.spread == pytest.approx((found.high - found.low) / found.median)
    assert quantile([3.0], 0.9) == 3.0


def test_the_row_of_a_timing():
    assert Timing(1.23456789e-5, 1e-5, 2e-5, 9e-6, 12).row() == {
        "wall_s": 1.23457e-5,
        "low_s": 1e-5,
        "high_s": 2e-5,
        "best_s": 9e-6,
        "samples": 12,
    }


def test_the_step_of_a_coarse_clock():
    class Coarse(FakeClock):
        def now(self) -> float:
            return round(super().now(), 3)

    assert step(Coarse(tick=1e-4)) == pytest.approx(1e-3)


def test_stopping():
    calls = []
    with pytest.raises(Cancelled, match="nothing was stored"):
        timed(lambda: calls.append(1), FakeClock(), seconds=1e9, batch=1, warmup=0, stop=lambda: len(calls) >= 5)
    assert len(calls) == 5


@pytest.mark.parametrize("bad", [{"least": 0}, {"warmup": -1}, {"seconds": -1}, {"batch": 0}])
def test_bad_values(bad):
    with pytest.raises(BadValue, match="give at least 1, 0, 0 and 1"):
        timed(lambda: None, FakeClock(), **bad)
