"""Kernels that move each byte once: a memory term and a multiprocessor term.

    t = ‖ D·miss / (BW · share),  D / (SMs · clock · bytes per clock) ‖ₚ + floor

The share of the datasheet's bandwidth that a stream gets belongs to the kind of memory; `miss` is what the last cache can't hold.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ironlaw.calibration.curve import CACHE_FROM, CACHE_TO
from ironlaw.calibration.transfer.chip_traits import Chip
from ironlaw.engine.arrays import Number, maximum, minimum

UNSEEN_MEMORY = "GDDR"  # whose share stands for a kind of memory that is among no rows


@dataclass(frozen=True, slots=True)
class StreamConstants:
    shares: Mapping[str, float]  # of the datasheet's bandwidth, by kind of memory
    amd: float  # times that on AMD's chips
    clocked: float  # bytes that a multiprocessor moves in a clock
    p: float
    floor: float  # seconds


def ramp(share: Number, start: float = CACHE_FROM, end: float = CACHE_TO) -> Number:
    """0 up to `start`, 1 from `end` on."""
    return minimum(maximum((share - start) / (end - start), 0.0), 1.0)


def missed(data: Number, chip: Chip) -> Number:
    """The share of a working set that the last cache does not hold."""
    return ramp(data / chip.cache)


def bandwidth(chip: Chip, c: StreamConstants) -> float:
    """Bytes/s that a long stream gets from main memory: as measured, or else the share that its kind of memory gives."""
    if "bandwidth" in chip.achieved:
        return chip.bandwidth * chip.achieved["bandwidth"]
    return chip.bandwidth * c.shares.get(chip.memory, c.shares[UNSEEN_MEMORY]) * (c.amd if chip.maker == "AMD" else 1.0)


def joint(a: Number, b: Number, p: float) -> Number:
    """Two terms as they overlap: p of 1 adds them, a large one leaves the longer."""
    longer = maximum(maximum(a, b), 1e-30)
    return longer * ((a / longer) ** p + (b / longer) ** p) ** (1.0 / p)


def stream_s(data: Number, chip: Chip, c: StreamConstants) -> Number:
    """Seconds of a stream of so many bytes, its floor left out."""
    main = data * missed(data, chip) / bandwidth(chip, c)
    return joint(main, data / (chip.sms * chip.clock * c.clocked), c.p)
