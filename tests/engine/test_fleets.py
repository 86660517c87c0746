"""A fleet's year by hand, and what must hold for any."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ironlaw.engine import rebound
from ironlaw.engine.energy import KWH, YEAR
from ironlaw.engine.fleets import Fleet, Server
from ironlaw.errors import BadValue

# a kilowatt and a dollar an hour each: at a dime a kWh electricity is a tenth of the price
OLD = Server(4, 4000.0, 1000.0, 1.0)
DAY = (400.0,) * 12 + (100.0,) * 12


def fleet(after=OLD, **more):
    return Fleet(OLD, after, **{"tokens": 10_000.0, "servers": 20, "hourly": DAY, "kwh": 0.1, **more})


def test_a_year_by_hand():
    """Ten servers of 4 kW busy, ten idle at 100 W a device; an eightieth of their making each year."""
    one = fleet(idle_power=100.0, pue=1.5, pue_before=1.5, embodied=200e3, years=8)
    carbon = one.carbon(1.0)
    assert (one.gain, one.price, one.demand(3.0), one.needed(3.0), one.utilisation(0.0)) == (1.0, 1.0, 10_000.0, 10.0, 0.5)
    assert one.share == pytest.approx(0.15) and one.peak_power == pytest.approx(20 * 4000 * 1.5)
    assert carbon.busy == pytest.approx(40 * 1.5 * YEAR * 250) and carbon.idle == pytest.approx(4 * 1.5 * YEAR * 250)
    assert carbon.embodied == pytest.approx(80 * 200e3 / 8) and carbon.total == pytest.approx(66 * YEAR * 250 + 2e6)


def test_two_channels():
    """Half the watts at the same rate moves a tenth of the price; twice the rate at the same watts moves all of it."""
    cooler, faster = fleet(Server(4, 2000.0, 1000.0, 1.0 - 0.05)), fleet(Server(4, 4000.0, 2000.0, 1.0))
    assert cooler.gain == faster.gain == 2.0
    assert cooler.price == pytest.approx(0.95) and faster.price == pytest.approx(0.5)
    assert cooler.energy(1.5) == pytest.approx(rebound.energy(2, 1.5, 0.1)) and faster.energy(1.5) == pytest.approx(math.sqrt(2))
    assert cooler.threshold == pytest.approx(13.51, abs=5e-3) and faster.threshold == pytest.approx(1.0)
    assert faster.needed(1.0) == pytest.approx(10.0) and faster.carbon(1.0).busy == pytest.approx(fleet().carbon(1.0).busy)


def test_no_gain():
    assert fleet(pue=1.5, pue_before=1.5).threshold == math.inf and fleet(Server(4, 4000.0, 1000.0, 0.5)).threshold == 0.0
    assert fleet(Server(4, 4000.0, 500.0, 1.0)).threshold == math.inf  # dearer


def test_waiting_needs_idle_servers():
    """Half can wait. With as many servers again an hour takes twice its share; with none to spare nothing can move."""
    assert fleet(deferrable=0.5).intensity(0.0) == pytest.approx(175) and fleet(deferrable=0.5).loads(0.0)[0] == pytest.approx(0.5)
    assert fleet(deferrable=0.5, servers=10).intensity(0.0) == pytest.approx(250)
    assert fleet(deferrable=0.5, servers=5).intensity(0.0) == pytest.approx(250)  # too small a fleet: never below even


@given(st.floats(500, 8000), st.floats(200, 5000), st.floats(0.2, 3), st.floats(0, 3), st.floats(0, 1))
def test_what_holds_for_any_server(power, rate, hour, elasticity, passed):
    one = fleet(Server(4, power, rate, hour), pass_through=passed, idle_power=50.0)
    assert one.energy(elasticity) == pytest.approx(one.demand(elasticity) * one.after.joules / (one.tokens * OLD.joules))
    if one.price < 1:
        assert one.carbon(elasticity + 0.5).busy >= one.carbon(elasticity).busy * (1 - 1e-12)
    if one.gain > 1.001 and one.threshold < 50:
        assert one.energy(one.threshold) == pytest.approx(1.0, rel=1e-6)


def test_bad_input_says_what_to_give():
    with pytest.raises(BadValue, match="hour"):
        Fleet(Server(1, 5000.0, 1.0, 0.1), OLD, 1.0, 1, DAY, kwh=0.5)
    for change in ({"tokens": 0}, {"servers": 0}, {"years": 0}):
        with pytest.raises(BadValue):
            fleet(**change)
    assert Server(1, 360.0, 100.0, 1.0).joules * 1e6 / KWH == pytest.approx(1.0)
