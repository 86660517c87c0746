"""What arithmetic a chip sustains: its peak, or what its power buys, whichever is less."""

from __future__ import annotations

from collections.abc import Mapping

from ironlaw.calibration.transfer.chip_traits import NEWEST, Chip


def as_tight(chip: Chip, other: Chip) -> bool:
    """Whether a chip has no more watts for each operation of its peak at 16 bits than another, so that its clock falls as far."""
    return chip.power / chip.peaks["fp16"] < 1.01 * other.power / other.peaks["fp16"]


def sustained(chip: Chip, fmt: str, share: float, watts: Mapping[str, Mapping[str, float]]) -> float:
    """The share of the datasheet's peak that products keep up. `watts`: FLOP/s per watt by node, in vector units and in matrix units at 16
    bits; narrower formats do as many more as their peak says."""
    peak = chip.peaks[fmt]
    table = watts.get(chip.node) or watts[NEWEST]
    matrix = peak > 1.5 * chip.vector
    narrow = table["matrix"] * (peak / chip.peaks["fp16"] if "fp16" in chip.peaks else 1.0)
    each = max(narrow, table["vector"]) if matrix else table["vector"]
    return min(share, chip.power * each / peak)
