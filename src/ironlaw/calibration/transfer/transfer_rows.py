"""Kernels that go over rows twice: layer norm and softmax. What a row's second reading finds in the cache, it need not fetch again.

As many rows are in flight as multiprocessors hold; once these outgrow the last cache, each row is read from memory again:

    t = ‖ (2 + again · miss) · D / BW,  (rows · a + elements · b) / (SMs · clock) ‖ₚ + floor

a and b are clocks that a row and an element cost a multiprocessor; exponentials are in b.
"""

from __future__ import annotations

from dataclasses import dataclass

from ironlaw.calibration.transfer.chip_traits import Chip
from ironlaw.calibration.transfer.stream_law import joint, ramp
from ironlaw.engine.arrays import Number, minimum

# Multiprocessors whose rows are in flight together: a typical chip's for all, so that a further multiprocessor never makes a kernel slower
IN_FLIGHT = 80.0


@dataclass(frozen=True, slots=True)
class RowConstants:
    again: float  # how often a row that the cache lost is read again
    resident: float  # rows that a multiprocessor has in flight
    row: float  # clocks
    element: float  # clocks
    memory: float  # share of a stream's bandwidth
    p: float
    floor: float  # seconds


def rows_s(rows: Number, width: Number, size: float, chip: Chip, c: RowConstants, streams: float) -> tuple[Number, Number, Number]:
    """(data, compute, both as they overlap) in seconds; `streams`: bytes/s that a stream gets."""
    data = rows * width * size
    flying = minimum(IN_FLIGHT * c.resident * width * size, data)
    lost = ramp(flying / chip.cache)
    main = data * (2.0 + c.again * lost) * ramp(2.0 * data / chip.cache) / (streams * c.memory)
    clocks = (rows * c.row + rows * width * c.element) / (chip.sms * chip.clock)
    return main, clocks, joint(main, clocks, c.p)
