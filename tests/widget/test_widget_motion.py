"""A moving picture: what can't be drawn is an error where it is made, and what is drawn is told in words, too."""

from dataclasses import replace

import pytest

from ironlaw.errors import BadValue, IronlawError
from ironlaw.kit.instrument import Instrument, View
from ironlaw.kit.picture_caption import moving
from ironlaw.widget import dials
from ironlaw.widget.motion import Bar, Counter, Motion, Token, spread, stepped

FILM = Motion(
    "film", "Two kernels", 10.0, 40.0, (Bar(1.0, 3.0, 0, 20, "compute"), Bar(4.0, 10.0, 0, 20, "memory")), ((0.0, "It begins."),), "Two."
)


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"events": ()}, "events"),
        ({"title": " "}, "title"),
        ({"end": 0.0}, "above 0"),
        ({"events": ((2.0, "b"), (1.0, "a"))}, "order of time"),
        ({"events": ((11.0, "late"),)}, "is at 11"),
        ({"things": (Bar(1.0, 12.0, 0, 9, "compute"),)}, "is at 12"),
        ({"things": (Token(((0.0, 0, 0), (-1.0, 1, 0)), "memory"),)}, "is at -1"),
        ({"things": (Bar(1.0, 2.0, 0, 9, "mauve"),)}, "mauve"),
        ({"things": (Token(((0.0, 0, 0),), "memory", "star"),)}, "star"),
        ({"things": (Bar(1.0, 2.0, 0, 9, "compute"),) * 701}, "701 things"),
    ],
)  # fmt: skip
def test_what_can_not_be_drawn(change, why):
    with pytest.raises(IronlawError, match=why):
        replace(FILM, **change)


def test_things_cross_by_kind_and_the_strip_ends_with_the_run():
    sent = FILM.to_dict()
    assert sent["bars"] == [[1.0, 3.0, 0, 20, "compute", "", False], [4.0, 10.0, 0, 20, "memory", "", False]]
    assert sent["stills"] == [2.5, 5.0, 7.5, 10.0] == list(spread(10.0)) and sent["begins"] == 10.0
    assert "tokens" not in sent and "counters" not in sent


def test_a_count_goes_up_at_its_times():
    assert stepped([3.0, 1.0, 9.0], 5.0) == ((0.0, 0.0), (1.0, 1.0), (3.0, 2.0))
    Counter("done", stepped([3.0], 5.0), steps=True)


def test_nothing_that_moves_is_made_while_a_dial_is_turned():
    made = []

    def motion(values):
        made.append(values["n"])
        return [replace(FILM, end=10.0 * values["n"])]

    parts = Instrument("act1", "Try it", lambda values: [dials.span("n", "N", 1, 9, 1)], moving(lambda values: View(), motion))
    assert parts.piece.view["motions"][0]["end"] == 10.0
    parts.piece.state = {"dials": {"n": 3}, "moving": True, "seq": 1}
    assert "motions" not in parts.piece.view and made == [1]
    parts.piece.state = {"dials": {"n": 3}, "seq": 2}
    assert parts.piece.view["motions"][0]["end"] == 30.0 and made == [1, 3]


def test_an_error_says_which_picture():
    with pytest.raises(BadValue, match="'film'"):
        replace(FILM, text="")
