"""Queues against hand values, Crommelin's sum in eighty digits, SciPy's distributions and each other."""

import math
from decimal import Decimal, localcontext
from fractions import Fraction
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import integrate, stats

from ironlaw.engine.serving.batching import poisson
from ironlaw.engine.serving.line import simulate
from ironlaw.engine.serving.queues import erlang_b, erlang_c, kingman, little, md1, mg1_mean, mm1, mmc, shortest_first_mean
from ironlaw.engine.streams import uniform
from ironlaw.errors import BadValue

MS = 1e-3
loads = st.floats(0.01, 0.98)


def crommelin(rho: str, t: str) -> float:
    """P(wait ≤ t services) in M/D/1 by the alternating sum of 1932, in eighty digits."""
    with localcontext() as context:
        context.prec = 80
        load, at = Decimal(rho), Decimal(t)
        total, factorial = Decimal(0), Decimal(1)
        for k in range(int(at) + 1):
            factorial *= max(k, 1)
            total += (load * (k - at)) ** k / factorial * (-load * (k - at)).exp() if k else (load * at).exp()
        return float((1 - load) * total)


@pytest.mark.parametrize("rho", ["0.5", "0.8", "0.9"])
def test_fixed_service_equals_crommelins_sum(rho):
    line = md1(float(rho), 1.0)
    for t in ("0", "0.25", "0.999", "1", "3.5", "6.2", "10", "17.75", "29.01"):
        assert 1 - line.queue_tail(float(t)) == pytest.approx(crommelin(rho, t), abs=1e-12)
        assert line.tail(float(t) + 1) == pytest.approx(line.queue_tail(float(t)), abs=1e-12)


def test_fixed_service_at_four_fifths():
    line = md1(160, 5 * MS)
    assert line.mean == pytest.approx(15 * MS, rel=1e-12)
    assert line.queue == pytest.approx(10 * MS, rel=1e-12)
    assert line.quantile(0.99) == pytest.approx(56.78 * MS, abs=0.005 * MS)
    assert 1 - line.queue_tail(6.2 * 5 * MS) == pytest.approx(0.9400736635, abs=5e-11)
    assert line.in_flight == pytest.approx(2.4) and line.rho == pytest.approx(0.8)
    assert line.queue_tail(-1 * MS) == line.tail(4 * MS) == 1.0  # nobody is done before one service


@pytest.mark.parametrize("rho", [0.001, 0.05, 0.5, 0.8, 0.95, 0.999])
def test_the_tail_of_fixed_service_adds_up_to_its_mean(rho):
    """The integral of a tail is the mean, which Pollaczek and Khinchine give."""
    line = md1(rho, 1.0)
    ends = [float(k) for k in range(60)] + [60 + 2.0**k for k in range(18)]
    area = sum(integrate.quad(line.queue_tail, a, b, epsabs=1e-13)[0] for a, b in pairwise(ends))
    assert area == pytest.approx(rho / (2 * (1 - rho)), rel=1e-8)


def test_a_spread_of_ratios_that_no_single_factor_gives():
    assert [md1(rho, 1).quantile(0.99) / md1(rho, 1).mean for rho in (0.5, 0.8, 0.95)] == pytest.approx([2.9, 3.8, 4.4], abs=0.05)


def test_hand_values_of_erlang():
    assert erlang_b(5, 3.0) == pytest.approx(float(Fraction(3**5, 120) / sum(Fraction(3**k, math.factorial(k)) for k in range(6))))
    assert erlang_b(5, 3.0) == pytest.approx(0.110054, abs=5e-7)
    assert erlang_c(2, 1.0) == pytest.approx(1 / 3)
    assert erlang_c(10, 8.0) == pytest.approx(0.40918, abs=5e-6)
    assert erlang_c(502, 500.0) == pytest.approx(0.8936, abs=5e-5)
    assert erlang_c(3, 3.0) == 1.0 == erlang_c(3, 7.0)


@given(st.integers(1, 300), loads)
def test_erlang_equals_the_poisson_distribution(c, load):
    """Erlang's B is a Poisson distribution cut off at c, which SciPy knows; C follows from it by Palm's relation."""
    offered = c * load
    blocked = stats.poisson.pmf(c, offered) / stats.poisson.cdf(c, offered)
    assert erlang_b(c, offered) == pytest.approx(blocked, rel=1e-8)
    assert erlang_c(c, offered) == pytest.approx(c * blocked / (c - offered * (1 - blocked)), rel=1e-8)


