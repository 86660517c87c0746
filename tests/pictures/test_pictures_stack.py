"""Stacked rows and meters: every part is drawn to scale, and said in words and table."""

import pytest

from ironlaw.errors import BadValue
from ironlaw.pictures.meter import marks, meter
from ironlaw.pictures.stack import stack
from ironlaw.pictures.waterfall import Part

RUNS = {"eager": [Part("compute", 5e-3, "compute"), Part("dispatch", 10e-3, "overhead")], "fused": [Part("compute", 5e-3, "compute")]}


def test_parts_follow_each_other_and_end_at_the_total():
    figure = stack(RUNS, "s", "Time", chosen="eager")
    bars = [m for m in figure.to_dict()["marks"] if m["type"] == "bar"]
    assert [(b["x0"], b["x1"]) for b in bars] == [(0.0, 5e-3), (5e-3, pytest.approx(15e-3)), (0.0, 5e-3)]
    assert [bool(b.get("emphasis")) for b in bars] == [True, True, False]
    labels = [m["label"] for m in figure.to_dict()["marks"] if m["type"] == "label"]
    assert labels == ["15\u202fms", "5\u202fms"]
    assert "eager 15\u202fms: compute 5\u202fms, dispatch 10\u202fms" in figure.text
    assert len(figure.table.rows) == 3 and [item["label"] for item in figure.legend] == ["compute", "dispatch"]


def test_a_part_of_nothing_is_left_out_and_a_run_of_nothing_refused():
    assert len([m for m in stack({"a": [Part("x", 1.0), Part("y", 0.0)]}, "s", "T").marks if m.type == "bar"]) == 1
    with pytest.raises(BadValue, match="no part above 0"):
        stack({"a": [Part("x", 0.0)]}, "s", "T")


def test_a_meter_has_its_line_grades_and_marks():
    figure = meter({"poor": 33.3, "fair": 50.0, "good": 98.0}, "Share", chosen="fair", extra=marks(90, 33.3, "56.7 points too high"))
    shown = figure.to_dict()["marks"]
    assert [(m["y"], m["colour"]) for m in shown if m["type"] == "bar"] == [("poor", "fail"), ("fair", "warn"), ("good", "good")]
    assert {m["id"]: m["x"] for m in shown if m["type"] == "rule"} == {"line": 80.0, "prediction": 90, "truth": 33.3}
    assert [row[3:] for row in figure.table.rows] == [
        ("poor", "below the line"),
        ("middling", "below the line"),
        ("good", "above the line"),
    ]
