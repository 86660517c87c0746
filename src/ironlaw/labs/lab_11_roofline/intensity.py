"""Operations per byte, to read: never in thousands of them, so that points and ridges compare at a glance."""

from __future__ import annotations

from typing import Any

from ironlaw import kit
from ironlaw.formats import intensity_unit
from ironlaw.units import significant


def per_byte(value: Any, fmt: str, digits: int = 3) -> str:
    """For a sentence or a formula: `1,365 FLOP/B`; integers have operations, not floating-point ones."""
    return kit.dress(f"{significant(float(value), digits)} {intensity_unit(fmt)}")


def card(label: str, value: Any, fmt: str, note: str = "") -> dict[str, Any]:
    unit = intensity_unit(fmt)
    return {**kit.card(label, float(value), unit, note=note), "value": significant(float(value)), "unit": unit}
