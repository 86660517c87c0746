"""Chunks on their way: every message of the schedule is a dot in its step, and a rank has the sum when the engine says so."""

import math

import pytest

from ironlaw.engine.cluster.schedule_replay import step_ends
from ironlaw.engine.cluster.schedules import SCHEDULES, steps
from ironlaw.pictures.moving.chunks import LARGEST, Played, chunks
from ironlaw.pictures.spacetime import ADDED, KEPT
from ironlaw.widget.motion import Token


def played(name, ranks=8, size=1e6, alpha=5e-6, beta=50e9):
    schedule = steps(name, ranks, 4)
    ends = step_ends(schedule, size, alpha, beta, switch=ranks if name == "in_network" else None)
    return Played(name, ranks, schedule, ends, name == "in_network")


@pytest.mark.parametrize("name", SCHEDULES)
def test_every_message_is_a_dot_in_its_step(name):
    run = played(name)
    motion = chunks([run], 1e6)
    dots = [thing for thing in motion.things if isinstance(thing, Token) and thing.shape == "diamond"]
    begins = (0.0, *run.ends)
    wanted = [(begins[i], run.ends[i], ADDED if send.add else KEPT) for i, step in enumerate(run.schedule.steps) for send in step]
    assert [(dot.path[0][0], dot.path[-1][0], dot.colour) for dot in dots] == wanted
    assert motion.end == run.ends[-1]
    last = [run.whole(rank) for rank in range(8)]
    assert max(last) == run.seconds and min(last) > 0


def test_a_dots_area_is_its_share_of_the_bytes():
    ring, tree = (next(t.size for t in chunks([played(name)], 1e6).things if isinstance(t, Token) and t.shape == "diamond")
                  for name in ("ring", "binomial"))  # fmt: skip
    assert (tree, ring) == (LARGEST, pytest.approx(LARGEST / math.sqrt(8)))


def test_both_run_on_one_clock():
    motion = chunks([played("ring"), played("binomial")], 1e6)
    assert motion.end == max(played("ring").seconds, played("binomial").seconds)
    assert motion.title == "Ring done after 105\u202fµs, binomial after 150\u202fµs"  # 14 × (5 + 2.5) µs, 6 × (5 + 20) µs
