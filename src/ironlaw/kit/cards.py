"""Readout cards: a figure at a glance, coloured by the thresholds that hold in every lab."""

from __future__ import annotations

from typing import Any

from ironlaw.engine.device.machine import Figure
from ironlaw.kit.prose import NARROW, UNIT
from ironlaw.pictures.theme import tone
from ironlaw.units import parted, show, show_between, significant
from ironlaw.widget.quantities import cite, exact

__all__ = ["Card", "card", "cite", "share", "text_card", "tone"]

Card = dict[str, Any]
MINUS = "−"


def card(
    label: str, value: float, unit: str = "", *, tone: str = "", note: str = "", digits: int = 3, source: Figure | str = "", **more: str
) -> Card:
    """A figure with its unit; `exact` and `source` are what hovering shows. `more`: `word` beside it, `term` whose colour it has."""
    text = show(value, unit, digits)
    number, suffix = (text, "") if "× 10" in text else parted(text)
    return {
        "label": label, "value": number.replace("-", MINUS), "unit": suffix,
        "tone": tone, "note": UNIT.sub(NARROW, note), "exact": exact(value, unit), "source": cite(source), **more,
    }  # fmt: skip


def simulated_card(label: str, value: float, between: tuple[float, float], unit: str = "", **more: str) -> Card:
    """A simulated figure, with as many digits as its run is sure of: `≈ 500 ms`, `0.6–1 s`."""
    text = show_between(value, *between, unit)
    number, suffix = parted(text.removeprefix("about "))
    sign = "≈ " if text.startswith("about ") else ""
    return text_card(label, f"{sign}{number}", suffix, exact=exact(value, unit), **more)


def text_card(label: str, value: str, unit: str = "", **more: str) -> Card:
    """What `card` does not write: a count, a name, a dash. `more`: `note`, `tone`, `word`, `term`, `exact`."""
    note = {"note": UNIT.sub(NARROW, more["note"])} if "note" in more else {}  # no line ends between a number and its unit
    return {"label": label, "value": value, "unit": unit, **more, **note}


def share(part: float, whole: float) -> str:
    """`38%`, and `< 1%` rather than a zero."""
    percent = 100.0 * part / whole
    return "< 1%" if 0 < percent < 1 else f"{significant(percent, 2 if percent < 100 else 3)}%"
