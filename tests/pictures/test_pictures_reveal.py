"""A question whose answer is a row: the rows that were chosen and the right one carry words and roles, and the text says so."""

from ironlaw.pictures.reveal_picture import on_rows
from ironlaw.pictures.stack import stack
from ironlaw.pictures.waterfall import Part

ROWS = {name: [Part("work", size, "compute")] for name, size in (("a", 3.0), ("b", 1.0), ("c", 2.0))}


def roles(drawn):
    return {mark["y"]: (mark["role"], mark["label"].partition("  ")[2]) for mark in drawn.to_dict()["marks"] if mark.get("role")}


def test_the_chosen_row_and_the_right_one_are_marked():
    drawn = on_rows(stack(ROWS, "t", "Rows"), ["a"], "b")
    assert roles(drawn) == {"a": ("prediction", "◆ you said"), "b": ("truth", "✓ it is this one")}
    assert drawn.text.endswith("You said: a. It is: b.")


def test_who_was_right_sees_one_mark():
    assert roles(on_rows(stack(ROWS, "t", "Rows"), ["b"], "b")) == {"b": ("truth", "◆ you said, and it is")}


def test_an_answer_of_all_marks_them_all():
    assert {row: role for row, (role, _) in roles(on_rows(stack(ROWS, "t", "Rows"), ["a", "b", "c"], "c")).items()} == {
        "a": "prediction",
        "b": "prediction",
        "c": "truth",
    }
