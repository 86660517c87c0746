"""Conversations in a cache: every stay of the engine's run is a row, no two of them on each other, and the cache is as full as it says."""

import pytest

from ironlaw.engine.serving.llm.outcome import Moment, Outcome, Stay
from ironlaw.engine.serving.llm.requests import Request
from ironlaw.pictures.moving.conversations import MOST, conversations, held, placed
from ironlaw.widget.motion import Bar, Counter


def outcome(stays, moments=None, blocks=100):
    """Each request arrives when it is let in."""
    requests = tuple(Request(stay.begin, 10, 10) for stay in stays)
    moments = moments or (Moment(0.0, 20.0, 1, 1, 0, 25, 0, 1.0),)
    return Outcome(requests, tuple(s.decode for s in stays), tuple(s.end for s in stays), (), tuple(moments), blocks, stays=tuple(stays))


STAYS = [Stay(0, 0.0, 1, 10, 1.0, 6.0), Stay(1, 2.0, 1, 10, 3.0, 5.0), Stay(2, 5.5, 1, 10, 6.0, 20.0), Stay(3, 7.0, 1, 10, 8.0, 9.0)]


def test_a_row_is_taken_again_when_it_is_free():
    assert [(row, stay.place) for row, stay in placed(STAYS, 20.0)] == [(0, 0), (1, 1), (1, 2), (0, 3)]
    assert [held(placed(STAYS, 20.0))(at) for at in (0.0, 2.5, 5.2, 5.7, 8.0)] == [1, 2, 1, 2, 2]


def test_prompt_and_answer_are_bars_at_their_own_times():
    motion = conversations(outcome(STAYS), 10.0)
    bars = [(thing.start, thing.end, thing.colour) for thing in motion.things if isinstance(thing, Bar)]
    assert bars[:4] == [(0.0, 1.0, "compute"), (1.0, 6.0, "memory"), (2.0, 3.0, "compute"), (3.0, 5.0, "memory")]
    assert max(end for _, end, _ in bars) == 10.0
    assert motion.title == "After 10\u202fs, 1 conversation fills 25% of the cache"
    used = next(thing for thing in motion.things if isinstance(thing, Counter) and thing.unit == "%")
    assert used.points[-1][1] == pytest.approx(25)


def test_more_than_have_room_end_it():
    many = [Stay(i, 0.1 * i, 1, 10, 0.1 * i + 0.05, 0.1 * i + 3.0) for i in range(MOST + 100)]
    motion = conversations(outcome(many, [Moment(0.1 * i, 0.1, 1, 1, 0, 1, 0, 1.0) for i in range(400)]), 100.0)
    assert motion.end == pytest.approx(0.1 * MOST)


def test_who_made_room_is_told_of():
    back = [Stay(0, 0.0, 1, 10, 1.0, 4.0), Stay(0, 6.0, 1, 10, 7.0, 9.0)]
    run = Outcome((Request(0.0, 10, 10),), (1.0,), (9.0,), (), (Moment(0.0, 9.0, 1, 1, 0, 100, 0, 1.0),), 100, stays=tuple(back))
    assert any(at == 4.0 and "makes room" in text for at, text in conversations(run, 20.0).events)
