"""What holds of the schedule whatever is answered, and whenever."""

from datetime import UTC, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from ironlaw.recall.record import Review
from ironlaw.recall.schedule import standings

CARD = "ridge_point"
START = datetime(2026, 3, 1, tzinfo=UTC)
# hours since the answer before, right or wrong, how sure
ANSWERS = st.lists(st.tuples(st.integers(1, 24 * 60), st.booleans(), st.integers(1, 5)), min_size=1, max_size=8)


def reviews(answers):
    at = START
    for i, (hours, correct, confidence) in enumerate(answers):
        at += timedelta(hours=hours)
        yield Review(str(i), CARD, i, "said", confidence, correct, None, at)


def standing(answers, after=0.0):
    made = list(reviews(answers))
    return standings(made, made[-1].at + timedelta(hours=after))[CARD]


@given(ANSWERS)
def test_a_card_comes_back_later_than_it_was_answered(answers):
    stands = standing(answers)
    assert stands.due > stands.reviews[-1].at
    assert stands.due - stands.reviews[-1].at < timedelta(days=365 * 101)


@given(ANSWERS, st.integers(1, 5))
def test_a_wrong_answer_comes_back_no_later_than_a_right_one(answers, sure):
    right, wrong = (standing([*answers, (24, correct, sure)]) for correct in (True, False))
    assert wrong.due <= right.due


@given(ANSWERS)
def test_who_is_surer_and_right_waits_no_shorter(answers):
    dues = [standing([*answers, (24, True, sure)]).due for sure in range(1, 6)]
    assert dues == sorted(dues)


@given(ANSWERS)
def test_what_is_left_alone_fades(answers):
    kept = [standing(answers, after=hours).retrievability for hours in (0, 1, 24, 24 * 30, 24 * 365)]
    assert kept == sorted(kept, reverse=True)
    assert all(0 <= value <= 1 for value in kept)


@given(ANSWERS)
def test_the_ledger_alone_decides(answers):
    """The same answers give the same day, and taking the last one back gives the day before it."""
    assert standing(answers).due == standing(answers).due
    if len(answers) > 1:
        made = list(reviews(answers))
        assert standings(made[:-1], made[-1].at)[CARD].due == standing(answers[:-1]).due


@given(ANSWERS)
def test_other_cards_are_left_alone(answers):
    found = standings(list(reviews(answers)), START)
    assert all(stands.due is None and not stands.reviews for name, stands in found.items() if name != CARD)
