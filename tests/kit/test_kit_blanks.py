"""Blanks of a sentence, a number to commit, a second panel, and the dials that came with them."""

import pytest
from as_browser import send

from ironlaw.errors import BadRegistry, BadValue
from ironlaw.kit.blanks import blanks
from ironlaw.kit.challenge import challenge, entry
from ironlaw.kit.context import Context, toggle
from ironlaw.kit.instrument import Instrument, View
from ironlaw.kit.lab_check import problems
from ironlaw.kit.question_sheet import Option, Question, load
from ironlaw.kit.reveal import points
from ironlaw.registry.machines import hardware
from ironlaw.widget import dials

LAB = "_template"
COUNT = 'round(hardware("h100_sxm").bandwidth / hardware("a100_80gb_sxm").bandwidth * 100) / 100'  # 3.35 / 2.039


def blank(name, right):
    options = tuple(Option(letter, letter, letter.upper(), "" if letter == right else f"thinks_{letter}") for letter in "abc")
    return Question(name, "blank", f'min("{right}", "z")', options)


@pytest.fixture
def sentence(ledger):
    calls = []
    questions = [blank("first", "b"), blank("second", "a")]
    feedback = {q.name: {o.id: f"{q.name} {o.id} because" for o in q.options} for q in questions}
    return blanks(questions, "One … two …", ["one", "two"], feedback, ledger, LAB, lambda: calls.append(1)), calls


def test_blanks_are_answered_together_and_kept_one_by_one(sentence, ledger):
    piece, calls = sentence
    assert piece.view["answered"] is None and "because" not in str(piece.spec)
    view = send(piece, choice=[1, 2], answer=1)
    assert view["answered"]["choice"] == [1, 2] and view["answered"]["right"] is False and calls == [1]
    assert "first b because" in view["answered"]["feedback"] and "second c because" in view["answered"]["feedback"]
    assert [ledger.answers(LAB, name)[0].payload["misconception"] for name in ("first", "second")] == [None, "thinks_c"]
    assert send(piece, choice=[1, 0], answer=2)["answered"]["right"] is True


@pytest.mark.parametrize("choice", [None, [1], [1, None], [1, 7]])
def test_a_half_filled_sentence_keeps_nothing(sentence, ledger, choice):
    piece, calls = sentence
    assert send(piece, choice=choice, answer=1)["error"] and not calls
    assert not ledger.answers(LAB, "first") and not ledger.answers(LAB, "second")


@pytest.fixture
def number(ledger):
    calls = []
    question = Question("count", "number", COUNT, (), tolerance=0.1, unit="times")
    made = challenge(question, "How often?", lambda value, right: f"{value} {right} secret", ledger, LAB, lambda: calls.append(1))
    return made, calls, ledger


def test_a_number_is_committed_once_and_judged_within_its_tolerance(number):
    piece, calls, ledger = number
    assert piece.view["committed"] is None and "secret" not in str(piece.view) and piece.spec["unit"] == "times"
    view = send(piece, value=1.5, commit=1)
    assert view["committed"] == {"value": 1.5} and view["right"] is True and "secret" in view["feedback"] and calls == [1]
    assert send(piece, value=9, commit=2)["committed"] == {"value": 1.5} and calls == [1]
    assert entry(ledger, LAB, "count").payload == {"question": "count", "value": 1.5, "correct": True}


@pytest.mark.parametrize("value", [None, 0, -3, float("nan"), float("inf"), True, "5"])
def test_what_is_no_number_is_refused(number, value):
    piece, calls, ledger = number
    assert "above 0" in send(piece, value=value, commit=1)["error"]["message"]
    assert entry(ledger, LAB, "count") is None and not calls


def test_how_near_counts():
    question = Question("count", "number", COUNT, (), tolerance=0.1)
    assert question.answer == 1.64
    assert [question.near(v) for v in (1.475, 1.477, 1.80, 1.81)] == [False, True, True, False]


