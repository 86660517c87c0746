"""Steps that a number format rounds to nothing."""

from __future__ import annotations

from math import floor, log2

BF16_BITS = 8  # of its significand, the hidden one included


def largest_lost(weight: float, significand: int = BF16_BITS) -> float:
    """The largest step that leaves a weight as it is: half the distance to the next number."""
    return float(2.0 ** (floor(log2(weight)) - significand))
