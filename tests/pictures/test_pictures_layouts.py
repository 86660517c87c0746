"""The pipeline over time and the grid of devices: what is drawn is what the engine says."""

import pytest

from ironlaw.engine.cluster.layouts import Layout
from ironlaw.engine.cluster.pipeline_timeline import IDLE, stretches
from ironlaw.engine.cluster.pipelines import bubble
from ironlaw.errors import BadValue
from ironlaw.pictures.devices import devices
from ironlaw.pictures.gantt import COLOURS, STAGES, gantt, picked


def test_the_hatched_area_is_the_bubble() -> None:
    rows = stretches(4, 8)
    figure = gantt(rows, "step").to_dict()
    bars = [mark for mark in figure["marks"] if mark["type"] == "bar"]
    idle = sum(mark["x1"] - mark["x0"] for mark in bars if mark.get("pattern"))
    assert idle / (4 * figure["x"]["domain"][1]) == pytest.approx(bubble(4, 8))
    assert {mark["colour"] for mark in bars if mark.get("pattern")} == {COLOURS[IDLE]} and "27.3%" in figure["text"]


def test_later_work_is_not_drawn_and_the_axis_holds_still() -> None:
    rows = stretches(4, 8)
    half, whole = (gantt(rows, "step", now=now).to_dict() for now in (0.25, 1.0))
    assert half["x"] == whole["x"] and half["y"] == whole["y"]
    limit = 0.25 * whole["x"]["domain"][1]
    assert max(mark["x1"] for mark in half["marks"] if mark["type"] == "bar") <= limit < whole["x"]["domain"][1]
    assert gantt(rows, "step", now=0.0).marks


def test_many_stages_are_drawn_in_part() -> None:
    figure = gantt(stretches(48, 96), "step")
    assert len(figure.y.names) == STAGES == len(picked(48)) and {"stage 1", "stage 48"} <= set(figure.y.names)
    assert "32 stages between them are not drawn" in figure.note and len(figure.table.rows) == 48
    with pytest.raises(BadValue, match="no stretch"):
        gantt((), "step")


def test_the_grid_colours_the_groups_of_one_device() -> None:
    layout = Layout(tensor=4, context=2, data=2, pipeline=3)
    cells = {mark["id"]: mark["colour"] for mark in devices(layout, 8, 17).to_dict()["marks"] if mark["type"] == "bar"}
    assert len(cells) == 48 and cells["cell-1-1"] == "accent"
    coloured = {colour: sorted(cell for cell, mine in cells.items() if mine == colour) for colour in set(cells.values())}
    assert coloured["compute"] == ["cell-1-0", "cell-1-2", "cell-1-3"] and coloured["good"] == ["cell-1-5"]
    assert coloured["memory"] == ["cell-1-9"] and coloured["overhead"] == ["cell-0-1", "cell-2-1"]


def test_the_grid_of_a_large_run_shows_the_part_around_the_device() -> None:
    layout = Layout(tensor=8, pipeline=16, data=128)
    figure = devices(layout, 8, 16_383)
    assert "Device 16,383, stage 16, replica 128: tensor group of 8 in 1 box; data group of 128 in 128 boxes" in figure.text
    assert any(mark.colour == "accent" for mark in figure.marks) and "32 of them drawn" in figure.note
    assert figure.table.rows[2] == ("data", "128", "128") and len(figure.marks) == 16 * 32 + 3
