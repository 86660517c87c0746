"""Service times by shape: their means, and that they are those of the shape."""

import pytest

from ironlaw.engine.serving.services import curve_mean, from_quantiles, two_kinds
from ironlaw.engine.streams import uniform


def test_two_kinds_have_the_mean_and_the_share():
    times = two_kinds([(i + 0.5) / 1000 for i in range(1000)], 2.0, 0.01, 100)
    assert sum(times) / 1000 == pytest.approx(2.0) and sorted(set(times))[1] == pytest.approx(100 * min(times))
    assert sum(time > min(times) for time in times) == 10


def test_a_curve_of_quantiles_is_read_between_its_points():
    curve = (1.0, 2.0, 6.0)
    assert from_quantiles([0.0, 0.25, 0.5, 0.75, 1.0], curve) == [1.0, 1.5, 2.0, 4.0, 6.0]
    assert curve_mean(curve) == (1.5 + 4.0) / 2
    drawn = from_quantiles(uniform(3, 20_000), curve)
    assert sum(drawn) / len(drawn) == pytest.approx(curve_mean(curve), rel=0.02) and min(drawn) >= 1.0 and max(drawn) <= 6.0
