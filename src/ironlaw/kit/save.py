"""Saving a lab's design: once both acts are complete, and again when the controls have come to mean another design."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ironlaw.errors import LedgerError
from ironlaw.ledger import Ledger


@dataclass(frozen=True, slots=True)
class Receipt:
    """What the HUD says about the ledger: saved (and when, where), not yet, or what went wrong."""

    saved: bool
    time: str = ""
    where: str = ""
    error: str = ""


def save(ledger: Ledger, lab: str, design: Mapping[str, Any], complete: bool, touched: bool) -> Receipt:
    """`touched`: the learner did something since the page was opened. Only then is a changed design theirs, and saved anew:
    after a reload the dials stand at their defaults until the browser brings them back."""
    try:
        events = ledger.events(lab, "design")
        newest = events[-1] if events else None
        if complete and (newest is None or (touched and newest.payload != dict(design))):
            newest = ledger.append(lab, "design", dict(design))
    except LedgerError as error:
        return Receipt(False, where=ledger.where(), error=str(error))
    return Receipt(newest is not None, newest.time if newest else "", ledger.where())
