"""The short way from a dial to its picture: the same view, nothing kept, nothing said to strangers."""

import gc
import json
import threading

import pytest

from ironlaw.kit.instrument import Instrument, View
from ironlaw.widget import direct_answers
from ironlaw.widget.dials import choice, span
from ironlaw.widget.piece import Piece

SPEC = {"id": "act1", "dials": [{"id": "batch", "value": 1}]}


@pytest.fixture(autouse=True)
def served(monkeypatch):
    """A server that has the socket."""
    monkeypatch.setattr(direct_answers, "OFFERED", threading.Event())
    direct_answers.OFFERED.set()


def test_without_such_a_server_nothing_is_offered():
    direct_answers.OFFERED.clear()
    assert "direct" not in Piece("instrument", SPEC, lambda state: {}).spec


def ask(token: str, state: dict) -> dict:
    return json.loads(direct_answers.reply(json.dumps({"piece": token, "state": state})))


def test_the_view_is_the_one_that_the_ordinary_way_gives():
    piece = Piece("instrument", SPEC, lambda state: {"figures": [{"x": state["dials"]["batch"]}], "formula": "T"})
    quick = ask(piece.spec["direct"], {"dials": {"batch": 8}, "seq": 1})
    assert quick == {"piece": piece.spec["direct"], "view": {"figures": ['{"x":8}'], "formula": "T", "seq": 1}}
    assert piece.state == {"dials": {"batch": 1}}
    assert piece.view["figures"] == [{"x": 1}]
    piece.state = {"dials": {"batch": 8}, "seq": 2}
    assert piece.view == {"figures": [{"x": 8}], "formula": "T", "seq": 2}


def test_what_python_shows_next_is_no_older_than_what_was_looked_at():
    piece = Piece("instrument", SPEC, lambda state: {})
    ask(piece.spec["direct"], {"dials": {"batch": 8}, "seq": 7})
    piece.refresh()
    assert piece.view["seq"] == 7


def test_a_locked_instrument_tells_nothing():
    piece = Piece("instrument", {**SPEC, "locked": "Commit first."}, lambda state: {"formula": "the answer"})
    assert ask(piece.spec["direct"], {"dials": {"batch": 8}, "seq": 1})["view"] == {"seq": 1}


def test_a_mistake_is_told_like_any_other():
    def compute(state):
        raise RuntimeError("a bug")

    piece = Piece("instrument", SPEC, compute)
    assert "a bug" in ask(piece.spec["direct"], {"dials": {}, "seq": 1})["view"]["error"]["message"]


def test_readouts_wait_until_the_dials_rest():
    seen = []
    made = Instrument(
        "act1", "Act", lambda values: [span("batch", "Batch", 1, 64, 1)], lambda values: View(readouts={"batch": values["batch"]}),
        on_readouts=lambda readouts: seen.append(readouts["batch"]),
    )  # fmt: skip
    before = len(seen)
    assert ask(made.piece.spec["direct"], {"dials": {"batch": 8}, "seq": 1})["view"]["error"] is None
    assert len(seen) == before
    made.piece.state = {"dials": {"batch": 8}, "seq": 2}
    assert seen[-1] == 8


def test_where_a_turn_may_go_next_is_shown_ahead_and_nothing_of_it_is_kept():
    told = []
    made = Instrument(
        "act1", "Act", lambda values: [span("batch", "Batch", 1, 64, 1)], lambda values: View(note=f"batch {values['batch']}"),
        on_readouts=told.append,
    )  # fmt: skip
    token, before = made.piece.spec["direct"], len(told)
    ask(token, {"dials": {"batch": 8}, "seq": 1, "moving": True})
    ahead = ask(token, {"dials": {"batch": 12}, "seq": 1, "moving": True, "ahead": True})
    assert made.values == made.requested == {"batch": 8} and len(told) == before
    there = ask(token, {"dials": {"batch": 12}, "seq": 2, "moving": True})
    assert ahead["ahead"] == {"batch": 12}
    assert ahead["view"] | {"seq": 2} == there["view"]


def test_where_a_dial_could_not_stay_there_is_no_view_ahead():
    """That it moved is said once, when the turn gets there."""

    def dials(values):
        disabled = {"fp8": "no FP8"} if values.get("batch", 1) > 4 else {}
        return [span("batch", "Batch", 1, 64, 1), choice("format", "Format", [("fp16", "FP16"), ("fp8", "FP8")], disabled=disabled)]

    made = Instrument("act1", "Act", dials, lambda values: View(note=values["format"]))
    token = made.piece.spec["direct"]
    ask(token, {"dials": {"batch": 4, "format": "fp8"}, "seq": 1, "moving": True})
    on = {"batch": 5, "format": "fp8"}
    assert ask(token, {"dials": on, "seq": 1, "moving": True, "ahead": True})["view"].keys() == {"seq"}
    assert "no FP8" in ask(token, {"dials": on, "seq": 2, "moving": True})["view"]["error"]["message"]


@pytest.mark.parametrize(
    "text", ["", "no json", "[]", "{}", '{"piece": 1}', '{"piece": "x", "state": 3}', '{"piece": "stranger", "state": {}}']
)
def test_what_is_no_question_gets_no_view(text):
    assert json.loads(direct_answers.reply(text)).keys() == {"error"}


def test_only_instruments_can_be_asked_and_only_while_they_are_there():
    assert "direct" not in Piece("reflect", {"id": "r"}).spec
    piece = Piece("instrument", SPEC, lambda state: {})
    other = Piece("instrument", SPEC, lambda state: {})
    token = piece.spec["direct"]
    assert token != other.spec["direct"]
    assert len(token) >= 20
    assert "view" in ask(token, {"dials": {}})
    piece.close()
    del piece
    gc.collect()
    assert "out of date" in ask(token, {"dials": {}})["error"]


def test_two_threads_take_turns():
    inside, most = [0], [0]

    def compute(state):
        inside[0] += 1
        most[0] = max(most[0], inside[0])
        threading.Event().wait(0.01)
        inside[0] -= 1
        return {}

    piece = Piece("instrument", SPEC, compute)
    turns = [threading.Thread(target=ask, args=(piece.spec["direct"], {"dials": {}, "seq": n})) for n in range(4)]
    for turn in turns:
        turn.start()
    piece.refresh()
    for turn in turns:
        turn.join()
    assert most[0] == 1
