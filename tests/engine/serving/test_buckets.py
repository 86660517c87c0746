"""Buckets over nine decades: the error of each, merging, and quantiles of a whole run."""

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ironlaw.engine.serving.buckets import Buckets, bucket, width
from ironlaw.errors import BadValue

DURATIONS = st.lists(st.floats(1e-6, 1e3), max_size=30)


@given(st.integers(0, 10**13), st.integers(1, 4))
def test_a_bucket_holds_its_number_and_is_narrow(units: int, digits: int) -> None:
    lowest = bucket(units, digits)
    assert lowest <= units < lowest + width(lowest, digits)
    assert width(lowest, digits) - 1 <= units / 10**digits
    assert bucket(lowest + width(lowest, digits) - 1, digits) == lowest
    assert bucket(lowest + width(lowest, digits), digits) == lowest + width(lowest, digits)


def test_the_first_buckets_are_hdrhistograms() -> None:
    """2,048 numbers of their own for three digits, then twos up to 4,096, then fours."""
    assert [bucket(n) for n in (0, 1, 2046, 2047, 2048, 2049, 2050, 4095, 4096, 4099, 4100)] == [
        0, 1, 2046, 2047, 2048, 2048, 2050, 4094, 4096, 4096, 4100,
    ]  # fmt: skip
    assert [width(n) for n in (0, 2047, 2048, 4094, 4096)] == [1, 1, 2, 2, 4]
    assert bucket(15, 1) == 15 and width(32, 1) == 2  # one digit: 32 numbers of their own


@given(st.floats(1e-6, 1e3))
def test_a_duration_is_kept_to_three_digits(seconds: float) -> None:
    assert Buckets().record([seconds]).quantile(0.5) == pytest.approx(seconds, rel=1e-3)


@given(DURATIONS, DURATIONS, DURATIONS)
def test_merging_is_counting_everything_at_once_in_any_order(a: list[float], b: list[float], c: list[float]) -> None:
    first, second, third = (Buckets().record(part) for part in (a, b, c))
    everything = Buckets().record(a + b + c)
    assert first.merge(second).merge(third) == first.merge(second.merge(third)) == everything == third.merge(first).merge(second)
    assert everything.n == len(a) + len(b) + len(c)


def test_a_run_of_many_is_kept_in_few_buckets() -> None:
    run = [1e-3 * (1 + i / 10_000) for i in range(30_000)]
    kept = Buckets().record(run)
    assert kept.n == 30_000
    assert len(kept.counts) < 2_100
    for p in (0.5, 0.99, 0.9999):
        assert kept.quantile(p) == pytest.approx(run[round(p * 30_000) - 1], rel=1e-3)


def test_recording_leaves_the_old_value_as_it_was() -> None:
    empty = Buckets()
    one = empty.record([1.0])
    assert (empty.n, one.n, one.record([2.0]).n) == (0, 1, 2)


def test_nothing_is_a_duration_too_and_a_wide_bucket_is_told_by_its_middle() -> None:
    assert Buckets().record([0.0]).quantile(0.5) == 0.0
    assert Buckets().middle(4096) == pytest.approx(4097.5e-9)
    assert Buckets(unit=1e-3, digits=1).middle(32) == pytest.approx(32.5e-3)
    coarse = Buckets(unit=1e-3, digits=1).record([0.1, 0.101])
    assert coarse.counts == {100: 2} and coarse.quantile(0.5) == pytest.approx(0.1015)
    assert coarse.record([0.2]).digits == 1 and coarse.merge(coarse).unit == 1e-3 and coarse.merge(coarse).digits == 1


def test_a_rank_is_counted_to_the_nanosecond() -> None:
    kept = Buckets().record([n * 1e-9 for n in (1, 2, 2, 3, 4, 5, 6, 7, 8, 9)])
    assert [kept.quantile(p) for p in (0.1, 0.2, 0.3, 0.31, 0.5, 0.99)] == pytest.approx([1e-9, 2e-9, 2e-9, 3e-9, 4e-9, 9e-9])


REFUSALS = [
    (lambda: Buckets().record([-1.0]), "a duration of -1.0 s; only finite ones from 0 s on can be counted"),
    (lambda: Buckets().record([float("inf")]), "a duration of inf s; only finite ones from 0 s on can be counted"),
    (lambda: Buckets().record([float("nan")]), "a duration of nan s; only finite ones from 0 s on can be counted"),
    (lambda: Buckets().merge(Buckets(digits=2)),
     "buckets of 3 digits of 1e-09 s don't merge with those of 2 digits of 1e-09 s; count both alike"),
    (lambda: Buckets().merge(Buckets(unit=1e-6)),
     "buckets of 3 digits of 1e-09 s don't merge with those of 3 digits of 1e-06 s; count both alike"),
    (lambda: Buckets().quantile(0.5), "a sample of 0 requests; count at least 1"),
]  # fmt: skip


@pytest.mark.parametrize(("call", "words"), REFUSALS)
def test_what_can_not_be_counted_is_refused(call: Callable[[], object], words: str) -> None:
    with pytest.raises(BadValue) as refusal:
        call()
    assert str(refusal.value) == words
