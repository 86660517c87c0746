"""Uniform grids of b bits over −bound … bound, and the noise of rounding to them.

Δ = 2·bound / (levels − 1); a value is as likely anywhere between two levels, so the error's power is Δ²/12 (Bennett 1948).
A symmetric grid spends one code so that zero lies on it: 2^b − 1 levels, Δ = bound / (2^(b−1) − 1).
"""

from __future__ import annotations

import math

from ironlaw.errors import BadValue

LEAST, MOST = 2, 32  # bits of a grid; with 1 bit a symmetric one has zero alone


def levels(bits: int, symmetric: bool = True) -> int:
    """How many values a grid has."""
    if not LEAST <= bits <= MOST or bits != int(bits):
        raise BadValue(f"a grid of {bits} bits; give a whole number from {LEAST} to {MOST}", "bits")
    return int(2 ** int(bits)) - int(symmetric)


def step(bound: float, bits: int, symmetric: bool = True) -> float:
    """The distance between two levels, in the unit of `bound`."""
    if not (bound >= 0 and math.isfinite(bound)):
        raise BadValue(f"a grid from −{bound} to {bound}; give a finite bound of 0 or more", "bound")
    return 2.0 * bound / (levels(bits, symmetric) - 1)


def noise_power(bits: int, bound: float = 1.0, symmetric: bool = True) -> float:
    """Mean squared error of rounding what lies within the bound: Δ²/12."""
    return step(bound, bits, symmetric) ** 2 / 12.0


def sqnr_db(bits: int, symmetric: bool = True) -> float:
    """Signal over noise for values spread evenly over the grid, in dB: (bound²/3) / (Δ²/12). Towards 6.02 dB a bit with many levels."""
    return 10.0 * math.log10((1.0 / 3.0) / noise_power(bits, 1.0, symmetric))


def factor_per_bit(bits: int, fewer: int | None = None) -> float:
    """The factor by which noise grows from `bits` to `bits − 1`; with `fewer`, the mean factor per bit on the way there."""
    end = bits - 1 if fewer is None else fewer
    if end >= bits:
        raise BadValue(f"from {bits} to {end} bits nothing is taken away; name fewer bits", "bits")
    return float((noise_power(end) / noise_power(bits)) ** (1.0 / (bits - end)))
