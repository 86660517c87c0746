"""The staircase: strips of both cuts add up to the area of the run, on any line; the words and the table say the same."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ironlaw.engine.serving.line import ORDERS, simulate
from ironlaw.errors import UnknownName
from ironlaw.pictures.staircase_picture import SHOWN, staircase

lines = st.lists(st.tuples(st.integers(0, 20), st.integers(0, 30)), min_size=1, max_size=30)


def run_of(line, servers=1, order="fifo"):
    arrivals = [sum(gap for gap, _ in line[: i + 1]) for i in range(len(line))]
    return simulate(arrivals, [service for _, service in line], servers, order)


def drawn_area(figure):
    strips = [item.points for item in figure.marks if item.type == "area"]
    return sum((until - begin) * (high - low) for (begin, low, high), (until, _, _) in strips)


@given(lines, st.integers(1, 3), st.sampled_from(ORDERS))
def test_columns_and_rows_cover_the_same_area(line, servers, order):
    run = run_of(line, servers, order)
    if run.span == 0:
        return
    for cut in ("columns", "rows"):
        figure = staircase(run, cut, tick=0.5)
        assert drawn_area(figure) == pytest.approx(0.5 * run.area_by_request)
        steps = {item.name: item.points for item in figure.marks if item.type == "line"}
        assert steps["arrivals"][-1][1] == steps["departures"][-1][1] == len(line)
        assert len(figure.table.rows) == len(line) and "the area between them" in figure.text


def test_a_long_run_shows_its_first_requests_and_says_so():
    run = run_of([(1, 3)] * 500)
    figure = staircase(run, "rows", end=40.0)
    assert figure.x.domain == (0.0, 40.0) and figure.y.domain == (0.0, float(SHOWN))
    assert figure.note == f"the first {SHOWN} of 500 requests" and len(figure.table.rows) == SHOWN
    assert all(point[0] <= 40.0 for item in figure.marks for point in item.points)
    columns = staircase(run, "columns", end=40.0)
    assert all(point[0] <= 40.0 for item in columns.marks for point in item.points)
    assert drawn_area(columns) == pytest.approx(drawn_area(figure))  # of the requests that are shown, up to the edge
    steps = {item.name: item.points for item in figure.marks if item.type == "line"}
    assert steps["departures"][-1] == (40.0, 13.0) and steps["arrivals"][-1][0] == 40.0
    whole = {item.name: item.points for item in staircase(run_of([(1, 3)] * 500), "rows", end=900.0).marks if item.type == "line"}
    assert whole["arrivals"][-1] == (SHOWN - 1.0, SHOWN) and whole["departures"][-1] == (3.0 * SHOWN, SHOWN)  # and no further
    assert len({item.to_dict().get("deep") for item in columns.marks if item.type == "area"}) == 2  # neighbours differ in shade


def test_a_window_is_drawn_where_it_opens_and_closes():
    figure = staircase(run_of([(1, 3)] * 6), "columns", window=(2.0, 9.0))
    edges = {item.label: dict(item.at)["x"] for item in figure.marks if item.type == "rule"}
    assert edges == {"opens": 2.0, "closes": 9.0}
    outside = staircase(run_of([(1, 3)] * 6), "columns", window=(2.0, 900.0))
    assert [item.label for item in outside.marks if item.type == "rule"] == ["opens"]


def test_a_cut_that_nobody_knows():
    with pytest.raises(UnknownName, match=r"columns, rows"):
        staircase(run_of([(1, 3)]), "slices")
