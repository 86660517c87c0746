"""Pictures of a whole system: tornado, margins, cascade; each by what it draws and what its table says."""

import math

import pytest

from ironlaw.engine.levers import Bar
from ironlaw.errors import BadValue
from ironlaw.pictures.cascade import Step, cascade
from ironlaw.pictures.margins import Margin, margins
from ironlaw.pictures.tornado_picture import tornado

NAMES = {"flops": "FLOP/s", "wire": "the wire"}


def marks(figure, kind):
    return {dict(mark.more)["id"]: dict(mark.at) for mark in figure.marks if mark.type == kind}


def test_a_tornado_meets_at_what_is_now():
    bars = [Bar("flops", 55.0, 45.5, -0.99), Bar("wire", 50.0, 50.0, 0.0)]
    figure = tornado(bars, 50.0, "", "Days", names=NAMES, change=0.1, chosen="wire")
    drawn = marks(figure, "bar")
    assert (drawn["flops-less"]["x0"], drawn["flops-less"]["x1"]) == (50.0, 55.0)
    assert (drawn["flops-more"]["x0"], drawn["flops-more"]["x1"]) == (45.5, 50.0)
    assert marks(figure, "rule")["now"]["x"] == 50.0 and figure.y.names == ("FLOP/s", "the wire")
    assert figure.table.rows[0][3] == "−0.99" and figure.table.rows[1][3] == "0"
    assert any("you said" in mark.label for mark in figure.marks if dict(mark.more).get("id") == "wire-lever")
    with pytest.raises(BadValue, match="at least one"):
        tornado([], 50.0, "", "Days", names={}, change=0.1)


def test_margins_stand_on_the_side_that_they_are_on():
    figure = margins(
        [Margin("days", 0.2, "48", "60"), Margin("carbon", -0.5, "3 kt", "2 kt"), Margin("first token", -math.inf, "∞", "2 s")]
    )
    drawn = marks(figure, "bar")
    assert (drawn["days"]["x0"], drawn["days"]["x1"]) == (0.0, 20.0) and (drawn["carbon"]["x0"], drawn["carbon"]["x1"]) == (-50.0, 0.0)
    assert drawn["first token"]["x0"] == -100.0
    assert [row[4] for row in figure.table.rows] == ["yes", "no", "no"] and "Broken: carbon" in figure.text
    with pytest.raises(BadValue, match="at least one"):
        margins([])


def test_a_cascade_multiplies():
    figure = cascade("peak", 100.0, [Step("kernels", 0.5), Step("bubble", 0.8), Step("nothing lost", 1.0)], "", "Tokens")
    drawn = marks(figure, "bar")
    assert (drawn["kernels"]["x1"], drawn["bubble"]["x1"], drawn["nothing lost"]["x1"]) == (50.0, 40.0, 40.0)
    assert (drawn["bubble-lost"]["x0"], drawn["bubble-lost"]["x1"]) == (40.0, 50.0) and "nothing lost-lost" not in drawn
    assert figure.table.rows[-1][2].startswith("40")
    with pytest.raises(BadValue, match="shares up to 1"):
        cascade("peak", 100.0, [Step("kernels", 1.5)], "", "Tokens")
