"""A learner's record: proofs by hand, by SciPy's interval, and by the mean square itself."""

import random

import pytest
from scipy import stats

from ironlaw.engine.numerics.forecasts import brier as murphy
from ironlaw.ledger import Event
from ironlaw.recall.confidence import PROBABILITY
from ironlaw.recall.learner_calibration import brier, calibration, orders, orders_off, themes


def event(lab, question, confidence, correct, attempt=1, value=1e3, epoch=1):
    payload = {"question": question, "choice": "x", "value": value, "confidence": confidence, "correct": correct}
    return Event("id", "me", epoch, lab, attempt, "prediction", payload, "2026-03-01T12:00:00.000000Z")


def drawn(seed, count):
    source = random.Random(seed)
    return [event(f"lab_{n % 4:02}_x", f"q{n}", source.randint(1, 5), source.random() < 0.6) for n in range(count)]


@pytest.mark.parametrize("seed", range(20))
def test_murphys_parts_add_up_to_the_mean_square(seed):
    events = drawn(seed, 1 + 3 * seed)
    parts = brier(events)
    direct = sum((PROBABILITY[e.payload["confidence"]] - e.payload["correct"]) ** 2 for e in events) / len(events)
    assert parts.score == pytest.approx(direct, abs=1e-15)
    assert parts.reliability - parts.resolution + parts.uncertainty == pytest.approx(parts.score, abs=1e-12)
    assert min(parts.reliability, parts.resolution, parts.uncertainty) >= 0


def test_the_ends_of_the_score():
    assert murphy([(1.0, True), (0.0, False), (1.0, True)]).score == 0
    half = murphy([(0.5, True), (0.5, False), (0.5, False)])
    assert half.score == pytest.approx(0.25) and half.resolution == 0
    assert murphy([(1.0, False)]).score == 1
    # all at one level: nothing is told apart, and what is stated is off by 0.8 − 0.75
    one = murphy([(0.8, True)] * 3 + [(0.8, False)])
    assert (one.resolution, one.uncertainty) == (0, pytest.approx(0.1875)) and one.reliability == pytest.approx(0.0025)


def test_the_curves_counts_are_the_events_and_its_intervals_scipys():
    events = drawn(3, 40)
    curve = calibration(events)
    assert curve.answers == 40 and curve.right == sum(e.payload["correct"] for e in events)
    assert [point.stated for point in curve.points] == [0.25, 0.45, 0.65, 0.80, 0.95]
    for point in curve.points:
        ends = stats.binomtest(point.right, point.answers).proportion_ci(method="wilson")
        assert point.interval == pytest.approx((ends.low, ends.high))


def test_an_empty_record_says_so():
    assert brier([]) is None and themes([]) == [] and calibration([]).answers == 0
    assert all(point.interval is None and point.share is None for point in calibration([]).points)


def test_the_first_commit_counts_over_attempts_and_resets():
    events = [event("lab_a", "act1", 5, False), event("lab_a", "act1", 5, True, attempt=2), event("lab_a", "act1", 4, True, epoch=2)]
    curve = calibration(events)
    assert (curve.answers, curve.right) == (1, 0) and brier(events).score == pytest.approx(0.95**2)
    assert calibration(events[1:2]).answers == 0  # a second attempt alone is none


def test_the_worst_theme_comes_first():
    sure_and_wrong, sure_and_right = event("lab_a", "act1", 5, False), event("lab_b", "act1", 5, True)
    first, second = themes([sure_and_right, sure_and_wrong])
    assert (first.lab, first.gap) == ("lab_a", pytest.approx(0.95)) and (second.lab, second.gap) == ("lab_b", pytest.approx(-0.05))
    assert (first.score, second.score) == (pytest.approx(0.9025), pytest.approx(0.0025))


def test_orders_of_magnitude_off():
    events = [
        event("lab_a", "act1", 3, False, value=1e6),
        event("lab_a", "act2", 3, True, value="memory"),
        event("lab_b", "act1", 3, False),
    ]
    truths = {("lab_a", "act1"): 1e9, ("lab_a", "act2"): 10.0}
    assert orders_off(events, truths) == {("lab_a", "act1"): pytest.approx(-3)}
    assert orders(0, 10) is None and orders(5.0, 0) is None and orders(2e3, 2) == pytest.approx(3)