def test_figures_of_exponential_service():
    one, eight = mm1(160, 5 * MS), mmc(7.2, 1.0, 8)
    assert one.quantile(0.99) == pytest.approx(115.13 * MS, abs=0.005 * MS)
    assert one.queue_quantile(0.99) == pytest.approx(109.55 * MS, abs=0.005 * MS)
    assert (eight.mean, eight.quantile(0.99)) == pytest.approx((1.877, 7.087), abs=5e-4)
    assert mm1(0.9, 1).quantile(0.99) == pytest.approx(46.05, abs=0.005)


@given(loads, st.floats(1e-4, 1e3), st.floats(0, 30))
def test_one_server_of_many_is_one_server(rho, service, t):
    many, one = mmc(rho / service, service, 1), mm1(rho / service, service)
    assert many.mean == pytest.approx(one.mean) and many.rho == pytest.approx(one.rho)
    assert many.tail(t * service) == pytest.approx(one.tail(t * service), rel=1e-9)
    assert many.queue_tail(t * service) == pytest.approx(one.queue_tail(t * service), rel=1e-9)


@given(loads, st.floats(1e-4, 1e3))
def test_pollaczek_and_khinchine_meet_both(rho, service):
    rate = rho / service
    assert mg1_mean(rate, service, 1.0) == pytest.approx(mm1(rate, service).mean)
    assert mg1_mean(rate, service, 0.0) == pytest.approx(md1(rate, service).mean)
    assert kingman(rate, service, 1.0, 0.7) == mg1_mean(rate, service, 0.7)
    assert kingman(rate, service, 0.0, 0.0) == pytest.approx(service)


@given(st.floats(0, 4))
def test_heavy_traffic(cv2):
    for rho in (0.999, 0.99999):
        assert (1 - rho) * mg1_mean(rho, 1.0, cv2) == pytest.approx((1 + cv2) / 2, abs=2 * (1 - rho) * (1 + cv2))


@given(st.integers(1, 64), st.floats(0.05, 0.97))
def test_the_wait_and_the_service_of_a_pooled_line_folded(c, rho):
    """The time in the system is the wait plus an exponential service: SciPy integrates the two."""
    line = mmc(c * rho, 1.0, c)
    t = 1.7
    folded = integrate.quad(lambda s: math.exp(-s) * line.queue_tail(t - s), 0, t, epsabs=1e-12)[0] + math.exp(-t)
    assert line.tail(t) == pytest.approx(folded, rel=1e-8)
    assert line.tail(0.0) == line.tail(-1.0) == 1.0
    assert line.queue_tail(-0.1) == 1.0 and line.queue_tail(0.0) == pytest.approx(erlang_c(c, c * rho))


def test_equal_rates_of_wait_and_service():
    line = mmc(1.0, 1.0, 2)  # 2·1 − 1 = 1: both end at the same rate
    late = erlang_c(2, 1.0)
    for t in (0.3, 2.0, 9.0):
        assert line.tail(t) == pytest.approx(math.exp(-t) * (1 + late * t))


@given(st.integers(2, 100), loads, st.floats(1e-3, 10))
def test_one_line_waits_less_than_split_ones_and_never_beats_the_service(c, rho, service):
    pooled, split = mmc(c * rho / service, service, c), mm1(rho / service, service)
    assert pooled.queue <= split.queue
    assert pooled.quantile(0.99) >= math.log(100) * service * (1 - 1e-9)


def test_no_number_of_servers_makes_50_ms_meet_200():
    assert mmc(10_000, 50 * MS, 502).quantile(0.99) == pytest.approx(262 * MS, abs=0.5 * MS)
    assert mmc(10_000, 50 * MS, 100_000).quantile(0.99) == pytest.approx(230 * MS, abs=0.5 * MS)


@given(loads, st.floats(0.01, 0.999))
def test_a_quantile_undoes_the_tail(rho, p):
    for line in (mm1(rho, 1.0), mmc(3 * rho, 1.0, 3), md1(rho, 1.0)):
        for tail, quantile in ((line.tail, line.quantile(p)), (line.queue_tail, line.queue_quantile(p))):
            assert tail(quantile) <= (1 - p) * (1 + 1e-9)
            assert quantile == 0 or tail(quantile * (1 - 1e-9)) >= 1 - p - 1e-9


