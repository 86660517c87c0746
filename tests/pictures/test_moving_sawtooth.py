"""A job over a day: at a failure the work falls back to the last save, and what is safe at the end is the useful work."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ironlaw.engine.cluster.job_timeline import shares, strip
from ironlaw.pictures.moving.sawtooth import failures, progress, sawtooth
from ironlaw.widget.motion import MOST, Counter, Curve

DAY = 86400.0


@given(st.lists(st.floats(60, DAY - 60), max_size=8, unique=True), st.floats(300, 20_000), st.floats(0, 200), st.floats(1, 900))
def test_what_is_safe_is_the_useful_work(moments, interval, save, restart):
    day = tuple(strip(sorted(moments), interval, save, restart, DAY))
    done, safe = progress(day, interval)
    assert safe[-1][1] == pytest.approx(float(shares(day).goodput) * DAY, abs=1e-6)
    assert all(one[1] <= two[1] + 1e-9 and one[0] <= two[0] + 1e-9 for one, two in itertools.pairwise(safe))
    assert all(one[0] <= two[0] + 1e-9 for one, two in itertools.pairwise(done))
    drops = [(one[0], two[1]) for one, two in itertools.pairwise(done) if two[1] < one[1] - 1e-9]
    for at, work in drops:  # to what was safe then
        assert work == pytest.approx(max(kept for t, kept in safe if t <= at + 1e-9))
    assert len(failures(day)) == len(moments)


def test_a_day_by_hand():
    """Work of an hour, saves of six minutes; a failure at 2 h 30 min loses 18 min, and the restart takes 12."""
    day = tuple(strip([9000.0], 3600.0, 360.0, 720.0, 6 * 3600.0))
    motion = sawtooth(day, 3600.0)
    assert motion.title == "1 failure leaves 5\u202fh of work in 6\u202fh"
    assert "18\u202fmin since the last save is lost" in " ".join(text for _, text in motion.events)


def test_the_shortest_interval_still_fits_a_frame():
    day = tuple(strip([5000.0, 40_000.0], 6.0, 60.0, 300.0, DAY))
    motion = sawtooth(day, 6.0)
    assert len(motion.things) < MOST and max(len(thing.points) for thing in motion.things if isinstance(thing, Curve)) < 700
    wasted = next(thing for thing in motion.things if isinstance(thing, Counter) and thing.unit == "%")
    assert wasted.points[-1][1] == pytest.approx(100 * (1 - float(shares(day).goodput)))
