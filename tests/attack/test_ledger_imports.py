"""No ledger that was accepted makes a page fail. In process: the start page, the review and every lab's page, without a browser.

`IRONLAW_ATTACK=full` draws all pages of 40 random ledgers; otherwise the readers behind them, and the pages of one that holds it all.
"""

import shutil
import sys
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given

sys.path.insert(0, str(Path(__file__).parents[1] / "labs"))
sys.path.insert(0, str(Path(__file__).parent))
import ledger_fuzz
from attack_length import fuzzing
from headless import Page
from ledger_fuzz import ledgers

from ironlaw import kit
from ironlaw.errors import BadExport
from ironlaw.kit.lab_check import complete
from ironlaw.labs.review import review
from ironlaw.labs.review.lab import app as review_app
from ironlaw.ledger import open_ledger
from ironlaw.ledger.append import append_events
from ironlaw.ledger.events import Event
from ironlaw.pages import gallery, records
from ironlaw.pages.lab_catalogue import catalogue
from ironlaw.recall.review_session import state

LABS = ("lab_01_magnitude", "lab_07_fusion", "lab_08_ledger", "lab_11_roofline")


@pytest.fixture(scope="module")
def fresh(tmp_path_factory):
    """A new ledger for each call: a copy of one that was made once."""
    folder = tmp_path_factory.mktemp("fresh")
    open_ledger(folder / "empty.db").close()
    return lambda: open_ledger(shutil.copy(folder / "empty.db", folder / "ledger.db"))


def read(ledger):
    """Everything that the pages ask of a ledger, and two acts that must always be possible."""
    keeper = records.Keeper()
    keeper.ledger = ledger
    found = keeper.records()
    assert found.problem == ""
    assert gallery.gallery(catalogue(), found, "token").rstrip().endswith("</html>")
    now = state(ledger, datetime.now(UTC))
    assert now.due() is not None and now.claims and now.mastery and isinstance(now.held_beliefs, list)
    for slug in LABS:
        lab = kit.open(slug, ledger)
        for name, question in lab.questions.items():
            lab.standing(name)
            lab.choice(name), lab.correct(name), lab.confidence(name) if question.kind == "prediction" else lab.entry(name)
        assert lab.trouble == "" and isinstance(lab.record.complete, bool)
    again = ledger.import_(ledger.export())
    assert again == 0
    ledger.reset()


def draw_pages(ledger, slugs=LABS):
    """The pages themselves; a piece that can't compute says so in its view."""
    for slug in slugs:
        page = Page(ledger, slug)
        errors = {name: element.widget.view.get("error") for name, element in page.lab.elements.items()}
        assert not any(errors.values()), errors
    lab = review.open(ledger=ledger)
    review_app.run(defs={"lab": lab})
    assert not any(element.widget.view.get("error") for element in lab.elements.values())


def test_ledgers_by_the_schema_and_mutations_of_them(fresh, figure):
    seen = {"accepted": 0, "refused": 0}

    @fuzzing(12, 400)
    @given(ledgers())
    def attempt(data):
        with fresh() as ledger:
            try:
                ledger.import_(data)
            except BadExport:
                seen["refused"] += 1
                assert ledger.history() == []
                return
            seen["accepted"] += 1
            read(ledger)

    attempt()
    figure(f"{sum(seen.values())} random ledgers: {seen['refused']} refused whole, {seen['accepted']} imported, no reader failed")
    assert seen["accepted"] > 3


def test_pages_of_random_ledgers(fresh, figure):
    pages = []

    @fuzzing(3, 40)
    @given(ledgers(20))
    def attempt(data):
        with fresh() as ledger:
            try:
                ledger.import_(data)
            except BadExport:
                return
            draw_pages(ledger)
            pages.append(len(data["events"]))

    attempt()
    figure(f"{len(pages)} random ledgers of {sum(pages):,} events, four pages each: none failed")


# --- what gave way once

