"""Lives by other laws than chance, against drawn runs and the Poisson formula."""

import math

import pytest

from ironlaw.engine.cluster import failures, renewals
from ironlaw.engine.cluster.failures import draw
from ironlaw.engine.cluster.job_timeline import shares, strip
from ironlaw.errors import UnknownName


@pytest.mark.parametrize("shape", [renewals.BUNCHED, renewals.WORN])
@pytest.mark.parametrize(("interval", "save", "restart"), [(1200.0, 60.0, 300.0), (100.0, 20.0, 0.0), (9000.0, 60.0, 900.0)])
def test_drawn_runs_spend_their_time_as_the_law_says(shape: float, interval: float, save: float, restart: float) -> None:
    span = 2.5e7 if interval > 1000 else 8e6
    went = shares(strip(draw(3, 10_000.0, span, shape), interval, save, restart, span))
    law = renewals.goodput(interval, save, restart, 10_000.0, shape)
    assert law.total == pytest.approx(1, abs=1e-12)
    for part, sure in (("goodput", 0.03), ("writing", 0.03), ("restart", 0.06), ("lost", 0.08)):
        assert getattr(went, part) == pytest.approx(getattr(law, part), rel=sure, abs=1e-3), part


def test_the_sum_and_its_integral_are_one() -> None:
    """With fewer terms one by one nothing changes: the rest is an integral, exact for cycles far shorter than a life."""
    for shape in (renewals.BUNCHED, renewals.WORN):
        scale = 10_000.0 / math.gamma(1 + 1 / shape)
        whole = sum(math.exp(-(((300.0 + n * 110.0) / scale) ** shape)) for n in range(1, 60_000))
        assert renewals.goodput(100.0, 10.0, 300.0, 10_000.0, shape).goodput == pytest.approx(whole * 100.0 / 10_000.0, rel=1e-4)
        assert scale * renewals.REST[shape](0.0) == pytest.approx(10_000.0)


def test_at_random_it_is_the_formula() -> None:
    assert renewals.goodput(1200.0, 60.0, 300.0, 1e4) == failures.goodput(1200.0, 60.0, 300.0, 1e4)
    assert renewals.optimum(60.0, 300.0, 1e4) == failures.optimum(60.0, 1e4)
    with pytest.raises(UnknownName, match=r"shape of the law of failures '0\.7'"):
        renewals.goodput(1.0, 1.0, 1.0, 1.0, 0.7)


@pytest.mark.parametrize("shape", list(renewals.REST))
def test_no_interval_beats_the_best(shape: float) -> None:
    best = renewals.optimum(60.0, 300.0, 1e4, shape)
    most = renewals.goodput(best, 60.0, 300.0, 1e4, shape).goodput
    for step in range(-40, 41):
        assert renewals.goodput(best * 10 ** (step / 20), 60.0, 300.0, 1e4, shape).goodput <= most * (1 + 1e-6)


@pytest.mark.parametrize("shape", [renewals.BUNCHED, renewals.RANDOM, renewals.WORN])
def test_a_band_ends_where_the_waste_is_what_is_allowed(shape: float) -> None:
    given = (60.0, 300.0, 10_000.0, shape)
    best = renewals.optimum(*given)

    def wasted(interval: float) -> float:
        return 1 - renewals.goodput(interval, *given).goodput

    allowed = wasted(best) + 0.01
    low, high = renewals.band(allowed, (1.0, 1e6), best, *given)
    assert low < best < high and [wasted(low), wasted(high)] == pytest.approx([allowed, allowed], abs=1e-6)
    assert wasted(0.99 * low) > allowed < wasted(1.01 * high)
    assert renewals.band(1.0, (best / 2, 2 * best), best, *given) == pytest.approx((best / 2, 2 * best))  # no further than its ends
