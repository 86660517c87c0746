"""Byte ledgers, lines with measured points, and time saved: what is drawn is what was given, and the words say the same."""

import math

import pytest

from ironlaw.errors import BadValue
from ironlaw.pictures.lines import lines, upright
from ironlaw.pictures.saving import Crossing, saving
from ironlaw.pictures.traffic import traffic
from ironlaw.widget.figure import Axis


def marks(figure, **wanted):
    return [m for m in figure.to_dict()["marks"] if all(m.get(key) == value for key, value in wanted.items())]


def test_a_ledger_sums_what_its_kernels_read_and_write():
    figure = traffic([("a", 1e6, 2e6), ("b", 3e6, 0.0)], "Ledger", also=[("fused", 1e6, 1e6)])
    ends = {m["id"]: (m["x0"], m["x1"]) for m in marks(figure, type="bar", y="in all")}
    assert ends == {"in all-read": (0.0, 4e6), "in all-written": (4e6, 6e6)}  # both cross memory, so they add
    assert [m["label"] for m in marks(figure, type="label")] == ["3\u202fMB", "3\u202fMB", "6\u202fMB", "2\u202fMB"]
    assert [m["id"] for m in marks(figure, type="bar", y="b")] == ["b-read"]
    assert {m["colour"] for m in marks(figure, type="bar", y="fused")} == {"muted"}
    assert [m.get("pattern", False) for m in marks(figure, type="bar", y="a")] == [False, True]
    assert figure.table.rows[2][1:4] == ("4\u202fMB", "2\u202fMB", "6\u202fMB") and "b reads 3\u202fMB, writes 0\u202fB" in figure.text


X, Y = Axis("log", "size", "B"), Axis("linear", "ratio", "×")


def test_lines_keep_measured_points_apart_and_mark_where_the_dials_stand():
    figure = lines({"model": [(10.0, 1.0), (100.0, 3.0)]}, X, Y, "T", measured={"time": [(10.0, 1.5)]}, now=("model", 100.0),
                   extra=[upright(50.0, "limit", "the limit", "B")])  # fmt: skip
    assert marks(figure, type="line")[0]["points"] == [[10.0, 1.0], [100.0, 3.0]]
    points = {m["name"]: (m["x"], m["y"]) for m in marks(figure, type="point")}
    assert points == {"model, as set": (100.0, 3.0), "time, measured": (10.0, 1.5)}
    assert marks(figure, type="rule")[0]["x"] == 50.0
    assert marks(figure, type="line")[0]["end"] == "model", "beside measured points it has a name, at its end"
    single = lines({"model": [(10.0, 1.0), (100.0, 3.0)]}, X, Y, "T").to_dict()
    assert "end" not in single["marks"][0] and "legend" not in single, "a single line is what the title says"
    assert [row[0] for row in figure.table.rows] == ["model", "model", "time, measured"]
    with pytest.raises(BadValue, match="no points"):
        lines({"model": []}, X, Y, "T")


def net(days):
    return 10.0 * days - 30.0


def test_saving_begins_at_minus_the_cost_and_says_where_it_crosses():
    figure = saving(net, 12.0, Crossing(3.0, 3000))
    assert marks(figure, id="net")[0]["points"] == [[0.0, -30.0], [12.0, 90.0]]
    assert marks(figure, id="cross")[0]["label"] == "day 3, call 3,000"
    assert [m["id"] for m in marks(figure, type="area")] == ["cost", "gain"]
    assert figure.note.startswith("✓ net positive: saves 90\u202fs") and "breaks even after 3 days, at call 3,000" in figure.text


def test_a_deployment_that_ends_too_soon_is_drawn_up_to_the_crossing():
    figure = saving(net, 1.0, Crossing(3.0, 3000), "one day")
    assert figure.x.domain == (0.0, pytest.approx(3.45)) and marks(figure, id="end")[0]["label"] == "ends after one day"
    assert figure.note.startswith("✗ net negative: loses 20\u202fs")


def test_what_never_pays_has_no_crossing():
    figure = saving(lambda days: -30.0 - days, 5.0, Crossing(math.inf, math.inf))
    assert not marks(figure, id="cross") and not marks(figure, id="gain") and "never breaks even" in figure.text


def test_a_line_ends_where_it_leaves_the_picture():
    """Drawn at the edge it would be a plateau; the table keeps all of it."""
    falling = [(1.0, 100.0), (10.0, 10.0), (100.0, 1.0), (1000.0, 0.01), (10000.0, 0.0)]
    figure = lines({"a": falling}, Axis("log", "x"), Axis("log", "y", "", (0.1, 50.0)), "T")
    drawn = figure.to_dict()["marks"][0]["points"]
    assert drawn == [pytest.approx(p) for p in ([2.0, 50.0], [10.0, 10.0], [100.0, 1.0], [math.sqrt(1e5), 0.1])]
    assert len(figure.table.rows) == len(falling)
    outside = lines({"a": [(1.0, 3.0), (2.0, 4.0)]}, Axis("linear", "x"), Axis("linear", "y", "", (0.0, 1.0)), "T")
    assert len(outside.to_dict()["marks"][0]["points"]) == 2
