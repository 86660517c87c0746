"""The chains that experiments time: their constants, and how large a block of one pass over memory is."""

from __future__ import annotations

from ironlaw.measure.devices.device import Shape

BLOCK = 256 * 2**10  # bytes of a block, for each thread: inside most second-level caches, and long beside the calls
DROP = 0.1  # share that dropout sets to zero
EPSILON = 1e-5
SCALE, SHIFT = 1.01, 0.01  # of the pointwise ops: near one, so that no number overflows after many
SEED = 7


def rows_in_block(shape: Shape, size: int, threads: int = 1) -> int:
    """Rows of a block that so many threads share, at least one; `size`: bytes of an element."""
    return max(1, min(shape[0], threads * BLOCK // (shape[1] * size)))
