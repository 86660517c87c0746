"""Configurations by two figures: the staircase, arrows from claims, and the same figures in words."""

import pytest

from ironlaw.errors import BadValue
from ironlaw.pictures.front import OFF, ON, Entry, front
from ironlaw.widget.figure import Axis

X, Y = Axis("linear", "clean", "%", (80.0, 100.0)), Axis("linear", "attacked", "%", (0.0, 100.0))
SECONDS = Axis("log", "time", "s", (1e-4, 1.0))
ENTRIES = [
    Entry("good", 95, 60, 59, 61, 60), Entry("robust", 90, 70, 69, 71, 70.5), Entry("fell", 92, 10, 9, 11, 65), Entry("both", 96, 5, 4, 6),
]  # fmt: skip


def drawn(figure):
    return {mark["id"]: mark for mark in figure.to_dict()["marks"]}


def test_the_front_is_a_staircase_and_the_rest_is_hollow():
    marks = drawn(front(ENTRIES, X, Y, "Table"))
    assert [tuple(point) for point in marks["line"]["points"]] == [(90, 70), (90, 60), (95, 60), (95, 5), (96, 5)]
    assert marks["dot-fell"]["hollow"] and not marks["dot-good"].get("hollow")
    assert marks["sure-good"]["points"][0][1] == 59


def test_less_time_is_better_where_that_is_said():
    entries = [Entry("quick", 0.001, 10), Entry("slow", 0.1, 50), Entry("idle", 0.2, 40, partly=True)]
    figure = front(entries, SECONDS, Y, "Times", senses=("less", "more"), chosen="idle")
    marks = drawn(figure)
    assert [tuple(point) for point in marks["line"]["points"]] == [(0.001, 10), (0.1, 10), (0.1, 50)]
    assert marks["now"]["shape"] == "diamond" and marks["now"]["label"] == "idle"
    assert any(row[1].startswith("at least") for row in figure.table.rows if row[0] == "idle") and f"is {OFF}" in figure.text


def test_a_claim_is_an_arrow_only_where_it_fell():
    marks = drawn(front(ENTRIES, X, Y, "Table"))
    assert {name for name in marks if name.startswith("arrow-")} == {"arrow-fell"}
    assert [tuple(point) for point in marks["arrow-fell"]["points"]] == [(92, 65), (92, 10)]
    assert not any(name.startswith("arrow-") for name in drawn(front(ENTRIES, X, Y, "Table", arrows=False)))


def test_words_and_table_have_the_same_figures():
    figure = front(ENTRIES, X, Y, "Table", chosen="good")
    assert "3 of 4" in figure.text and "fell was claimed to have 65" in figure.text
    verdicts = {row[0]: row[-1] for row in figure.table.rows}
    assert verdicts == {"good": ON, "robust": ON, "fell": OFF, "both": ON}


def test_axes_stand_still_and_something_is_shown():
    with pytest.raises(BadValue, match="domain"):
        front(ENTRIES, Axis("linear", "clean", "%"), Y, "Table")
    with pytest.raises(BadValue, match="at least one"):
        front([], X, Y, "Table")
