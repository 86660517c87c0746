"""The gallery's card of the review: how many cards are due."""

from datetime import UTC, datetime, timedelta

import pytest

from ironlaw.ledger import open_ledger
from ironlaw.pages.gallery import entry
from ironlaw.pages.lab_catalogue import find
from ironlaw.pages.records import Cards, Records, cards, standings
from ironlaw.recall import record
from ironlaw.recall.card_templates import template
from ironlaw.recall.card_variants import variant
from ironlaw.recall.grade import Grade

SOON = datetime(2026, 1, 5, 12, 30, tzinfo=UTC).astimezone()  # on the clock of the machine that runs this


@pytest.fixture
def ledger(tmp_path):
    with open_ledger(tmp_path / "ledger.db") as opened:
        yield opened


def reviewed(ledger, card, ago, correct=True):
    record.save_answer(ledger, variant(template(card), 0), "7", 5, Grade(correct), datetime.now(UTC) - ago)


def test_due_cards_are_counted(ledger):
    assert cards(ledger.events()) == Cards()
    reviewed(ledger, "ridge_point", timedelta(hours=1), correct=False)  # comes back within minutes
    reviewed(ledger, "relu_regime", timedelta(days=400))
    reviewed(ledger, "tensors_moved", timedelta(0))
    found = cards(ledger.events())
    assert (found.due, found.answers) == (2, 3) and found.soon > datetime.now(UTC).isoformat()
    assert found.words == "2 cards due"
    record.undo(ledger)
    assert cards(ledger.events()).answers == 2


@pytest.mark.parametrize(
    ("given", "words", "verb"),
    [
        (Cards(), "not started", "Begin"),
        (Cards(1, 3), "1 card due", "Continue"),
        (
            Cards(0, 3, "2026-01-05T12:30:00+00:00"),
            f"nothing due; next card {SOON:%Y-%m-%d %H:%M}",
            "Continue",
        ),
        (Cards(0, 3), "nothing due", "Continue"),
    ],
)
def test_what_the_card_says(given, words, verb):
    html = entry(find("review"), Records(cards=given))
    assert f'<p class="state">{words}</p>' in html and f"{verb} →" in html and 'href="/lab/review/"' in html
    assert "Act I" not in html


def test_the_review_is_no_lab_to_continue(ledger):
    ledger.append("review", "opened", {})
    reviewed(ledger, "ridge_point", timedelta(0))
    assert standings(ledger.events()) == {}
    assert "progress not known" in entry(find("review"), Records(problem="gone"))
