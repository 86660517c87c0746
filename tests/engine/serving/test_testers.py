"""Two testers against a request-by-request reference in rational arithmetic, and against Tene's figures."""

from collections.abc import Callable
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ironlaw.engine.serving.load_testers import Stalls, Test, back_fill, closed_loop, load, open_loop
from ironlaw.errors import BadValue

ASKED = Stalls(1.0, 10.0)  # the prediction's server
TENE = Stalls(100.0, 200.0, 100.0)


def reference(rate: int, service: Fraction, stalls: Stalls, n: int, connections: int | None) -> list[Fraction]:
    """One request after the other, each worked on in steps between stalls; nothing is skipped."""
    length, period, first = Fraction(stalls.length), Fraction(stalls.period), Fraction(stalls.first)

    def finish(start: Fraction) -> Fraction:
        now, left, stall = start, service, first
        while length and stall + length <= now:
            stall += period
        while length and now + left > stall:
            left -= max(Fraction(0), stall - now)
            now, stall = max(now, stall + length), stall + period
        return now + left

    sent, ends, seconds = Fraction(0), [], []
    for i in range(n):
        if connections is None:
            sent = Fraction(i, rate)
        elif i:
            sent = max(sent + Fraction(1, rate), ends[-connections] if i >= connections else Fraction(0))
        ends.append(finish(max([sent, *ends[-1:]])))
        seconds.append(ends[-1] - sent)
    return seconds


@given(
    st.sampled_from([4, 16, 64]), st.integers(1, 600), st.integers(0, 24), st.integers(25, 200), st.integers(0, 80),
    st.one_of(st.none(), st.integers(1, 9)),
)  # fmt: skip
def test_both_testers_are_the_reference_to_the_last_digit(
    rate: int, service: int, length: int, period: int, first: int, connections: int | None
) -> None:
    """Times are multiples of powers of two, so that a double holds them exactly."""
    work, stalls = service / 4096, Stalls(length / 8, period / 8, first / 8)
    n = 60
    test = open_loop(rate, work, stalls, n) if connections is None else closed_loop(rate, work, stalls, n, connections)
    assert [Fraction(s) for s in test.seconds] == reference(rate, Fraction(work), stalls, n, connections)


def test_the_predictions_case() -> None:
    users, tester = open_loop(100, 0.001, ASKED), closed_loop(100, 0.001, ASKED)
    assert users.quantile(0.5) == pytest.approx(0.001)
    assert users.quantile(0.9) == pytest.approx(0.101)
    assert users.quantile(0.99) == pytest.approx(0.911)
    assert users.share_above(0.002 + 1e-9) == pytest.approx(0.111, abs=1e-9)
    assert tester.quantile(0.99) == pytest.approx(0.001)
    assert max(tester.seconds) == pytest.approx(1.0, rel=0.01)
    assert users.n == tester.n == 10_000


def test_a_closed_tester_with_connections_enough_is_an_open_one() -> None:
    users, tester = open_loop(100, 0.001, ASKED), closed_loop(100, 0.001, ASKED, connections=10_000)
    assert tester.seconds == pytest.approx(users.seconds, abs=1e-9)
    p99 = [closed_loop(100, 0.001, ASKED, connections=c).quantile(0.99) for c in (1, 4, 8, 16, 64)]
    assert p99[:2] == pytest.approx([0.001, 0.001])
    assert p99[-1] == pytest.approx(0.911, rel=0.02)


def test_tenes_figures() -> None:
    closed = closed_loop(100, 0.001, TENE, 10_001)
    assert closed.mean == pytest.approx(0.010999, abs=5e-7)
    assert closed.quantile(0.9999) == pytest.approx(0.001)
    in_line, at_once = open_loop(100, 0.001, TENE, 20_000), open_loop(100, 0.001, TENE, 20_000, together=True)
    assert (at_once.mean, at_once.quantile(0.75), at_once.quantile(0.9999)) == pytest.approx((25.0, 50.0, 99.98), abs=5e-3)
    assert (in_line.mean, in_line.quantile(0.75), in_line.quantile(0.9999)) == pytest.approx((27.5, 55.0, 99.98), abs=5e-3)


def test_back_filling_restores_what_one_connection_left_out() -> None:
    filled = Test([], back_fill(closed_loop(100, 0.001, TENE, 10_001).seconds, 0.01))
    assert filled.n == 10_001 + 9_999
    assert filled.quantile(0.75) == pytest.approx(50.0, rel=1e-3)
    assert filled.quantile(0.9999) == pytest.approx(99.98, rel=1e-4)
    assert back_fill([0.05, 0.01], 0.01) == pytest.approx([0.05, 0.01, 0.04, 0.03, 0.02, 0.01])
    assert back_fill([0.035], 0.01) == pytest.approx([0.035, 0.025, 0.015])
    assert back_fill([0.009], 0.01) == [0.009]


def test_back_filling_adds_too_much_for_many_connections() -> None:
    users, tester = open_loop(100, 0.001, ASKED), closed_loop(100, 0.001, ASKED, connections=64)
    filled = Test([], back_fill(tester.seconds, 0.01))
    assert filled.share_above(0.1) > 2 * users.share_above(0.1)


