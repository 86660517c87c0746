"""The frontier as a picture: what is shaded, what is named, and the same in words."""

import pytest

from ironlaw.engine.numerics.pareto_2d import Point
from ironlaw.errors import BadValue
from ironlaw.pictures.frontier_picture import Budget, scatter
from ironlaw.widget.figure import Axis

POINTS = [Point("a", 1e9, 30.0), Point("b", 2e9, 10.0), Point("c", 2.5e9, 12.0), Point("d", 4e9, 5.0)]
X, Y = Axis("log", "file", "B", (1e8, 1e10)), Axis("log", "perplexity", "", (1.0, 100.0))


def marks(figure):
    return {dict(mark.more).get("id", ""): mark for mark in figure.marks}


def test_what_is_dominated_is_shaded_and_says_by_what():
    figure = scatter(POINTS, X, Y, "Frontier", chosen="c")
    by_id = marks(figure)
    assert (by_id["dot-a"].colour, by_id["now"].colour, by_id["winner"].label) == ("ink", "accent", "b")
    assert "dominated by b" in by_id["now"].hover and "on the frontier" in by_id["dot-d"].hover
    assert by_id["line"].points == ((1e9, 30.0), (2e9, 30.0), (2e9, 10.0), (4e9, 10.0), (4e9, 5.0))  # a staircase, without c
    assert (
        "3 of 4 configurations are on the frontier" in figure.text and "c has file 2.5" in figure.text and "dominated by b" in figure.text
    )
    assert [row[3] for row in figure.table.rows] == ["on the frontier", "on the frontier", "dominated by b", "on the frontier"]
    assert "winner" not in marks(scatter(POINTS, X, Y, "Frontier", chosen="d"))


def test_the_box_is_what_the_budget_allows():
    figure = scatter(POINTS, X, Y, "Frontier", chosen="b", budget=Budget(3e9, 20.0, "phone", "ceiling"), more={"b": ["made by hand"]})
    by_id = marks(figure)
    assert dict(by_id["box"].at) == {"x0": 1e8, "x1": 3e9, "y0": 1.0, "y1": 20.0}
    assert by_id["cost-limit"].label.startswith("phone 3") and by_id["harm-limit"].label == "ceiling 20"
    assert "2 fit the budget, the best of them b" in figure.text and "made by hand" in by_id["now"].hover
    assert "0 fit the budget." in scatter(POINTS, X, Y, "Frontier", budget=Budget(1e8, 1.0)).text
    assert "box" not in marks(scatter(POINTS, X, Y, "Frontier", budget=Budget(5e7)))  # left of the axis: nothing is allowed
    assert dict(marks(scatter(POINTS, X, Y, "F", budget=Budget(harm=20.0)))["box"].at)["x1"] == 1e10


def test_axes_stand_still_and_something_is_drawn():
    with pytest.raises(BadValue, match="domain"):
        scatter(POINTS, Axis("log", "file", "B"), Y, "Frontier")
    with pytest.raises(BadValue, match="no configurations"):
        scatter([], X, Y, "Frontier")
