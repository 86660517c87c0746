"""The ROC square: rays where the theorem has them, points where the decisions stand, words that say the same."""

import math

import pytest

from ironlaw.engine.parity.rates import ppv_of
from ironlaw.errors import BadValue
from ironlaw.pictures.rays import Line, rays
from ironlaw.registry.scored_groups import groups


def lines():
    return [
        Line(group.name, group.roc, group.base, (group.at(5).fpr, group.at(5).tpr), {"dial": f"cut_{i}", "axis": "x"})
        for i, group in enumerate(groups("compas"))
    ]


def named(figure, name):
    return next(m for m in figure.marks if m.name == name)


def test_every_point_of_a_ray_has_its_precision():
    figure = rays(lines(), 0.6, "COMPAS")
    for group in groups("compas"):
        (x0, y0), (x1, y1) = named(figure, f"{group.name}, one precision").points
        assert (x0, y0) == (0, 0) and max(x1, y1) == 100
        for share in (0.2, 0.5, 1.0):
            assert ppv_of(group.base, 1 - share * y1 / 100, share * x1 / 100) == pytest.approx(0.6)


def test_the_exceptions_are_seen():
    one, other = lines()
    equal = rays([one, Line("same base", other.curve, one.base, other.point)], 0.6, "equal base rates")
    assert named(equal, f"{one.name}, one precision").points == named(equal, "same base, one precision").points
    perfect = rays(lines(), 1.0, "perfect")
    assert {m.points for m in perfect.marks if m.name.endswith("one precision")} == {((0.0, 0.0), (0.0, 100.0))}
    flat = rays(lines(), 0.2, "worse than the base rate")
    assert all(m.points[1][0] == 100 and m.points[1][1] < 100 for m in flat.marks if m.name.endswith("one precision"))


def test_points_curves_and_words():
    figure = rays(lines(), None, "COMPAS")
    assert not [m for m in figure.marks if m.name.endswith("one precision")]
    at = dict(named(figure, "Caucasian, as set").at)
    assert (at["x"], at["y"]) == pytest.approx((23.4543, 52.2774), abs=1e-4)
    assert dict(named(figure, "Caucasian, as set").more)["drag"] == {"dial": "cut_1", "axis": "x"}
    assert "23.5" in figure.text and "44.8" in figure.text and figure.table.rows[0][-1] == "–"
    assert all(math.isfinite(value) for m in figure.marks for point in m.points for value in point)
    assert figure.legend[0]["label"].startswith("African-American, base rate 51.4")


def test_axes_say_whose_share_they_are_and_many_groups_stand_in_the_legend_alone():
    figure = rays(lines(), 0.6, "COMPAS", flagged="accepted", true="those who repay", other="those who default")
    assert (figure.x.label, figure.y.label) == ("accepted, of those who default", "accepted, of those who repay")
    assert figure.table.columns[2:4] == (figure.x.label, figure.y.label)
    assert named(figure, "Caucasian, as set").label == "Caucasian"
    many = rays([*lines(), *(Line(f"{line.name} again", line.curve, line.base, line.point) for line in lines())], None, "four")
    assert not any(m.label for m in many.marks if m.type == "point") and len(many.legend) == 4


def test_too_many_groups_are_refused():
    with pytest.raises(BadValue, match="0 groups"):
        rays([], 0.5, "nobody")
    with pytest.raises(BadValue, match="5 groups"):
        rays([lines()[0]] * 5, 0.5, "many")