def test_a_line_without_end_has_no_mean_and_no_percentile():
    for line in (mm1(1.0, 1.0), md1(2.0, 0.5), md1(3.0, 1.0), mmc(8.0, 1.0, 8), mmc(9.0, 1.0, 8)):
        assert line.mean == line.queue == line.quantile(0.5) == line.queue_quantile(0.99) == math.inf
        assert line.tail(1e9) == line.queue_tail(1e9) == 1.0
    assert mmc(9.0, 1.0, 8).rho == 9 / 8
    assert mg1_mean(1.0, 1.0, 0.0) == math.inf


def test_little_gives_the_third():
    assert little(in_flight=48, rate=2.0) == 24.0
    assert little(rate=2.0, seconds=24.0) == 48.0
    assert little(in_flight=48, seconds=24.0) == 2.0


@pytest.mark.parametrize("given_", [{}, {"rate": 2.0}, {"rate": 2.0, "seconds": 1.0, "in_flight": 2.0}])
def test_little_wants_two(given_):
    with pytest.raises(BadValue, match="give two of in_flight, rate, seconds"):
        little(**given_)


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: little(rate=0, seconds=1), "rate"), (lambda: mm1(-1, 1), "rate"), (lambda: md1(1, math.nan), "service"),
        (lambda: mmc(1, 1, 0), "servers is 0"), (lambda: mmc(1, 1, 2.5), "servers is 2.5"), (lambda: erlang_b(True, 1), "servers is True"),
        (lambda: erlang_c(2, -1), "offered"), (lambda: kingman(1, 0.5, -1, 0), "ca2"), (lambda: mg1_mean(1, 0.5, -1), "cs2"),
        (lambda: mm1(0.5, 1).quantile(1.0), "between 0 and 1"), (lambda: mm1(0.5, 1).quantile(0.0), "between 0 and 1"),
        (lambda: erlang_b(2, -1), "offered"),
    ],
)  # fmt: skip
def test_what_makes_no_sense_is_refused(call, says):
    with pytest.raises(BadValue, match=says):
        call()


def test_newest_first_has_the_same_mean_and_a_longer_tail():
    """Two million simulated requests at a load of 0.8: P99 was 11.4 services in turn, and 30.9 newest first."""
    first, last = md1(0.8, 1.0), md1(0.8, 1.0, "lifo")
    assert (first.quantile(0.99), last.quantile(0.99)) == pytest.approx((11.4, 30.9), rel=0.01)
    step = 0.01  # the mean is the area under the tail
    assert step * sum(last.tail(step * (place + 0.5)) for place in range(40_000)) == pytest.approx(first.mean, rel=1e-5)
    run = simulate(poisson(0.5, 40_000, seed=3), [1.0] * 40_000, order="lifo")
    assert [md1(0.5, 1.0, "lifo").quantile(p) for p in (0.5, 0.9)] == pytest.approx([run.quantile(p) for p in (0.5, 0.9)], rel=0.02)
    with pytest.raises(BadValue, match="choose fifo or lifo"):
        md1(0.5, 1.0, "random")


def test_shortest_first():
    """Half take 0.5 s, half 1.5 s, 0.8 a second: 0.5 s is in service on average, so the short wait 0.625 s and the long 3.125 s."""
    assert shortest_first_mean(0.8, ((0.5, 1.5), (0.5, 0.5))) == pytest.approx((0.5 + 0.625 + 1.5 + 3.125) / 2)
    services = [0.5 if draw < 0.5 else 1.5 for draw in uniform(7, 60_000)]
    assert simulate(poisson(0.8, 60_000, seed=5), services, order="shortest").mean == pytest.approx(2.875, rel=0.02)
    assert shortest_first_mean(0.8, ((1.0, 1.0),)) == pytest.approx(md1(0.8, 1.0).mean)
    assert shortest_first_mean(2.0, ((1.0, 1.0),)) == math.inf
    with pytest.raises(BadValue, match="add up to 1"):
        shortest_first_mean(0.8, ((0.5, 1.0),))
