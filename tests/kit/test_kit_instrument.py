"""Dials and the gated instrument."""

import pytest
from as_browser import send

from ironlaw.errors import BadValue
from ironlaw.kit.instrument import Instrument, View
from ironlaw.widget import dials


def test_a_dial_stands_at_a_value_it_can_have():
    made = [
        dials.choice("fmt", "Format", [("a", "A"), ("b", "B")], "a", {"a": "no A here"}),
        dials.span("n", "Batch", 1, 256, 1, log=True),
        dials.switch("on", "On"),
        dials.select("s", "S", [(1, "one"), (2, "two")], 2),
    ]
    assert [dial["value"] for dial in made] == ["b", 1, False, 2]
    stand, moved = dials.settle(made, {"fmt": "a", "n": 500, "on": "yes", "s": 1})
    assert stand == {"fmt": "b", "n": 1, "on": False, "s": 1}
    assert moved["fmt"] == "no A here" and "1 to 256" in moved["n"] and set(moved) == {"fmt", "n", "on"}
    assert dials.settle(made, {}) == ({"fmt": "b", "n": 1, "on": False, "s": 2}, {})


def test_a_dial_without_any_choice_is_the_author_s_mistake():
    with pytest.raises(BadValue, match="no option"):
        dials.choice("x", "X", [("a", "A")], "a", {"a": "why"})
    with pytest.raises(BadValue, match="outside"):
        dials.span("x", "X", 1, 2, 3)


def given(values):
    lacking = {"fp16": "the tiny one has no FP16"} if values.get("device") == "tiny" else {}
    return [
        dials.select("device", "Device", [("big", "Big"), ("tiny", "Tiny")], "big"),
        dials.choice("fmt", "Format", [("fp16", "FP16"), ("fp32", "FP32")], "fp16", lacking),
    ]


def made(locked=None, **more):
    return Instrument(
        "act1",
        "Title",
        given,
        lambda values: View(note=f"{values['device']} {values['fmt']}", readouts=dict(values)),
        locked=locked,
        **more,
    )


def test_locked_it_computes_nothing_and_shows_nothing():
    calls = []
    instrument = Instrument("act1", "T", given, lambda values: calls.append(1) or View(note="secret"), locked="Commit first.")
    send(instrument.piece, dials={"device": "tiny", "fmt": "fp16"})
    assert not calls and set(instrument.piece.view) == {"seq"}
    instrument.open()
    assert calls and instrument.piece.view["note"] == "secret" and instrument.piece.spec["locked"] is None


def test_a_dial_turns_the_view():
    instrument = made()
    assert instrument.piece.view["note"] == "big fp16"
    assert send(instrument.piece, dials={"device": "big", "fmt": "fp32"})["note"] == "big fp32"


def test_a_format_that_the_device_lacks_is_disabled_with_the_reason_and_the_dial_moves():
    instrument = made()
    send(instrument.piece, dials={"device": "tiny", "fmt": "fp16"})
    view = instrument.piece.view
    assert view["note"] == "tiny fp32"
    assert view["error"] == {"dial": "fmt", "message": "the tiny one has no FP16"}
    assert view["dials"]["fmt"]["options"][0]["disabled"] == "the tiny one has no FP16"
    assert view["moved"] == {"fmt": {"asked": "fp16", "value": "fp32"}} and instrument.values == {"device": "tiny", "fmt": "fp32"}
    assert instrument.piece.spec["dials"][1]["options"][0]["disabled"] is None  # what is kept is judged without today's device
    assert send(instrument.piece, dials={"device": "tiny", "fmt": "fp16"})["error"] is None  # said once
    assert send(instrument.piece, dials={"device": "big", "fmt": "fp16"})["note"] == "big fp16"  # what the device changed comes back
    assert instrument.piece.view["moved"] == {}


def test_it_begins_with_what_was_saved_where_that_is_still_possible():
    seen = []
    instrument = made(on_readouts=lambda readouts: seen.append(dict(readouts)), saved={"device": "tiny", "fmt": "fp64"})
    assert instrument.piece.state["dials"]["device"] == "tiny"
    send(instrument.piece, dials={"device": "big", "fmt": "fp32"})
    assert seen == [{"device": "tiny", "fmt": "fp32"}, {"device": "big", "fmt": "fp32"}]


def test_a_new_context_moves_the_dials_that_follow_it_and_keeps_the_rest():
    where = {"device": "big"}

    def follow(values):
        asked = values.get("device") or where["device"]
        return [dials.select("device", "Device", [("big", "Big"), ("tiny", "Tiny")], asked), *given({**values, "device": asked})[1:]]

    instrument = Instrument("act2", "T", follow, lambda values: View(note=str(values)), store="lab/act2@")
    send(instrument.piece, dials={"device": "big", "fmt": "fp32"})
    where["device"] = "tiny"
    instrument.follow(("device",))
    assert instrument.values == {"device": "tiny", "fmt": "fp32"} and instrument.piece.spec["store"] == "lab/act2@"
    assert "tiny" in instrument.piece.view["note"]


def test_an_author_s_fault_stands_beside_the_control():
    def broken(values):
        raise BadValue("no such thing; choose another")

    instrument = Instrument("act1", "T", given, broken)
    assert instrument.piece.view["error"]["message"] == "no such thing; choose another"


def test_what_a_moving_dial_reads_is_told_once_it_rests():
    told = []
    instrument = made(on_readouts=lambda readouts: told.append(dict(readouts)))
    told.clear()
    send(instrument.piece, dials={"device": "tiny", "fmt": "fp32"}, moving=True)
    assert instrument.piece.view["note"] == "tiny fp32" and not told  # the picture follows at once
    instrument.piece.state = {"dials": {"device": "tiny", "fmt": "fp32"}, "seq": 2}
    assert told == [{"device": "tiny", "fmt": "fp32"}]
