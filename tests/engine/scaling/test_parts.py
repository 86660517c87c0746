"""A pass in parts against hand values: in turn, in lanes, and with a lane that runs ahead."""

import math

import pytest

from ironlaw.engine.scaling.parts import Parted

PASS = Parted((("host", 6.0), ("conv", 3.0), ("relu", 1.0)), (("host", ("host",)), ("device", ("conv", "relu"))), ("host", 5.0))
DEVICE = ("conv", "relu")


def test_parts_that_take_turns_follow_amdahl():
    assert PASS.seconds == 10.0 and PASS.share(DEVICE) == pytest.approx(0.4) and PASS.after(("conv",), 3.0) == [6.0, 1.0, 1.0]
    assert PASS.speedup(DEVICE, 2.0) == pytest.approx(10 / 8) and PASS.speedup(DEVICE, math.inf) == pytest.approx(10 / 6)


def test_lanes_go_at_the_pace_of_the_longest():
    assert PASS.lane_times(DEVICE, 2.0) == {"host": 5.0, "device": 2.0} and PASS.lane_times(("host",), 2.0) == {"host": 2.5, "device": 4.0}
    assert PASS.speedup(DEVICE, 10.0, overlap=True) == 1.0  # the host sets the pace
    assert PASS.speedup(("host",), 10.0, overlap=True) == pytest.approx(5 / 4) == PASS.speedup(("host",), math.inf, overlap=True)
    alone = Parted(PASS.times, PASS.lanes)  # nothing runs ahead
    assert alone.lane_times(("host",), 2.0) == {"host": 3.0, "device": 4.0}


def test_one_percent_more_brings_the_share_that_is_left():
    left = PASS.gain_of_one_percent(DEVICE, 2.0)
    assert left == pytest.approx(2 / 8)
    more = PASS.speedup(DEVICE, 2.0 * 1.0001) / PASS.speedup(DEVICE, 2.0)
    assert math.log(more) / math.log(1.0001) == pytest.approx(left, rel=1e-3)
