"""Bytes by format: scales beside narrow weights, the places of non-zeros, two of four, low rank. A file is not a kernel: no times here."""

from __future__ import annotations

import math

from ironlaw.engine.arrays import Number
from ironlaw.errors import BadValue

BYTE = 8.0


def stored_bits(bits: float, group: float = 0, scale_bits: float = 16, zero_bits: float = 0) -> float:
    """Bits per weight, with its share of its group: b + (scale + zero) / group. A group of 0 means one scale for all, which is free."""
    if not (bits > 0 and group >= 0 and scale_bits >= 0 and zero_bits >= 0):
        raise BadValue(f"{bits} bits in groups of {group} with {scale_bits} + {zero_bits} bits each; give no negative figures")
    return bits + ((scale_bits + zero_bits) / group if group else 0.0)


def csr_bytes(rows: Number, nonzeros: Number, value_bits: float, index_bits: float = 32) -> Number:
    """Compressed sparse rows: each non-zero with its column, and where each row begins (4 B)."""
    return nonzeros * (value_bits + index_bits) / BYTE + (rows + 1) * 4.0


def csr_breakeven(value_bits: float, index_bits: float = 32, columns: float = math.inf) -> float:
    """The share of zeros from which compressed rows are smaller than the dense matrix; short rows pay for their 32-bit pointers too.
    Above 1 they never are."""
    if not (value_bits > 0 and index_bits >= 0 and columns > 0):
        raise BadValue(
            f"values of {value_bits} bits, columns of {index_bits} bits, rows of {columns}; give none below 0, and values and rows above it"
        )
    return 1.0 - (value_bits - 32.0 / columns) / (value_bits + index_bits)


def bitmap_bytes(weights: Number, nonzeros: Number, value_bits: float) -> Number:
    """One bit per weight says whether it is there; then the values that are."""
    return weights / BYTE + nonzeros * value_bits / BYTE


def nm_storage(n: int, m: int, bits: float) -> float:
    """n of each m weights kept, each with its place among the m: a share of the dense bytes. `nm_storage(2, 4, 16)` is 0.5625."""
    if not (0 < n <= m < math.inf and n == int(n) and m == int(m) and bits > 0):
        raise BadValue(f"{n} of {m} weights of {bits} bits; keep at least one and at most all of each group")
    places = math.ceil(math.log2(m))
    return n * (bits + places) / (m * bits)


def low_rank_bytes(rows: Number, columns: Number, rank: Number, bits: float = 32) -> Number:
    """Two thin factors in place of a matrix."""
    return (rows + columns) * rank * bits / BYTE


def pruned_macs(share: float, inner: bool = True) -> float:
    """Multiply-adds left when a share of the channels goes: an inner layer loses inputs and outputs, (1 − s)²; at an end 1 − s."""
    if not 0 <= share <= 1:
        raise BadValue(f"the share is {share}; give one between 0 and 1", "share")
    return (1.0 - share) ** (2 if inner else 1)