ODD = {
    "a review with a seed that is no number": ("review", "reviewed", {"card": "ridge_point", "seed": "x", "answer": "1", "confidence": 3,
        "correct": True, "misconception": None, "at": "2026-01-31T12:00:00Z"}),
    "a review at the end of time": ("review", "reviewed", {"card": "ridge_point", "seed": 1, "answer": "1", "confidence": 3,
        "correct": True, "misconception": None, "at": "9999-12-31T23:59:59Z"}),
    "a review with a confidence of 9": ("review", "reviewed", {"card": "ridge_point", "seed": 1, "answer": "1", "confidence": 9,
        "correct": True, "misconception": None, "at": "2026-01-31T12:00:00Z"}),
    "an undo of nothing": ("review", "undo", {}),
    "a tick of nothing": ("review", "ticked", {}),
    "a text of nothing": ("review", "written", {"prompt": "surprise"}),
    "a name that is none": ("", "named", {}),
    "a choice that is a number, as the docs once had it": ("lab_01_magnitude", "prediction", {"question": "act1", "choice": 2, "value": 1e6,
        "confidence": 4, "correct": False}),
    "a choice that is no option": ("lab_07_fusion", "prediction", {"question": "act1", "choice": "gone", "value": None, "confidence": 5,
        "correct": False}),
    "a reflection without an answer": ("lab_01_magnitude", "reflection", {"question": "act1_reflection"}),
    "a reflection with an option that is gone": ("lab_01_magnitude", "reflection", {"question": "act1_reflection", "choice": "gone",
        "correct": True}),
    "a challenge without a number": ("lab_07_fusion", "challenge", {"question": "challenge"}),
    "a design that no dial can have": ("lab_11_roofline", "decision", {"question": "act2_target", "dials": {"batch": []}, "met": True}),
    "an estimate in words": ("lab_11_roofline", "prediction", {"question": "act2_target", "choice": "cache", "value": "cache",
        "confidence": 5, "correct": True, "estimate": "many"}),
    "a context that is none": ("lab_01_magnitude", "context", {}),
    "a lab whose name is too long for a file": ("é" * 200, "prediction", {"question": "act1", "choice": "a", "value": 1, "confidence": 5,
        "correct": False}),
    "a design of words": ("lab_07_fusion", "design", {"arithmetic_intensity_unfused": -1, "arithmetic_intensity_fused": 0}),
    "a run without its rows": ("lab_01_magnitude", "measured", {"experiment": "ds_cnn", "rows": [{"kind": "launch"}], "machine":
        ledger_fuzz.machine(), "software": {}, "noise": {"reasons": 5}}),
}  # fmt: skip


def event(number, learner, lab, kind, payload, **more):
    made = f"00000000-0000-4000-8000-{number:012}"
    return Event(**{"id": made, "learner": learner, "epoch": 1, "lab": lab, "attempt": 1, "kind": kind, "payload": payload,
                    "time": "2026-01-31T12:00:00.000000Z"} | more)  # fmt: skip


@pytest.mark.parametrize("what", ODD)
def test_odd_events_are_refused_or_read(fresh, what):
    """By the import; and where an earlier version accepted one, it stays in the ledger and every page passes over it."""
    with fresh() as ledger:
        odd = event(1, ledger.learner, *ODD[what])
        try:
            ledger.import_(ledger_fuzz.export([{name: getattr(odd, name) for name in list(odd.__dict__)[:8]}]))
        except BadExport as error:
            assert "event 1" in str(error)
        else:
            read(ledger)
    with fresh() as ledger:
        with ledger.store.database.writing() as connection:
            append_events(connection, [event(1, ledger.learner, *ODD[what])])
        assert len(ledger.history()) == 1
        read(ledger)


def test_every_page_of_a_ledger_that_holds_all_of_them(fresh):
    """All at once, on a ledger in which every lab is complete, so that every part of every page is drawn."""
    with fresh() as ledger:
        for slug in LABS:
            complete(kit.open(slug, ledger))
        with ledger.store.database.writing() as connection:
            odd = [
                event(number, ledger.learner, *what, attempt=number if what[0] in LABS else 1)
                for number, what in enumerate(ODD.values(), 3)
            ]
            append_events(connection, [*odd, event(99, ledger.learner, "lab_01_magnitude", "of a later version", {"x": 1})])
        draw_pages(ledger)


def test_a_first_prediction_can_be_committed_beside_one_that_no_option_explains(fresh):
    """The docs' own example once locked Lab 01 for good."""
    from ironlaw.kit import lock

    with fresh() as ledger:
        ledger.import_(
            ledger_fuzz.export(
                [
                    {name: value for name, value in event(1, ledger.learner, *ODD[what]).__dict__.items() if name != "extra"}
                    for what in ODD
                    if what.startswith("a choice that is a number")
                ]
            )
        )
        lab = kit.open("lab_01_magnitude", ledger)
        assert lab.prediction("act1") is None
        piece = lock.lock(lab.question("act1"), "?", "", ledger, lab.slug, lambda: None)
        piece.state = {**piece.state, "choice": 1, "confidence": 3, "commit": 1, "seq": 1}
        assert piece.view["committed"]["attempt"] == 2 and piece.view["error"] is None
        assert kit.open("lab_01_magnitude", ledger).choice("act1").id == "e4"
