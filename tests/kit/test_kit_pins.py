"""Pinned points: what a list of them may be, and that it goes through an instrument like any dial."""

import pytest

from ironlaw import kit
from ironlaw.kit.instrument import Instrument
from ironlaw.widget.dials import settle, why_not

DIAL = kit.pins("pins", "Pinned points", ("n", "device"), "here", most=2)
PIN = {"name": "mine", "values": {"n": 4, "device": "h100"}}


def test_a_pin_has_a_name_and_settings_of_known_dials():
    assert DIAL["type"] == "pins" and DIAL["value"] == [] and DIAL["suggest"] == "here"
    for good in ([], [PIN], [PIN, {"name": "", "values": {}}]):
        assert why_not(DIAL, good) is None


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        ([PIN] * 3, "at most 2"),
        ("mine", "list"),
        (None, "list"),
        ([{"name": "mine"}], "settings of n, device"),
        ([{"name": 7, "values": {}}], "a name"),
        ([{"name": "x" * 41, "values": {}}], "at most 40 letters"),
        ([{"name": "mine", "values": {"colour": 1}}], "settings of n, device"),
        (["mine"], "a name"),
    ],
)
def test_what_is_no_list_of_pins_is_refused_with_the_reason(value, reason):
    assert reason in why_not(DIAL, value)
    stand, moved = settle([DIAL], {"pins": value})
    assert stand == {"pins": []} and (value is None or reason in moved["pins"])


def test_pins_reach_the_view_and_what_a_new_one_is_called_follows_the_dials():
    def dials(values):
        return [kit.span("n", "N", 1, 8, 1), kit.pins("pins", "Pins", ("n",), f"N {values.get('n', 1)}")]

    made = Instrument(
        "act", "Title", dials, lambda values: kit.View(note=str([pin["name"] for pin in values["pins"]]), after="<p>below</p>")
    )
    piece = made.piece
    assert piece.view["note"] == "[]" and piece.view["dials"]["pins"] == {"suggest": "N 1"} and piece.view["after"] == "<p>below</p>"
    piece.state = {"dials": {"n": 5, "pins": [{"name": "five", "values": {"n": 5}}]}, "seq": 1}
    assert piece.view["note"] == "['five']" and piece.view["dials"]["pins"] == {"suggest": "N 5"}
