"""Who sends when: every message a line, nothing drawn that is not said."""

import pytest

from ironlaw.engine.cluster.schedule_replay import step_ends
from ironlaw.engine.cluster.schedules import steps
from ironlaw.errors import BadValue
from ironlaw.pictures.spacetime import ADDED, KEPT, spacetime

NAMES = [str(rank) for rank in range(4)]


def test_every_message_is_a_line_from_its_sender_to_its_receiver():
    schedule = steps("binomial", 4)
    ends = step_ends(schedule, 1e6, 0.0, 1e6)  # a second a step
    drawn = spacetime(schedule, ends, NAMES, 1e6, "Tree", whole=8.0, now=2.0).to_dict()
    lines = {mark["id"]: mark for mark in drawn["marks"] if mark["type"] == "line" and not mark["id"].startswith("rank")}
    assert [(i, mark["colour"], mark["points"]) for i, mark in lines.items()] == [
        ("0-1-0", ADDED, [[0, 1], [12.5, 0]]), ("0-3-2", ADDED, [[0, 3], [12.5, 2]]), ("1-2-0", ADDED, [[12.5, 2], [25, 0]]),
        ("2-0-2", KEPT, [[25, 0], [37.5, 2]]), ("3-0-1", KEPT, [[37.5, 0], [50, 1]]), ("3-2-3", KEPT, [[37.5, 2], [50, 3]]),
    ]  # fmt: skip
    assert next(mark for mark in drawn["marks"] if mark["id"] == "now")["x"] == 25
    assert drawn["table"]["rows"][0][:2] == ["1", "1 to 0, 3 to 2"] and "; 6 messages" in drawn["text"]


def test_every_step_needs_its_end():
    with pytest.raises(BadValue, match="1 ends for 4 steps"):
        spacetime(steps("binomial", 4), (1.0,), NAMES, 1e6, "Tree", whole=1.0)
