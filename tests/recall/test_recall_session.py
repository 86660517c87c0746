"""Cards, answers and undos in a ledger, with a clock that is set by hand."""

import re
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

import fsrs
import pytest

from ironlaw.errors import BadValue
from ironlaw.ledger import open_ledger
from ironlaw.recall import record, schedule
from ironlaw.recall.card_templates import template
from ironlaw.recall.card_templates import templates as bank
from ironlaw.recall.card_variants import variant
from ironlaw.recall.grade import Grade
from ironlaw.recall.review_session import Session, state


def order(session):
    return [card.template.id for card in session.queue()]


# --- the schedule


def test_at_first_everything_is_new_and_the_ten_come_first(session):
    waiting = session.queue()
    assert len(waiting) == len(bank()) and {card.reason for card in waiting} == {"new"}
    assert [card.template.first for card in waiting[:10]] == list(range(1, 11))
    assert all(card.template.lab == "review" for card in waiting[10:15]), "nothing of a lab that was not begun comes before what needs none"


def test_cards_of_labs_that_were_begun_come_first(session, ledger):
    ledger.reset()
    assert session.queue()[0].template.first == 1, "a new epoch is not a lab"
    ledger.append("lab_01_magnitude", "opened", {})
    assert session.queue()[0].template.first == 1, "who only looked into a lab has not begun it"
    ledger.append("lab_01_magnitude", "step", {"step": "act1.instrument"})
    labs = [card.template.lab for card in session.queue()]
    mine = sum(found.lab == "lab_01_magnitude" for found in bank().values())
    assert mine >= 10 and set(labs[:mine]) == {"lab_01_magnitude"}
    own = sum(found.lab == "review" for found in bank().values())
    assert set(labs[mine : mine + own]) == {"review"}, "then what needs no lab"
    first = [card.template.first for card in session.queue()[mine:] if card.template.lab == "review" and card.template.first]
    assert first == sorted(first) and session.queue()[mine].template.first, "and of those the ten before the others"


def test_due_days_are_those_of_fsrs(session, say, clock):
    """The same answers given to fsrs by hand."""
    card = fsrs.Card(card_id=1, due=clock.now)
    scheduler = fsrs.Scheduler(enable_fuzzing=False)
    given = [(True, 3, "Good"), (True, 5, "Easy"), (False, 5, "Again"), (True, 1, "Hard"), (True, 4, "Good"), (True, 2, "Hard")]
    for correct, confidence, rating in given:
        say("ridge_point", correct, confidence)
        card, _ = scheduler.review_card(card, fsrs.Rating[rating], clock.now)
        stands = session.state().standing["ridge_point"]
        assert stands.due == card.due
        clock.move(days=3)
        assert session.state().standing["ridge_point"].retrievability == pytest.approx(scheduler.get_card_retrievability(card, clock.now))
    assert len(session.state().standing["ridge_point"].reviews) == 6


def test_a_card_waits_until_its_time(session, say, clock):
    say("ridge_point", True, 5)
    due = session.state().standing["ridge_point"].due
    assert due > clock.now and "ridge_point" not in order(session)
    assert schedule.next_due(session.state().standing, clock.now) == due
    clock.now = due - timedelta(seconds=1)
    assert "ridge_point" not in order(session)
    clock.now = due
    assert order(session)[0] == "ridge_point"


def test_confident_errors_come_first_then_the_longest_overdue(session, say, clock):
    say("kv_total", True, 1)
    clock.move(minutes=1)
    say("ridge_point", False, 1)
    clock.move(minutes=1)
    say("gemm_roof", False, 4)
    clock.move(minutes=1)
    say("tensors_moved", False, 5)
    clock.move(days=400)
    waiting = session.queue()
    assert [(card.template.id, card.reason) for card in waiting[:4]] == [
        ("gemm_roof", "confident error"), ("tensors_moved", "confident error"), ("ridge_point", "due"), ("kv_total", "due"),
    ]  # fmt: skip
    say("gemm_roof", True, 3)
    clock.move(days=400)
    assert order(session)[0] == "tensors_moved" and not session.state().standing["gemm_roof"].confident_error


