"""What comes from an earlier lab is offered, never inherited: a button under the picture, and a line that says what it changes.

An act's `offers(lab)` lists them. Each gives values as the earlier design has them; one that its dial can't take goes to the nearest it
can, and the line says so. An instrument itself opens at its question's case, whatever the ledger holds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ironlaw import lab_names
from ironlaw.units import joined, significant
from ironlaw.widget.dials import Dial, settle, why_not


@dataclass(frozen=True)
class Offer:
    """`lab`: whose design it is, by its slug; `what`: "server (10% load)"; `dials`: dial -> value of that design."""

    lab: str
    what: str
    dials: Mapping[str, Any]


def shown(offers: Iterable[Offer], dials: Callable[[Mapping[str, Any]], Sequence[Dial]]) -> list[dict[str, Any]]:
    """Each as the page has it: the button's words, the line, and where all dials go. One that changes nothing is left out."""
    return [entry for offer in offers if (entry := _shown(offer, dials))]


def _shown(offer: Offer, dials: Callable[[Mapping[str, Any]], Sequence[Dial]]) -> dict[str, Any] | None:
    case, _ = settle(dials({}), {})
    asked = {name: value for name, value in offer.dials.items() if value is not None}
    by_name = {dial["id"]: dial for dial in dials(case) if not dial.get("hidden")}
    wanted = {name: nearest(by_name[name], value) for name, value in asked.items() if name in by_name}
    changes = {name: value for name, value in wanted.items() if value is not None and value != case[name]}
    clamped = {name: value for name, value in asked.items() if name in by_name and not _same(wanted[name], value)}
    if not changes:
        return None
    parts = [_change(by_name[name], case[name], value) for name, value in changes.items()]
    notes = [_moved(by_name[name], value, wanted[name]) for name, value in clamped.items()]
    name = lab_names.name(offer.lab) or offer.lab
    line = "It changes " + "; ".join(parts) + "." + "".join(f" {note}" for note in notes)
    return {"label": f"Start from my {name} {offer.what}", "note": line, "dials": case | changes}


def _change(dial: Dial, before: Any, after: Any) -> str:
    return f"{dial['label']}: {words(dial, before)} → {words(dial, after)}"


def _same(put: Any, asked: Any) -> bool:
    """Half a percent is what a dial's steps round away."""
    if isinstance(put, (int, float)) and isinstance(asked, (int, float)):
        return abs(put - asked) <= 0.005 * max(abs(put), abs(asked))
    return bool(put == asked)


def _moved(dial: Dial, asked: Any, put: Any) -> str:
    if put is None:
        return f"{dial['label']} stays: {why_not(dial, asked)}."
    return f"Your {words(dial, asked)} had to become {words(dial, put)}, the nearest that this dial has."


def nearest(dial: Dial, value: Any) -> Any:
    """The value that the dial can have which is nearest; None where none is like it."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return value if why_not(dial, value) is None else None
    if "options" in dial:
        usable = [option["value"] for option in dial["options"] if not option["disabled"]]
        numbers = [each for each in usable if isinstance(each, (int, float)) and not isinstance(each, bool)]
        return min(numbers, key=lambda each: abs(each - value), default=None)
    if "min" not in dial:
        return None
    inside = min(max(value, dial["min"]), dial["max"])
    if dial.get("steps"):
        return min(dial["steps"], key=lambda step: abs(step - inside))
    return round(inside) if dial.get("whole") else inside


def words(dial: Dial, value: Any) -> str:
    """A value as the dial shows it."""
    label = next((option["label"] for option in dial.get("options", ()) if option["value"] == value), None)
    if label is not None:
        return str(label)
    if isinstance(value, bool):
        return "on" if value else "off"
    number = significant(value) if isinstance(value, (int, float)) else str(value)
    return joined(number, dial.get("unit") or "")
