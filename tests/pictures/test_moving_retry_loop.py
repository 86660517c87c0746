"""The retry loop: what it counts adds up to what the engine's run sent and answered, and it ends only where the run does."""

from dataclasses import replace

import pytest

from ironlaw.engine.serving.storms import Storm, run_storm
from ironlaw.pictures.moving.retry_loop import DOTS, GOOD, LATE, NEW, RETRY, flows, retry_loop
from ironlaw.widget.motion import Counter, Token

STORM = Storm(begins=10.0, lasts=10.0, until=80.0)  # three retries, no budget


def points(storm):
    return [(end - 1.0, sent, good) for end, sent, good in run_storm(storm).windows(2.0)]


def test_what_flows_adds_up_to_what_was_sent():
    given = points(STORM)
    for (at, sent, good), (when, new, again, answered, nobody) in zip(given, flows(given, STORM), strict=True):
        assert when == at and new + again == pytest.approx(sent) and answered == good
        assert good + nobody <= max(1.0, good) + 1e-9 and min(new, again, nobody) >= 0
    assert max(new for _, new, *_ in flows(given, STORM)) <= STORM.spike


def test_the_storm_does_not_end():
    motion = retry_loop(points(STORM), STORM)
    assert "retries are still" in motion.title and motion.end == 80.0
    last = {thing.label: thing.points[-1][1] for thing in motion.things if isinstance(thing, Counter)}
    assert last["retries"] > 100 and last["in time"] < 20 and last["for nobody"] > 80


def test_with_a_budget_it_does():
    calm = replace(STORM, budget=0.1)
    motion = retry_loop(points(calm), calm)
    assert "answered in time again" in motion.title


def test_a_dot_is_its_share_of_the_work():
    motion = retry_loop(points(STORM), STORM)
    looks = [(thing.colour, thing.shape) for thing in motion.things if isinstance(thing, Token)]
    assert len(looks) == pytest.approx(DOTS, abs=4)
    whole = [sum(flow[k] for flow in flows(points(STORM), STORM)) for k in (1, 2, 3, 4)]
    for look, share in zip((NEW, RETRY, GOOD, LATE), whole, strict=True):
        assert looks.count(look) == pytest.approx(DOTS * share / sum(whole), abs=1.5)
