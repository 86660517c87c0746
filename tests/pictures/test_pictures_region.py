"""A plane and its boundary: which side a case is on, what is cut off at the edge, and the same figures in words."""

import math

import pytest

from ironlaw.engine.rebound import threshold
from ironlaw.errors import BadValue
from ironlaw.pictures.region import Case, inside, region
from ironlaw.widget.figure import Axis

X, Y = Axis("log", "share", "%", (1.0, 100.0)), Axis("log", "elasticity", "", (0.1, 100.0))
SHARES = (1.0, 3.0, 10.0, 30.0, 100.0)
EDGE = [(share, threshold(2, share / 100)) for share in SHARES]


def drawn(*cases, **more):
    return region(EDGE, X, Y, "Where it backfires", above="more", below="less", cases=cases, **more)


def marks(figure):
    return {mark["id"]: mark for mark in figure.to_dict()["marks"]}


def test_areas_meet_at_the_boundary():
    shown = marks(drawn())
    assert [low for _, low, _ in shown["above"]["points"]] == [high for _, _, high in shown["below"]["points"]]
    assert shown["above"]["points"][-1][1] == pytest.approx(1.0) and all(top == 100.0 for *_, top in shown["above"]["points"])
    assert EDGE[0][1] > 100 and shown["boundary"]["points"][0][0] == 3.0  # what is beyond the axis is not drawn along its edge


def test_sides():
    limit = threshold(2, 0.3)
    assert Case("a", 30, limit + 1, limit).side("more", "less") == "more"
    assert Case("a", 30, limit, limit).side("more", "less") == "less"
    assert Case("a", 30, limit + 1, limit, low=limit - 1).side("more", "less") == "less or more"
    assert Case("a", 30, 9.0, math.inf, low=1.0).side("more", "less") == "less"


def test_cases_are_dots_with_their_band():
    limit = threshold(2, 0.3)
    figure = drawn(Case("ours", 30, 500.0, limit, low=0.0, chosen=True), Case("theirs", 10, 1.5, threshold(2, 0.1), source="a paper"))
    shown = marks(figure)
    assert (shown["now"]["x"], shown["now"]["y"]) == (30, 100.0) and shown["span-ours"]["points"] == [[30, 0.1], [30, 100.0]]
    assert "a paper" in shown["case-theirs"]["hover"] and "span-theirs" not in shown
    assert [row[-1] for row in figure.table.rows] == ["less or more", "less"] and "ours, at 30" in figure.text


def test_other_boundaries_are_lines():
    shown = marks(drawn(others={"both fall": [(1.0, 1.0), (100.0, 1.0)]}))
    assert shown["line-both fall"]["points"] == [[1.0, 1.0], [100.0, 1.0]]
    assert inside([(1.0, 500.0), (2.0, 400.0)], 100.0) == [(1.0, 100.0), (2.0, 100.0)]


@pytest.mark.parametrize(
    ("change", "words"), [({"x": Axis("log", "share")}, "domain"), ({"y": Axis("log", "e")}, "domain"), ({"boundary": EDGE[:1]}, "two")]
)
def test_bad_input_says_what_to_give(change, words):
    given = {"boundary": EDGE, "x": X, "y": Y} | change
    with pytest.raises(BadValue, match=words):
        region(**given, title="t", above="more", below="less")
