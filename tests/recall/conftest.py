"""A ledger of its own, a clock that is set by hand, and answers without a screen."""

from __future__ import annotations

import shutil
from datetime import UTC, datetime, timedelta
from functools import cache

import pytest
import quick_commits  # noqa: F401
from how_thorough import RELEASE

from ironlaw.ledger import open_ledger
from ironlaw.recall.card_templates import template
from ironlaw.recall.card_variants import Variant, variant
from ironlaw.recall.grade import Grade
from ironlaw.recall.review_session import Session

ALL, FEW = 200, 30


@cache
def _drawn(name: str) -> tuple[Variant, ...]:
    found = template(name)
    seeds = FEW if found.kind == "numeric" and not RELEASE else ALL  # how often each of few answers is right takes many to tell
    return tuple(variant(found, seed) for seed in range(seeds))


@pytest.fixture(scope="session")
def drawn():
    """A card's name -> its first variants, 30 of a number and 200 of others, and of all before a release, drawn once for all tests."""
    return _drawn


class Clock:
    def __init__(self) -> None:
        self.now = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)

    def __call__(self) -> datetime:
        return self.now

    def move(self, **time: float) -> None:
        self.now += timedelta(**time)


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture(scope="session")
def empty(tmp_path_factory):
    """A ledger that was just made: a copy of it takes no migration."""
    path = tmp_path_factory.mktemp("empty") / "ledger.db"
    open_ledger(path).close()
    return path


@pytest.fixture
def ledger(tmp_path, empty):
    with open_ledger(shutil.copy(empty, tmp_path / "ledger.db")) as opened:
        yield opened


@pytest.fixture
def session(ledger, clock):
    return Session(ledger, clock, new=1000)


@pytest.fixture
def say(session):
    """Answer a card as if it had been graded so."""

    def answer(card: str, correct: bool = True, confidence: int = 3, misconception: str | None = None):
        return session.answer(session.variant(template(card)), "said", confidence, Grade(correct, misconception))

    return answer
