"""Attention in tiles: two products and an exponential for each pair of query and key, and for one query the keys and values as a stream.

Tiles of 128 queries go to the multiprocessors; the longest one ends last. Decoding reads all keys and values once, by as many
multiprocessors as there are heads and stretches of context to share out.
"""

from __future__ import annotations

from dataclasses import dataclass

from ironlaw.calibration.transfer.chip_traits import Chip
from ironlaw.calibration.transfer.product_law import rate_of_one
from ironlaw.calibration.transfer.stream_law import joint, missed
from ironlaw.engine.arrays import Number, ceil, minimum

TILE = 128  # queries
EXPONENTIALS = 16.0  # that a multiprocessor takes a clock: NVIDIA's since Volta; others are taken alike


@dataclass(frozen=True, slots=True)
class PrefillConstants:
    share: float  # of the matrix units' rate
    exponential: float  # clocks of the special function units that a pair costs, as a share of one exponential
    tail: float  # of the longest tile, the share that nothing else covers
    memory: float
    p: float
    floor: float  # seconds


@dataclass(frozen=True, slots=True)
class DecodeConstants:
    memory: float  # share of a stream's bandwidth
    clocked: float  # bytes that a multiprocessor moves in a clock
    chunk: float  # positions of the context that one multiprocessor takes at least
    shared: float  # 0: heads that share keys and values read them together; 1: each reads them, from the cache
    p: float
    floor: float  # seconds


def prefill_s(
    heads: Number,
    queries: Number,
    keys: Number,
    d: Number,
    causal: bool,
    data: Number,
    chip: Chip,
    fmt: str,
    c: PrefillConstants,
    streams: float,
) -> tuple[Number, Number, Number]:
    """(data, compute, both as they overlap) in seconds, for `heads` heads of all sequences together."""
    seen = (keys + TILE) / 2.0 if causal else keys
    tiles = ceil(queries / TILE)
    pair = 4.0 * d / (rate_of_one(chip, fmt) * c.share) + c.exponential / (EXPONENTIALS * chip.clock)
    total = heads * tiles * TILE * minimum(seen, keys)
    compute = pair * (total / chip.sms + c.tail * TILE * keys)
    moved = data * missed(data, chip) / (streams * c.memory)
    return moved, compute, joint(moved, compute, c.p)


def decode_s(
    heads: Number, groups: Number, keys: Number, data: Number, chip: Chip, c: DecodeConstants, streams: float
) -> tuple[Number, Number, Number]:
    """One query against a cache; `heads`: of all sequences together, and `groups` those of keys and values."""
    blocks = groups * ceil(keys / c.chunk)
    moved = data * missed(data, chip) / (streams * c.memory)
    clocked = data * (heads / groups) ** c.shared / (minimum(blocks, chip.sms) * chip.clock * c.clocked)
    return moved, clocked, joint(moved, clocked, c.p)
