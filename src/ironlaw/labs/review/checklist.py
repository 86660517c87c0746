"""The mastery checklist: ticks are claims, the cards behind them are the record, and the score's band says what to do."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from ironlaw.errors import BadValue
from ironlaw.labs.review.flashcard import plain
from ironlaw.ledger import Ledger
from ironlaw.recall import checklist as sheets
from ironlaw.recall import concepts, record
from ironlaw.recall.card_templates import template
from ironlaw.recall.checklist import Claim
from ironlaw.recall.review_session import State
from ironlaw.recall.schedule import Standing
from ironlaw.widget.acts import ActCounter
from ironlaw.widget.piece import Piece

GAPS = {"unbacked": "ticked, but the cards do not back it yet", "modest": "the cards back it: you may tick it", "": ""}


def checklist(ledger: Ledger, state: Callable[[], State], changed: Callable[[], None]) -> Piece:
    """`state` reads the ledger; `changed` is called once a tick is stored."""
    acts = ActCounter()

    def compute(values: Mapping[str, Any]) -> dict[str, Any]:
        if acts.advanced(values):
            statement = sheets.sheet().statement(str(values.get("statement")))
            if not isinstance(values.get("ticked"), bool):
                raise BadValue(f"{values.get('ticked')!r} is not a tick; a box is ticked or not")
            record.tick(ledger, statement.id, bool(values["ticked"]))
            changed()
        return view(state())

    return Piece("checklist", {"id": "checklist"}, compute, {"act": 0})


def view(state: State) -> dict[str, Any]:
    ticks, claims = record.ticks(state.events), state.claims
    points = sheets.score(ticks)
    band = sheets.band(points)
    labels = concepts.concept_map().concepts
    return {
        "rows": [_row(claim, state.standing) for claim in claims], "points": points, "of": len(claims), "begun": bool(ticks),
        "label": band.label, "action": band.action, "weak": [labels[name].label for name in sheets.weak_concepts(claims)] if ticks else [],
    }  # fmt: skip


def _row(claim: Claim, standing: Mapping[str, Standing]) -> dict[str, Any]:
    return {
        "id": claim.statement.id, "says": claim.statement.says, "ticked": claim.ticked, "record": f"{100 * claim.mastery:.0f}%",
        "backed": claim.backed, "gap": GAPS[claim.gap], "cards": [card_record(card, standing[card]) for card in claim.statement.cards],
    }  # fmt: skip


def card_record(card: str, standing: Standing) -> dict[str, Any]:
    """One card's record in words: nothing of its question or its key."""
    right = sum(review.correct for review in standing.reviews)
    words = f"{right} of {len(standing.reviews)} right" if standing.reviews else "not answered yet"
    return {"id": card, "label": template(card).name, "topic": plain(template(card).topic), "words": words}