def test_cards_about_a_belief_that_is_held_come_before_other_new_ones(session, say):
    say("share_of_peak", False, 5, "sparse_peak_is_dense")
    waiting = [card for card in session.queue() if card.standing.due is None]
    about = {name for name, found in bank().items() if "sparse_peak_is_dense" in found.misconceptions} - {"share_of_peak"}
    assert len(about) > 3 and {card.template.id for card in waiting[: len(about)]} == about
    assert {card.reason for card in waiting[: len(about)]} == {"belief held"} and waiting[len(about)].reason == "new"


def test_topics(session, ledger, clock):
    fusion = Session(ledger, clock, topic="fusion", new=1000)
    assert {card.template.topic for card in fusion.queue()} == {"fusion"}
    assert len(fusion.queue()) == sum(found.topic == "fusion" for found in bank().values())


def test_a_sitting_brings_only_so_many_new_cards(ledger, clock, session, say):
    say("ridge_point", False, 2)
    clock.move(minutes=5)
    short = Session(ledger, clock, new=3)
    assert len(short.queue()) == 4 and short.queue()[0].template.id == "ridge_point"
    for left in (2, 1, 0):
        new = next(card for card in short.queue() if card.standing.due is None)
        short.answer(short.variant(new.template), "x", 3, Grade(True))
        assert sum(card.standing.due is None for card in short.queue()) == left


def test_skipping_is_for_this_sitting(session, ledger, clock):
    first = session.queue()[0].template
    session.skip(first)
    assert first.id not in order(session)
    assert order(Session(ledger, clock, new=1000))[0] == first.id
    assert ledger.events() == []


def test_answers_to_cards_that_are_no_more_are_kept_and_count_for_nothing(session, ledger, clock):
    said = {"card": "gone", "seed": 0, "answer": "1", "confidence": 5, "correct": False, "misconception": "long_gone",
            "at": "2026-01-01T00:00:00Z"}  # fmt: skip
    ledger.append("review", "reviewed", said)
    found = session.state()
    assert "gone" not in found.standing and len(found.reviews) == 1 and found.held_beliefs == []


# --- a clock that was wrong


def test_an_answer_dated_2031_does_not_keep_its_card_until_then(session, say, clock):
    today = clock.now
    clock.now = datetime(2031, 6, 1, tzinfo=UTC)
    say("ridge_point", False, 5, "scale_overestimated")
    clock.now = today + timedelta(days=1)
    say("kv_total", True, 3)
    stands = session.state().standing["ridge_point"]
    assert clock.now < stands.due < clock.now + timedelta(days=30)
    clock.move(days=30)
    assert order(session)[0] == "ridge_point"
    taken = session.undo()
    assert taken.card == "kv_total", "the last answer in the ledger, not the one with the highest date"


def test_an_answer_dated_2031_can_be_corrected(session, say, clock):
    today = clock.now
    clock.now = datetime(2031, 6, 1, tzinfo=UTC)
    say("ridge_point", False, 5, "scale_overestimated")
    clock.now = today
    say("ridge_point", True, 3)
    stands = session.state().standing["ridge_point"]
    assert [review.correct for review in stands.reviews] == [False, True] and not stands.confident_error
    assert stands.due < today + timedelta(days=365)


def test_every_answer_from_a_time_when_the_clock_was_ahead(session, say, clock):
    today = clock.now
    clock.now = datetime(2031, 6, 1, tzinfo=UTC)
    for card in ("ridge_point", "kv_total"):
        say(card, True, 3)
    clock.now = today
    assert all(session.state().standing[card].due < today + timedelta(days=30) for card in ("ridge_point", "kv_total"))


# --- undo


def test_undo_is_an_event_and_takes_back_the_last_answer(session, ledger, say, clock):
    say("ridge_point", True, 5)
    clock.move(minutes=1)
    before = session.state()
    last = say("gemm_roof", False, 5, "gemm_always_near_peak")
    assert session.state().held_beliefs and session.state().standing["gemm_roof"].last == last
    gone = session.undo()
    assert gone == last
    after = session.state()
    assert after.reviews == before.reviews and after.held_beliefs == [] and after.standing["gemm_roof"].last is None
    assert [event.kind for event in ledger.events()] == ["reviewed", "reviewed", "undo"], "nothing was removed"
    assert ledger.events()[-1].payload == {"event": last.id}


