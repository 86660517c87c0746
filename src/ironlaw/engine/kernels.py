"""A kernel by what its time depends on, and which curve a matrix product follows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ironlaw.engine.arrays import Number, is_array


@dataclass(frozen=True, slots=True)
class Kernel:
    """One launch, by what its time depends on."""

    curve: str  # which fitted curve it follows
    data: Number  # bytes read and written
    flops: Number = 0.0
    rows: Number = 0.0  # rows or planes, each with a cost of its own
    depth: Number = 0.0  # steps of the inner loop, which run one after the other
    count: Number = 1.0


def gemm_curve(dtype: str, sizes: Sequence[Number]) -> str:
    """By format and, in two-byte formats, by how the rows are aligned."""
    if dtype not in ("fp16", "bf16"):
        return f"gemm_{dtype}"
    if all(multiple(size, 8) for size in sizes):
        return "gemm"
    return "gemm_even" if all(multiple(size, 2) for size in sizes) else "gemm_odd"


def multiple(size: Number, of: int) -> bool:
    """Whether a size is a multiple; a swept one is taken to be."""
    return bool(size % of == 0) if not is_array(size) else True


def padded(size: Number, to: int) -> Number:
    """A size as whole tiles hold it."""
    return (size + to - 1) // to * to
