"""The mountain: stacked areas that add up, a flag at the peak, words and table that say the same."""

from itertools import pairwise

import pytest

from ironlaw.errors import BadValue
from ironlaw.pictures.mountain import Layer, Step, mountain

LAYERS = (Layer("weights", "ridge"), Layer("kept", "memory"), Layer("head", "memory", pattern=True))
STEPS = [Step("forward", f"op {i}", (10.0, 2.0 * i, 0.0)) for i in range(5)] + [
    Step("backward", "loss", (10.0, 8.0, 30.0)),
    *(Step("backward", f"op {i}", (10.0, 2.0 * i, 0.0)) for i in range(4, -1, -1)),
    Step("update", "optimiser", (10.0, 0.0, 12.0)),
]


def drawn(**more):
    return mountain(STEPS, LAYERS, "A step", **more).to_dict()


def of(figure, kind, id=""):
    return [m for m in figure["marks"] if m["type"] == kind and (not id or m.get("id") == id)]


def test_areas_lie_on_each_other():
    areas = of(drawn(), "area")
    assert [a["id"] for a in areas] == ["layer-0", "layer-1", "layer-2"]
    for lower, upper in pairwise(areas):
        assert [p[2] for p in lower["points"]] == [p[1] for p in upper["points"]]
    assert {p[1] for p in areas[0]["points"]} == {0.0} and areas[2]["pattern"] and not areas[1].get("pattern")
    assert max(p[2] for p in areas[-1]["points"]) == 48.0


def test_the_flag_is_at_the_peak():
    (flag,) = of(drawn(), "point", "peak")
    assert (flag["y"], flag["name"]) == (48.0, "loss") and "48" in flag["label"]
    rows = {row[0]: row[1] for row in flag["hover"]}
    assert rows["phase"] == "backward" and rows["head"].startswith("30") and "passing" not in rows
    assert of(drawn(), "point")[-1]["id"] == "peak"  # on top of the others


def test_words_and_table_say_the_same():
    figure = drawn(limit=(40.0, "the device's memory"))
    assert "48" in figure["text"] and "in backward at loss" in figure["text"] and "above the device's memory" in figure["text"]
    assert "within" in drawn(limit=(50.0, "the device's memory"))["text"]
    assert figure["table"]["columns"] == ["phase", "step", "together", "weights", "kept", "head"]
    assert ["backward", "loss"] in [row[:2] for row in figure["table"]["rows"]]


def test_phases_and_limit_are_rules():
    figure = drawn(limit=(40.0, "memory"))
    assert [m["label"] for m in of(figure, "rule") if m["id"].startswith("phase")] == ["backward", "update"]
    assert of(figure, "rule", "limit")[0]["colour"] == "fail" and of(drawn(limit=(60.0, "memory")), "rule", "limit")[0]["colour"] == "ink"


def test_the_axis_stands_still_where_it_is_told_to():
    assert drawn(top=200.0)["y"]["domain"] == [0.0, 200.0] and drawn()["y"]["domain"] == [0.0, 60.0]
    assert drawn(limit=(90.0, "memory"))["y"]["domain"][1] > 90.0
    assert drawn(limit=(1e6, "memory"))["y"]["domain"][1] == 60.0  # a limit far above does not flatten the picture


def test_a_long_run_keeps_its_peak_and_its_turns():
    long = [Step("forward", f"f{i}", (1.0, i * 1.0, 0.0)) for i in range(900)] + [
        Step("backward", f"b{i}", (1.0, 900.0 - i, 0.0)) for i in range(900)
    ]
    long[333] = Step("forward", "spike", (1.0, 5000.0, 0.0))
    figure = mountain(long, LAYERS, "Long").to_dict()
    (area,) = of(figure, "area", "layer-1")
    assert len(area["points"]) < 230 and max(p[2] for p in area["points"]) == 5001.0
    assert {p[0] for p in area["points"]} >= {0.0, 899.0, 900.0, 1799.0}
    assert len(of(figure, "point")) < 45


def test_rows_that_are_never_there_are_left_out():
    flat = [Step("forward", "a", (1.0, 0.0, 0.0)), Step("forward", "b", (1.0, 0.0, 0.0))]
    figure = mountain(flat, LAYERS, "Flat").to_dict()
    assert [item["label"] for item in figure["legend"]] == ["weights"] and len(of(figure, "area")) == 1


def test_it_refuses_steps_that_do_not_match():
    with pytest.raises(BadValue, match="each of the 3 layers"):
        mountain([Step("forward", "a", (1.0,))], LAYERS, "Bad")
    with pytest.raises(BadValue, match="must be one"):
        mountain([], LAYERS, "Bad")
