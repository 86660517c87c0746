"""Keys that depend on the learner. `reads = "ledger"` in questions.toml gives a key three more names:

    standing    how often the learner's predictions in other labs were right (`recall.standing`)
    designs     {lab: its newest saved design}
    chance      of being right for somebody who chooses blindly

and those that the lab itself gives: `names = { start = "starts.start" }` in its [lab] is `start` of its module `starts`.

They are as the ledger had them when the question was first committed: an answer can't change its own key, nor can what came later.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from importlib import import_module
from typing import Any

from ironlaw.kit.question_sheet import CHOICES, Sheet
from ironlaw.ledger import Event


def bound(sheet: Sheet, ledger: Any, lab: str) -> Sheet:
    """The sheet with its personal questions bound to one learner."""
    questions = {
        name: replace(question, learner=_names(ledger, lab, name, sheet.lab.get("names", {}))) if question.personal else question
        for name, question in sheet.questions.items()
    }
    return replace(sheet, questions=questions)


def _names(ledger: Any, lab: str, question: str, own: Mapping[str, str]) -> Callable[[], Mapping[str, Any]]:
    kept: dict[str, Any] = {}  # once the question is committed nothing changes any more

    def names() -> Mapping[str, Any]:
        from ironlaw.recall.standing import standing  # brings the review's cards, and only a personal key asks

        if kept:
            return kept
        events = ledger.events()
        before = events_before(events, lab, question)
        found = {"standing": standing(before, lab), "designs": designs(before, lab), "chance": 1.0 / CHOICES}
        for name, place in own.items():
            module, _, original = place.rpartition(".")
            found[name] = getattr(import_module(f"ironlaw.labs.{lab}.{module}"), original)
        if len(before) < len(events):
            kept.update(found)
        return found

    return names


def events_before(events: list[Event], lab: str, question: str) -> list[Event]:
    """The events before the first commit of a question; all events if there is none."""
    for place, event in enumerate(events):
        if event.kind == "prediction" and event.lab == lab and event.question == question:
            return events[:place]
    return events


def designs(events: list[Event], without: str) -> dict[str, dict[str, Any]]:
    return {event.lab: event.payload for event in events if event.kind == "design" and event.lab != without}
