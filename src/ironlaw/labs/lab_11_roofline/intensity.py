"""Operations per byte, to read: always in FLOP/B, never in thousands of them, so that points and ridges compare at a glance."""

from __future__ import annotations

from typing import Any

from ironlaw import kit
from ironlaw.units import significant

UNIT = "FLOP/B"


def per_byte(value: Any, digits: int = 3) -> str:
    """For a sentence or a formula: `1,365 FLOP/B`."""
    return kit.dress(f"{significant(float(value), digits)} {UNIT}")


def card(label: str, value: Any, note: str = "") -> dict[str, Any]:
    return {**kit.card(label, float(value), UNIT, note=note), "value": significant(float(value)), "unit": UNIT}