def test_without_stalls_nobody_waits() -> None:
    for test in (open_loop(100, 0.001, n=500), closed_loop(100, 0.001, n=500)):
        assert set(test.seconds) == {0.001}
        assert test.sent[-1] == pytest.approx(4.99)
        assert test.mean == pytest.approx(0.001)
        assert test.share_above(0.001) == 0.0


def test_load_counts_the_time_between_stalls() -> None:
    assert load(100, 0.001, ASKED) == pytest.approx(0.1 / 0.9)
    assert load(100, 0.005, Stalls(5.0, 10.0)) == pytest.approx(1.0)
    assert ASKED.share == 0.1


def test_an_overloaded_server_keeps_users_waiting_longer_and_longer() -> None:
    seconds = open_loop(100, 0.02, n=300).seconds
    assert seconds == pytest.approx([0.02 + 0.01 * i for i in range(300)])
    assert closed_loop(100, 0.02, n=300, connections=3).quantile(0.99) == pytest.approx(0.06)


REFUSALS = [
    (lambda: Stalls(10.0, 10.0), "stalls of 10.0 s in every 10.0 s leave no time to serve; give a period longer than the stall"),
    (lambda: Stalls(-1.0, 10.0), "a stall's length is -1.0; give a finite number of at least 0"),
    (lambda: Stalls(0.0, 0.0), "the period of the stalls is 0.0; give a finite number above 0"),
    (lambda: Stalls(1.0, 2.0, -1.0), "the time before the first stall is -1.0; give a finite number of at least 0"),
    (lambda: open_loop(0, 0.001), "rate is 0; give a finite number above 0"),
    (lambda: open_loop(1, 0.0), "service is 0.0; give a finite number above 0"),
    (lambda: closed_loop(0, 0.001), "rate is 0; give a finite number above 0"),
    (lambda: open_loop(1, 0.1, n=0), "a test of 0 requests; count at least 1"),
    (lambda: closed_loop(1, 0.1, n=0), "a test of 0 requests; count at least 1"),
    (lambda: closed_loop(1, 0.1, connections=0), "a tester with 0 connections sends nothing; give 1 or more"),
    (lambda: back_fill([1.0], 0.0), "the interval between requests is 0.0; give a finite number above 0"),
    (lambda: load(0, 0.1, ASKED), "rate is 0; give a finite number above 0"),
    (lambda: load(1, 0.0, ASKED), "service is 0.0; give a finite number above 0"),
]


@pytest.mark.parametrize(("call", "words"), REFUSALS)
def test_what_makes_no_sense_is_refused(call: Callable[[], object], words: str) -> None:
    with pytest.raises(BadValue) as refusal:
        call()
    assert str(refusal.value) == words


def test_a_test_of_one_request_and_stalls_that_touch_a_request() -> None:
    assert open_loop(1, 0.5, n=1).seconds == closed_loop(1, 0.5, n=1).seconds == [0.5]
    assert Stalls(1.0, 10.0, 2.0).finish(1.5, 0.5) == 2.0  # done as the stall begins
    assert Stalls(1.0, 10.0, 2.0).finish(1.5, 0.75) == 3.25
    assert Stalls(1.0, 10.0, 2.0).finish(2.25, 0.5) == 3.5
    assert Stalls(1.0, 2.0, 0.0).finish(0.5, 2.5) == 5.5  # rests through two more
    assert Stalls(1.0, 10.0, 2.0).begins(3.0) == 12.0
    assert Stalls(1.0, 10.0, 2.0).begins(2.5) == 2.0


@pytest.mark.parametrize(
    ("rate", "service", "stalls"),
    [
        (10.0, 0.03, Stalls(0.5, 2.0, 0.347)), (10.0, 0.1, Stalls(0.35, 3.0, 1.01)), (0.5, 1.2, Stalls(2.5, 20.0, 7.3)),
        (10.0, 0.13, Stalls(0.2, 1.0)), (7.0, 0.05, Stalls()),
    ],
)  # fmt: skip
def test_request_by_request(rate, service, stalls):
    """Each starts when it is due and the one before is done; a closed loop is due when its connection is free and the pace allows."""
    free, waits, sent, polite, at = 0.0, [], [], [], 0.0
    for i in range(80):
        free = stalls.finish(max(free, i / rate), service)
        waits.append(free - i / rate)
        sent.append(at)
        polite.append(stalls.finish(at, service) - at)
        at = max(at + 1 / rate, at + polite[-1])
    assert open_loop(rate, service, stalls, 80).seconds == pytest.approx(waits, abs=1e-9)
    alone = [stalls.finish(i / rate, service) - i / rate for i in range(80)]
    assert open_loop(rate, service, stalls, 80, together=True).seconds == pytest.approx(alone, abs=1e-9)
    closed = closed_loop(rate, service, stalls, 80)
    assert closed.sent == pytest.approx(sent, abs=1e-9) and closed.seconds == pytest.approx(polite, abs=1e-9)
