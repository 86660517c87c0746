"""Histograms: shares add up, percentiles stand where they are with the band of their count, words and table say the same."""

import math

import pytest

from ironlaw.errors import BadValue
from ironlaw.pictures.histogram import bands, histogram, percentile

RISING = [i / 1000 for i in range(1, 1001)]  # 1 ms to 1 s
SAME = [0.001] * 500


def test_a_percentile_has_the_ranks_of_its_count():
    item = percentile(RISING, 0.99)
    assert (item.name, item.value, item.low, item.high) == ("P99", 0.990, 0.983, 0.997)
    small = percentile(RISING[:200], 0.99)
    assert small.low == 0.195 and small.high is None and percentile(RISING[:3], 0.5).low is None
    assert percentile(RISING, 0.999).name == "P99.9"


def test_bins_hold_every_request_once():
    figure = histogram({"users": RISING, "tester": SAME}, "T", domain=(1e-4, 10.0))
    for column in (1, 2):
        assert sum(float(row[column].removesuffix("%")) for row in figure.table.rows) == pytest.approx(100, abs=1)
    dots = [m for m in figure.to_dict()["marks"] if m["type"] == "point"]
    (same,) = [m for m in dots if m["name"] == "tester"]  # all in one bin: an empty one has no dot
    assert same["y"] == 100.0 and abs(math.log10(same["x"] / 0.001)) <= 0.05 + 1e-9
    assert sum(m["y"] for m in dots if m["name"] == "users") == pytest.approx(100)
    assert not [m for m in figure.to_dict()["marks"] if m["type"] in ("bar", "line")]


def test_rules_carry_their_band_and_share_one_where_they_coincide():
    rules = {m["label"]: m for m in histogram({"users": RISING}, "T").to_dict()["marks"] if m["type"] == "rule"}
    assert list(rules) == ["P50", "P90, P99, P99.9"]  # 0.9, 0.99 and 0.999 s are within the width of their words
    assert rules["P50"]["x"] == 0.5
    areas = [m for m in histogram({"users": RISING}, "T").to_dict()["marks"] if m["type"] == "area"]
    assert areas[0]["x0"] == 0.469 and areas[0]["x1"] == 0.532
    assert [m["label"] for m in histogram({"tester": SAME}, "T").to_dict()["marks"] if m["type"] == "rule"] == ["P50, P90, P99, P99.9"]


def test_what_the_second_one_lacks_is_coloured_and_named():
    figure = histogram({"users": RISING, "tester": SAME}, "T", left_out="left out")
    users = [m for m in figure.to_dict()["marks"] if m["type"] == "point" and m["name"] == "users"]
    here = [m["colour"] for m in users if abs(math.log10(m["x"] / 0.001)) <= 0.05 + 1e-9]  # where the tester has all of his
    assert here == ["accent"] and {m["colour"] for m in users if m["x"] > 0.0013} == {"fail"}
    assert all("left out" in m["hover"] for m in users if m["colour"] == "fail") and figure.legend[-1]["label"] == "left out"
    assert {m["colour"] for m in histogram({"users": RISING}, "T", left_out="left out").to_dict()["marks"] if m["type"] == "point"} == {
        "accent"
    }


def test_bands_say_what_is_not_known():
    figure = bands({"users": RISING, "tester": SAME[:100]}, "T", domain=(1e-4, 10.0))
    assert figure.y.names[:2] == ("P50, users", "P50, tester")
    points = {m["id"]: m for m in figure.to_dict()["marks"] if m["type"] == "point"}
    assert points["at-P99, users"]["x"] == 0.99 and points["at-P99, users"]["label"] == "990\u202fms"
    bars = {m["id"]: m for m in figure.to_dict()["marks"] if m["type"] == "bar"}
    assert (bars["band-P99, users"]["x0"], bars["band-P99, users"]["x1"]) == (0.983, 0.997)
    assert bars["band-P99, tester"]["x1"] == 10.0
    rows = {row[0]: row for row in figure.table.rows}
    assert rows["P99, tester"][3] == "not known" and "no upper end" in figure.text
    assert bands({"a": [1.0, 2.0]}, "T").y.names[0] == "P50" and "nothing is known" in bands({"a": [1.0, 2.0]}, "T").text


def test_what_lies_beyond_the_axis_stands_at_its_end():
    point = next(m for m in bands({"a": [50.0] * 400}, "T", domain=(0.1, 10.0)).to_dict()["marks"] if m["type"] == "point")
    assert point["x"] == 10.0 and point["label"] == "50\u202fs"


def test_a_series_of_nothing_is_refused():
    for picture in (histogram, bands):
        with pytest.raises(BadValue, match="give each at least one"):
            picture({"a": []}, "T")
        with pytest.raises(BadValue, match="give each at least one"):
            picture({}, "T")
