"""Saving a lab's design: what the HUD says of it. It is written by one button alone, never by looking."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ironlaw.ledger import Event

FOLLOW = ("dials", "goals")  # of a design: its dials are compared one by one, and what they meet follows from them


@dataclass(frozen=True, slots=True)
class Receipt:
    """What the HUD says about the ledger: saved (and when, where), changed since, not yet, or what went wrong."""

    saved: bool
    time: str = ""
    where: str = ""
    error: str = ""
    changed: bool = False


def receipt(ledger: Any, saved: Event | None, design: Mapping[str, Any], trouble: str = "") -> Receipt:
    """`saved`: the newest saved design; `design`: what would be saved now."""
    if trouble:
        return Receipt(False, where=ledger.where(), error=trouble)
    if saved is None:
        return Receipt(False, where=ledger.where())
    fields = {name: value for name, value in saved.payload.items() if name not in FOLLOW}
    changed = fields != _stored({name: value for name, value in design.items() if name not in FOLLOW}) or _moved(saved, design)
    return Receipt(True, saved.time, ledger.where(), changed=changed)


def _stored(design: Mapping[str, Any]) -> dict[str, Any]:
    """As JSON brings it back."""
    data: dict[str, Any] = json.loads(json.dumps(dict(design)))
    return data


def _moved(saved: Event, design: Mapping[str, Any]) -> bool:
    """Whether a dial stands elsewhere. A design of an earlier version has no dials: then only its fields count."""
    then, now = saved.payload.get("dials"), design.get("dials")
    if not isinstance(then, dict) or not isinstance(now, Mapping):
        return False
    return any(name in then and then[name] != _stored(dials) for name, dials in now.items())