def sheet(tmp_path, text):
    path = tmp_path / "lab_x" / "questions.toml"
    path.parent.mkdir()
    path.write_text(text)
    return load(path)


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ('[q]\nkind = "blank"\nkey = "round(1.0)"\noptions = [{ id = "a", value = 1 }]', "a blank has two to four"),
        ('[q]\nkind = "number"\nkey = "round(1.0)"\noptions = [{ id = "a", value = 1 }]', "a number has none"),
        ('[q]\nkind = "reflection"\nkey = "round(1.0)"\noptions = [{ id = "a", value = 1 }]', "a question has four"),
    ],
)
def test_how_many_options_a_kind_has(tmp_path, text, complaint):
    with pytest.raises(BadRegistry, match=complaint):
        sheet(tmp_path, text)


def test_a_number_carries_tolerance_and_unit(tmp_path):
    question = sheet(tmp_path, '[q]\nkind = "number"\nkey = "round(1.0)"\ntolerance = 0.2\nunit = "h"').questions["q"]
    assert (question.tolerance, question.unit, question.options) == (0.2, "h", ())


def test_the_check_asks_for_a_numbers_feedback(tmp_path):
    from ironlaw.kit.lab import LABS

    folder = tmp_path / "lab_numbers"
    folder.mkdir()
    for file in (LABS / "_template").iterdir():
        if file.is_file():
            (folder / file.name).write_text(file.read_text())
    with (folder / "questions.toml").open("a") as questions:
        questions.write(f"\n[guess]\nkind = \"number\"\ntolerance = 0.1\nkey = '{COUNT}'\n")
    told = " ".join(problems(folder))
    assert "no section [guess.question]" in told and "no section [guess.feedback]" in told


# --- dials


def test_a_chain_takes_what_its_palette_has():
    dial = dials.chain("c", "Chain", [("a", "A"), ("b", "B")], ["a"], most=3)
    assert dials.settle([dial], {"c": ["b", "b", "a"]}) == ({"c": ["b", "b", "a"]}, {})
    for wrong in ([], ["a"] * 4, ["x"], "a", None, [["a"]]):
        stand, moved = dials.settle([dial], {"c": wrong})
        assert stand == {"c": ["a"]} and (wrong is None or "1 to 3 of a, b" in moved["c"])
    with pytest.raises(BadValue, match="can't start"):
        dials.chain("c", "Chain", [("a", "A")], [])


def test_a_hidden_dial_keeps_its_place_and_the_browser_is_told():
    def given(values):
        shown = values.get("on", False)
        return [dials.switch("on", "On"), dials.span("n", "N", 1, 9, 3, hidden=not shown, presets=[1, 9])]

    made = Instrument("act1", "T", given, lambda values: View(note=str(values["n"])))
    view = send(made.piece, dials={"on": True, "n": 7})
    assert view["dials"]["n"] == {"hidden": False} and view["note"] == "7"
    view = send(made.piece, dials={"on": False, "n": 7})
    assert view["dials"]["n"] == {"hidden": True} and made.values["n"] == 7
    assert "on" not in view["dials"]


def test_a_context_is_called_by_its_device():
    found = [Context(slug, name, "cloud", hardware(slug), "fp16") for slug, name in (("h100_sxm", "H100"), ("h200_sxm", "H200"))]
    assert [o["label"] for o in toggle("act1.context", "Where?", found, found[0], lambda slug: None).spec["options"]] == ["H100", "H200"]
    apart = [found[0], Context("this_machine", "This machine", "here", hardware("pi5"), "fp32")]
    listed = toggle("act1.context", "Where?", apart, found[0], lambda slug: None).spec["options"]
    assert [(o["label"], o["note"]) for o in listed] == [("H100", "Cloud"), ("This machine", "")]


def test_percentages_are_points_apart():
    assert "too high by" in points(50, 33.3) and "16.7</span> percentage points" in points(50, 33.3)
    assert "too low by" in points(5, 33.3) and "right to within" in points(33, 33.3)
    assert points(33.3, 33.3) == "exactly right"
