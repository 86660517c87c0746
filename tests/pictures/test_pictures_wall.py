"""A wall has a square for everything that was counted, and no more."""

import pytest

from ironlaw.errors import BadValue
from ironlaw.pictures.wall import LINES, wall
from ironlaw.widget.piece import plain


def test_a_square_each_and_a_share_is_a_place():
    figure = wall({"all": 100, "none": 0, "some": 40}, 100, "t", of="image")
    drawn = plain(figure)["marks"]
    cells = [mark for mark in drawn if mark["type"] == "cells"]
    assert {mark["id"]: mark["count"] for mark in cells} == {"all-right": 100, "none-wrong": 100, "some-right": 40, "some-wrong": 60}
    columns, lines = cells[0]["grid"]
    assert lines == LINES and columns * lines >= 100 > (columns - 1) * lines
    # the last column is not full: 100% stands where the hundredth square would be if it were
    assert cells[0]["x1"] == pytest.approx(columns * lines) and all(
        mark.get("hollow", False) == (mark["name"] == "right") for mark in cells
    )
    assert "some: 40 of 100 images are right" in figure.text


def test_more_right_than_there_are():
    with pytest.raises(BadValue, match="between 0 and 5"):
        wall({"a": 6}, 5, "t")
