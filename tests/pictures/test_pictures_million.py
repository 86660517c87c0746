"""A ratio to scale: as many squares as it says, and one of them the small device."""

import pytest

from ironlaw.errors import BadValue
from ironlaw.pictures.million import MANY, Side, to_scale
from ironlaw.units import significant

LARGE, SMALL = Side("H100", "cloud"), Side("M7", "tiny")


def counted(figure, colour):
    return sum(dict(mark.more)["count"] for mark in figure.marks if mark.type == "cells" and mark.colour == colour)


@pytest.mark.parametrize("ratio", [1.0, 2.0, 19.4, 999.0, 1000.0])
def test_a_thousand_and_less_are_drawn_one_by_one(ratio):
    figure = to_scale(LARGE, SMALL, ratio, "Compute")
    assert counted(figure, "cloud") + counted(figure, "tiny") == round(ratio) and counted(figure, "tiny") == 1


@pytest.mark.parametrize("ratio", [19_780.0, 163_840.0, 989_000.0, 1e6])
def test_more_are_a_thousand_of_which_one_is_taken_apart(ratio):
    figure = to_scale(LARGE, SMALL, ratio, "Compute")
    assert counted(figure, "tiny") == counted(figure, "ink") == 1
    assert counted(figure, "cloud") == (MANY - 1) + (round(ratio / MANY) - 1)
    assert f"{significant(ratio / MANY)} each" in figure.note and "M7 is one" in figure.text


@pytest.mark.parametrize("ratio", [0.5, 3e6])
def test_what_is_no_number_of_squares_is_refused(ratio):
    with pytest.raises(BadValue, match="from 1 to two million"):
        to_scale(LARGE, SMALL, ratio, "Compute")
