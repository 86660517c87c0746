"""Matrix products on a chip that nobody measured: tiles, handed out in waves, deep ones split along their depth.

A product of m × n × k in tiles of a × b, each split into s parts along k, is b⌈m/a⌉⌈n/b⌉s blocks, which the multiprocessors take in waves:

    t = ‖ waves · 2ab(k/s + k₀) / (r · e),  D / (BW · share),  L2 traffic ‖ₚ

r is what one multiprocessor does, from the datasheet, and e the share of it that a tile of this size reaches. The library takes the
tile and split that are soonest done, or nearly. Constants are fitted to published rows (`benchmarks/transfer.py`).
"""

from __future__ import annotations

from dataclasses import dataclass

from ironlaw.calibration.transfer.chip_traits import Chip
from ironlaw.calibration.transfer.stream_law import joint, missed
from ironlaw.engine.arrays import Number, ceil, maximum, minimum, where
from ironlaw.engine.device.sweep import points

SPLITS = (1, 2, 4, 8, 16)
SLOWEST = 2048.0  # FLOP in a clock at 16 bits of an A100's multiprocessor, the slowest one that published rows are of
OUTPUTS, PRODUCTS = 4, 36  # of a tile of Winograd's F(4×4, 3×3): outputs on a side, and products of two numbers for each channel
LARGE = 8192.0  # the sides of a product that reaches what a chip can


@dataclass(frozen=True, slots=True)
class ProductConstants:
    """`tiles`: sides and the share of a multiprocessor's rate that each size reaches beside the largest one's."""

    tiles: tuple[tuple[float, float, float], ...]
    share: float  # of the peak, where everything is full
    knee: float  # k₀: steps that filling and emptying a tile costs
    alone: float  # a multiprocessor wants (largest tile / tile)^alone small tiles at a time to be as fast as it can
    wave: float  # of the last wave's idle multiprocessors, the share that waits; 1: all of it
    split: float  # what each doubling of the parts adds to the arithmetic
    memory: float  # share of the stream's bandwidth
    p: float
    floor: float  # seconds
    winograd: float = 1.0  # how much longer Winograd's products and transforms take than the law says


def rate_of_one(chip: Chip, fmt: str) -> float:
    """FLOP/s of one multiprocessor: lanes and clock, times what its matrix units add."""
    return 2.0 * chip.lanes * chip.clock * chip.peaks[fmt] / chip.vector


def held_back(seen: float, rate: float) -> float:
    """The share of a multiprocessor's `rate` that a tile reaches, FLOP in a clock at 16 bits. What holds small ones back are their
    loads, which take as long on a slow multiprocessor: one that computes less in a clock than any with published rows does as many
    steps, up to all that it can."""
    return min(seen * max(SLOWEST / rate, 1.0), max(seen, 1.0))


def arithmetic(
    sizes: tuple[Number, Number, Number, Number], chip: Chip, fmt: str, share: float, c: ProductConstants, stepwise: bool = True
) -> Number:
    """Seconds of the multiply-adds of `batch` products of m × n × k, in whole tiles and waves if `stepwise`."""
    batch, m, n, k = sizes
    one, whole = rate_of_one(chip, fmt) * share, chip.peaks[fmt] * share
    sustained = one / (chip.clock * c.share) if fmt in ("fp16", "bf16") else SLOWEST
    best: Number = float("inf")
    largest = max(a * b for a, b, _ in c.tiles)
    for a, b, seen in c.tiles:
        reached = held_back(seen, sustained)
        down, across = (ceil(m / a), ceil(n / b)) if stepwise else (maximum(m / a, 1.0), maximum(n / b, 1.0))
        tiles, enough = batch * down * across, (largest / (a * b)) ** c.alone
        for parts in SPLITS:
            extra = 1.0 + c.split * (parts.bit_length() - 1)
            full = tiles * parts / chip.sms
            waves = full + c.wave * ((ceil(full) if stepwise else maximum(full, 1.0)) - full)
            each = 2.0 * a * b * (k / parts + c.knee) * extra / reached
            best = minimum(best, maximum(maximum(waves, enough) * each / one, full * chip.sms * each / whole))
    return best


def product_s(
    sizes: tuple[Number, Number, Number, Number],
    data: Number,
    chip: Chip,
    fmt: str,
    c: ProductConstants,
    streams: float,
    share: float,
    stepwise: bool = True,
) -> tuple[Number, Number, Number]:
    """(data, compute, both as they overlap) in seconds. `streams`: bytes/s that a stream gets; `share`: of the peak, sustained."""
    compute = arithmetic(sizes, chip, fmt, share * nearer(chip, fmt, share, c), c, stepwise)
    moved = data * missed(data, chip) / (streams * c.memory)
    return moved, compute, joint(moved, compute, c.p)


def winograd_s(
    image: tuple[Number, Number, Number, Number], data: Number, chip: Chip, c: ProductConstants, streams: float, share: float
) -> tuple[Number, Number, Number]:
    """The same for a 3×3 convolution of stride 1 by Winograd's minimal filtering (Lavin and Gray 2015), each step a kernel: 4×4 outputs of
    a channel take 36 products where they took 144, but inputs and outputs pass through memory once more, as 36 numbers for each tile.
    `image`: (tiles, groups, channels in, channels out)."""
    tiles, groups, inner, outer = image
    more = 2.0 * 4.0 * PRODUCTS * tiles * groups * (inner + outer)
    moved, compute, _ = product_s((PRODUCTS * groups, tiles, outer, inner), data + more, chip, "fp32", c, streams, share)
    moved, compute = c.winograd * moved, c.winograd * compute
    return moved, compute, moved + compute


def sooner(a: tuple[Number, Number, Number], b: tuple[Number, Number, Number]) -> tuple[Number, Number, Number]:
    """The one of two ways that is sooner done."""
    first = points(a[2]) <= points(b[2])
    return where(first, a[0], b[0]), where(first, a[1], b[1]), where(first, a[2], b[2])


def nearer(chip: Chip, fmt: str, share: float, c: ProductConstants) -> float:
    """How much more of its peak the chip was seen to reach in a large product than the law says; 1 where that is not known."""
    seen = chip.reached(fmt)
    if seen is None:
        return 1.0
    return float(seen * chip.peaks[fmt] * arithmetic((1.0, LARGE, LARGE, LARGE), chip, fmt, share, c) / (2.0 * LARGE**3))
