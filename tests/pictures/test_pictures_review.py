"""The review's pictures say in words what they draw."""

from ironlaw import hardware
from ironlaw.engine.device.op_placement import ladder
from ironlaw.pictures.calibration_picture import calibration, verdict
from ironlaw.pictures.levels import levels
from ironlaw.recall.confidence import Row

ROWS = [Row(1, 0.25, 0, 0), Row(2, 0.45, 4, 2), Row(3, 0.65, 4, 4), Row(4, 0.80, 0, 0), Row(5, 0.95, 4, 1)]


def test_calibration_points_stand_where_the_answers_do():
    figure = calibration(ROWS).to_dict()
    points = {mark["id"]: (mark["x"], mark["y"], mark["label"]) for mark in figure["marks"] if mark["type"] == "point"}
    assert points == {"c2": (45, 50, "2 of 4"), "c3": (65, 100, "4 of 4"), "c5": (95, 25, "1 of 4")}
    assert [verdict(row) for row in ROWS] == ["no answers", "about right", "not sure enough", "no answers", "too sure"]
    assert "1 of 4 right, too sure" in figure["text"] and len(figure["table"]["rows"]) == 5
    for axis in ("x", "y"):  # a large point at 0 or 100% keeps off the figures of the axes
        low, high = figure[axis]["domain"]
        assert low < 0 and high > 100 and figure[axis]["ticks"] == [0, 20, 40, 60, 80, 100]


def test_calibration_without_answers_is_a_line():
    figure = calibration([Row(1, 0.25, 0, 0)]).to_dict()
    assert [mark["type"] for mark in figure["marks"]] == ["line"] and figure["text"].startswith("No answers yet")


def test_the_ladder_names_each_level_with_its_figures():
    figure = levels(ladder(hardware("a100_80gb_sxm")), 8 * 2**20, "l2").to_dict()
    assert [mark["y"] for mark in figure["marks"] if mark["type"] == "dot"][2] == "L2 cache"
    assert "200\u202fTB/s" in figure["text"] and figure["text"].endswith("The tensor has 8.39\u202fMB. It lives in L2 cache.")
    assert levels(ladder(hardware("a100_80gb_sxm")), 1e12).text.endswith("No level holds it.")
