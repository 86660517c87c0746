"""Requests as dots: at every moment as many wait, are served and are done as the engine's run says."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ironlaw.engine.serving.line import ORDERS, simulate
from ironlaw.pictures.moving.waiting_line import MOST, counts, requests, waiting_line
from ironlaw.widget.motion import Counter, Place, Token

gaps = st.lists(st.tuples(st.floats(0.01, 2), st.floats(0.01, 5)), min_size=2, max_size=40)


def run_of(pairs, servers, order="fifo"):
    arrivals, services, now = [], [], 0.0
    for gap, service in pairs:
        arrivals.append(now)
        services.append(service)
        now += gap
    return simulate(arrivals, services, servers, order)


@given(gaps, st.integers(1, 4), st.sampled_from(ORDERS))
def test_no_server_has_two_at_once_and_nobody_waits_beside_a_free_one(pairs, servers, order):
    run = run_of(pairs, servers, order)
    found = requests(run, servers)
    for one in found:
        others = [other for other in found if other is not one and other.server == one.server]
        assert all(other.start >= one.leave * (1 - 1e-9) or other.leave <= one.start * (1 + 1e-9) for other in others)
    for moment, inside in dict(run.steps).items():  # the last of those at one moment
        waiting, serving, _ = counts(found, moment)
        assert waiting + serving == inside and serving <= servers
        assert serving == servers or not waiting


def test_the_counters_are_the_runs_own_staircase():
    run = run_of([(1.0, 2.5)] * 20, 2)  # one a second for two servers of 2.5 s: the line grows
    motion = waiting_line(run, 2, 15.0)
    counters = {thing.label: dict(thing.points) for thing in motion.things if isinstance(thing, Counter)}
    held = dict.fromkeys(counters, 0.0)
    for moment, inside in dict(run.steps).items():
        if moment < 15.0:  # who comes at the end is not drawn
            held = {name: points.get(moment, held[name]) for name, points in counters.items()}
            assert held["waiting"] + held["being served"] == inside == held["arrived"] - held["done"]
    assert motion.title.endswith("2 are being served and 2 are waiting")


def test_every_server_and_every_request_is_drawn():
    motion = waiting_line(run_of([(1.0, 0.5)] * 10, 3), 3, 20.0)
    assert sum(isinstance(thing, Place) for thing in motion.things) == 3
    served = [thing for thing in motion.things if isinstance(thing, Token) and thing.colour == "compute"]
    assert [(token.path[0][0], token.path[-1][0]) for token in served] == [(i, i + 0.5) for i in range(10)]
    assert not [thing for thing in motion.things if isinstance(thing, Token) and thing.colour == "overhead"]  # nobody waits


def test_where_more_come_than_there_is_room_for_it_ends_before_them():
    motion = waiting_line(run_of([(0.1, 30.0)] * (MOST + 50), 1), 1, 60.0)
    assert motion.end == pytest.approx(0.1 * MOST) and "119 are waiting" in motion.title