def test_undo_again_takes_the_one_before_and_stops_at_nothing(session, say, clock):
    first = say("ridge_point")
    clock.move(minutes=1)
    second = say("gemm_roof")
    assert [session.undo(), session.undo(), session.undo()] == [second, first, None]
    assert session.state().reviews == () and session.answers == {}


def test_after_an_undo_the_card_comes_again_with_other_figures(session, say):
    card = template("gemm_intensity_square")
    shown = session.variant(card)
    assert session.variant(card) == shown, "a reload shows the same"
    say(card.id)
    session.undo()
    assert card.id in order(session)
    assert session.variant(card).seed == shown.seed + 1


def test_two_windows_that_undo_at_once_take_back_one_answer(session, ledger, say):
    last = say("ridge_point")
    ledger.append("review", "undo", {"event": last.id})
    ledger.append("review", "undo", {"event": last.id})
    assert session.state().reviews == ()


# --- what is kept


def test_an_answer_is_kept_whole(session, ledger, clock):
    shown = session.variant(template("ridge_point"))
    kept = session.answer(shown, " 156 ", 4, Grade(True))
    (event,) = ledger.events("review", "reviewed")
    assert event.payload == {
        "card": "ridge_point", "seed": 0, "answer": " 156 ", "confidence": 4, "correct": True, "misconception": None,
        "at": "2026-03-01T12:00:00.000000Z",
    }  # fmt: skip
    assert (kept.id, kept.at) == (event.id, clock.now)
    assert variant(template("ridge_point"), kept.seed) == shown, "the question can be shown again"


def test_confidence_and_clock_are_checked(session, ledger, clock):
    shown = session.variant(template("ridge_point"))
    for bad in (0, 6, "5", None):
        with pytest.raises(BadValue, match="from 1 to 5"):
            session.answer(shown, "1", bad, Grade(True))
    clock.now = datetime(2026, 3, 1)
    with pytest.raises((BadValue, TypeError)):
        session.answer(shown, "1", 3, Grade(True))
    with pytest.raises(BadValue, match="no time zone"):
        record.save_answer(ledger, shown, "1", 3, Grade(True), clock.now)
    assert ledger.events() == []


def test_a_clock_elsewhere_is_kept_as_utc(ledger):
    at = datetime(2026, 3, 1, 14, tzinfo=timezone(timedelta(hours=2)))
    kept = record.save_answer(ledger, variant(template("ridge_point"), 0), "1", 3, Grade(True), at)
    assert kept.at == datetime(2026, 3, 1, 12, tzinfo=UTC)
    assert state(ledger, at.astimezone(UTC)).standing["ridge_point"].last == kept


def test_everything_travels_by_export(session, ledger, say, clock, tmp_path):
    say("ridge_point", False, 5, "sparse_peak_is_dense")
    clock.move(days=1)
    say("gemm_roof", True, 4)
    say("kv_total")
    session.undo()
    record.tick(ledger, "derive_ridge", True)
    record.tick(ledger, "size_kv_cache", True)
    record.tick(ledger, "size_kv_cache", False)
    record.save_text(ledger, "surprise", "Bytes.\nNot FLOPs.")
    with open_ledger(tmp_path / "other.db") as other:
        other.import_(ledger.export())
        here, there = session.state(), state(other, clock.now)
        assert there.standing == here.standing and there.held_beliefs == here.held_beliefs
        assert record.ticks(there.events) == {"derive_ridge": True, "size_kv_cache": False}
        assert record.texts(there.events) == {"surprise": "Bytes.\nNot FLOPs."}


def test_a_reset_begins_anew(session, ledger, say):
    say("ridge_point")
    ledger.reset()
    assert session.state().reviews == () and len(ledger.history()) == 2


def test_a_newer_text_stands_and_the_older_stays(ledger):
    record.save_text(ledger, "surprise", "one")
    record.save_text(ledger, "surprise", "two")
    assert record.texts(ledger.events()) == {"surprise": "two"} and len(ledger.events()) == 2
    with pytest.raises(BadValue, match="write a line first"):
        record.save_text(ledger, "surprise", " \n")


def test_the_core_never_asks_for_the_time_and_never_prints():
    for path in Path(schedule.__file__).parent.glob("*.py"):
        text = path.read_text(encoding="utf-8")
        assert not re.search(r"datetime\.now|time\.time|\bprint\(|import marimo|import time\b", text), path.name
