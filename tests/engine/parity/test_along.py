"""Places along hulls against searches that know nothing of them: every point by brute force, SciPy for the summit."""

import itertools
import math

import pytest
from scipy import optimize

from ironlaw.engine.parity.curves import Group, height, table_at
from ironlaw.engine.parity.hull_points import Fan, Path, between, by_opportunity, by_precision, by_selection, closing_in, lowest, summit
from ironlaw.registry.scored_groups import groups

STEEP = Group("steep", (1.0, 2.0, 3.0), (6.0, 2.0, 2.0), (1.0, 1.0, 2.0))  # the highest score is always right


def test_a_path_stops_where_its_measure_is_reached():
    path = Path(((0.0, 0.0), (0.2, 0.6), (0.5, 1.0), (1.0, 1.0)), (0.0, 0.6, 1.0, 1.0))
    assert path.at(0.3) == pytest.approx((0.1, 0.3)) and path.at(0.6) == (0.2, 0.6) and path.at(0.8) == pytest.approx((0.35, 0.8))
    assert path.at(0.0) == (0.0, 0.0) and path.at(1.0) == (0.5, 1.0) and path.at(1.1) == (1.0, 1.0)
    assert between((0.0, 1.0), (1.0, 3.0), 0.25) == (0.25, 1.5)


@pytest.mark.parametrize("group", groups("credit"), ids=lambda group: group.name)
def test_what_a_place_is_for_is_what_its_table_has(group):
    for share in (0.05, 0.3, 0.77):
        assert table_at(group, by_selection(group).at(share)).selected == pytest.approx(share)
        assert table_at(group, by_opportunity(group).at(share)).tpr == pytest.approx(share)
    for ppv in (group.base + 0.01, (group.base + 1) / 2):
        point = by_precision(group).at(ppv)
        assert table_at(group, point).ppv == pytest.approx(ppv) and point[1] == pytest.approx(height(group.hull, point[0]))
    assert by_precision(group).at(group.base - 0.01) is None and by_precision(group).at(0.0) is None


def test_a_hull_that_begins_on_the_left_edge_is_walked_from_the_corner():
    assert by_opportunity(STEEP).at(0.2) == (0.0, 0.2) and by_selection(STEEP).at(0.1) == pytest.approx((0.0, 0.25))
    assert by_opportunity(STEEP).at(0.5) == (0.0, 0.5) and by_opportunity(STEEP).at(0.75) == pytest.approx((1 / 6, 0.75))


def test_the_ends_of_a_fan():
    fan = by_precision(STEEP)
    assert fan.at(1.0) == (0.0, 0.5) and fan.at(STEEP.base) == (1.0, 1.0)
    assert fan.at(0.75) == pytest.approx((1 / 6, 0.75))  # three of four: on the corner
    flat = Fan(0.5, ((0.5, 0.75), (1.0, 1.0)), (-1.5, -1.0))
    assert flat.at(0.6) == pytest.approx((0.5, 0.75)) and flat.at(0.61) is None and flat.at(1.0) is None


def test_the_lowest_of_hulls_has_a_corner_where_two_cross():
    one = Group("one", (1.0, 2.0), (10.0, 10.0), (2.0, 8.0))
    other = Group("other", (1.0, 2.0, 3.0), (5.0, 12.0, 3.0), (0.0, 7.0, 3.0))
    corners = lowest((one, other))
    assert corners[0] == (0.0, 0.0) and corners[-1] == (1.0, 1.0) and len(corners) == 6
    for fpr, tpr in corners:
        assert tpr == pytest.approx(min(height(one.hull, fpr), height(other.hull, fpr)))
    for i in range(101):  # straight in between
        assert height(corners, i / 100) == pytest.approx(min(height(one.hull, i / 100), height(other.hull, i / 100)))
    inside = [fpr for fpr, _ in corners if fpr not in {fpr for group in (one, other) for fpr, _ in group.hull}]
    assert len(inside) == 2
    for fpr in inside:
        assert height(one.hull, fpr) == pytest.approx(height(other.hull, fpr))


def test_what_lies_under_all_the_federal_reserves_hulls_is_concave():
    corners = lowest(groups("credit"))
    turns = [(b[1] - a[1]) / (b[0] - a[0]) for a, b in itertools.pairwise(corners)]
    assert all(a >= b - 1e-9 for a, b in itertools.pairwise(turns)) and math.isclose(corners[-1][1], 1.0)


@pytest.mark.parametrize("top", [0.0, 0.013, 0.5, 0.62, 0.999, 1.0])
def test_both_searches_find_the_summit(top):
    def roof(place):
        return -abs(place - top) if place < top else -3 * abs(place - top)

    found = optimize.minimize_scalar(lambda place: -roof(place), bounds=(0, 1), method="bounded", options={"xatol": 1e-9}).x
    assert summit(roof) == pytest.approx(top, abs=1e-9) and summit(roof) == pytest.approx(found, abs=1e-5)
    assert closing_in(roof) == pytest.approx(top, abs=1e-7)


def test_a_grid_passes_over_places_without_a_value():
    assert closing_in(lambda place: None) is None
    assert closing_in(lambda place: place if place < 0.3 else None) == pytest.approx(0.3, abs=1e-6)
