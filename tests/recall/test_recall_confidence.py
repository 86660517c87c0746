"""Confidence against correctness: counted by hand, and by the standard library and NumPy."""

import statistics

import numpy as np
import pytest

from ironlaw.recall.confidence import PROBABILITY, brier, predictions, table


def test_what_confidence_stands_for():
    assert PROBABILITY == {1: 0.25, 2: 0.45, 3: 0.65, 4: 0.80, 5: 0.95}


def test_a_table_and_a_score_counted_by_hand(session, say):
    for correct, confidence in ((True, 5), (True, 5), (False, 5), (True, 3), (False, 1)):
        say("ridge_point", correct, confidence)
    rows = table(session.state().answers)
    assert [(row.confidence, row.answers, row.right) for row in rows] == [(1, 1, 0), (2, 0, 0), (3, 1, 1), (4, 0, 0), (5, 3, 2)]
    assert [row.share for row in rows] == [0, None, 1, None, pytest.approx(2 / 3)]
    # (0.05² + 0.05² + 0.95² + 0.35² + 0.25²) / 5
    assert brier(session.state().answers) == pytest.approx((0.0025 + 0.0025 + 0.9025 + 0.1225 + 0.0625) / 5)


def test_nothing_answered():
    assert brier([]) is None and all(row.answers == 0 and row.share is None for row in table([]))


def test_many_answers_as_numpy_and_statistics_count_them(session, ledger, say):
    source = np.random.default_rng(7)
    levels, right = source.integers(1, 6, 60), source.random(60) < 0.6
    for level, correct in zip(levels, right, strict=True):
        say("ridge_point", bool(correct), int(level))
    answers = session.state().answers
    stated = np.array([0.25, 0.45, 0.65, 0.80, 0.95])[levels - 1]
    assert brier(answers) == pytest.approx(float(np.mean((stated - right) ** 2)))
    assert brier(answers) == pytest.approx(statistics.fmean((p - r) ** 2 for p, r in zip(stated, right, strict=True)))
    for row in table(answers):
        assert (row.answers, row.right) == (int(np.sum(levels == row.confidence)), int(np.sum(right[levels == row.confidence])))


def test_first_predictions_of_labs_count_too_and_second_ones_do_not(session, ledger, say):
    ledger.commit_prediction("lab_01_magnitude", "act1", "e2", 1e2, 5, False, 1)
    ledger.commit_prediction("lab_01_magnitude", "act1", "e6", 1e6, 5, True, 2)
    say("ridge_point", True, 5)
    found = session.state()
    assert [(p.question, p.choice, p.confidence, p.correct) for p in predictions(found.events)] == [("act1", "e2", 5, False)]
    assert [(row.answers, row.right) for row in table(found.answers)][-1] == (2, 1)
    assert brier(found.answers) == pytest.approx((0.95**2 + 0.05**2) / 2)


def test_an_undone_answer_does_not_count(session, say):
    say("ridge_point", False, 5)
    session.undo()
    assert brier(session.state().answers) is None
