"""Dollars and joules: by hand, and the cheapest against a search of all."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ironlaw.engine.costs import Offer, cheapest, device_hours, energy
from ironlaw.errors import BadValue


def test_by_hand():
    # 8 samples in 10 ms are 800 a second: a million takes 1,250 s of two devices, 0.694 device-hours, $2.50 at $3.60 an hour
    assert device_hours(0.01, 8, 2) == pytest.approx(2 * 1250 / 3600)
    offer = Offer("x", 0.01, 8, 700.0, 3.6, 2)
    assert offer.dollars == pytest.approx(2.5) and offer.joules == pytest.approx(2 * 1250 * 700) == energy(0.01, 8, 700.0, 2)
    assert Offer("x", 0.01, 8, 700.0).dollars is None


offers = st.lists(
    st.builds(
        Offer, st.just("m"), st.floats(1e-4, 1), st.integers(1, 64), st.floats(1, 1000), st.one_of(st.none(), st.floats(0.1, 50)),
        st.integers(1, 8),
    ),
    max_size=12,
)  # fmt: skip


@given(offers, st.one_of(st.none(), st.floats(1e-4, 1)))
def test_the_cheapest_is_the_cheapest(several, latency):
    pick = cheapest(several, latency)
    priced = [o for o in several if o.price is not None]
    if not priced:
        assert pick is None
        return
    quick = [o for o in priced if latency is None or o.seconds <= latency]
    if quick:
        assert pick.over == 0 and pick.offer in quick and all(pick.offer.dollars <= o.dollars for o in quick)
    else:
        assert pick.offer.seconds == min(o.seconds for o in priced) and pick.over == pick.offer.seconds - latency > 0


def test_of_equal_cost_the_quickest():
    slow, quick = Offer("slow", 0.2, 2, 1.0, 1.0), Offer("quick", 0.1, 1, 1.0, 1.0)
    assert cheapest([slow, quick]).offer is quick


@pytest.mark.parametrize("wrong", [lambda: device_hours(0.0, 1), lambda: device_hours(1.0, 0), lambda: energy(1.0, 1, 0.0)])
def test_nothing_is_free(wrong):
    with pytest.raises(BadValue, match="above 0"):
        wrong()


def test_a_latency_must_be_one():
    with pytest.raises(BadValue, match="latency"):
        cheapest([Offer("x", 1.0, 1, 1.0, 1.0)], -1.0)
