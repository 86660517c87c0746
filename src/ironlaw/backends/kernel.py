"""A kernel by what its time depends on, and a measured one."""

from __future__ import annotations

from collections.abc import Iterable
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


@dataclass(frozen=True, slots=True)
class Sample:
    """What one launch of a kernel took, in seconds: what a curve is fitted to."""

    kernel: Kernel
    seconds: float


def multiple(size: Number, of: int) -> bool:
    """Whether a size is a multiple; a swept one is assumed to be."""
    return bool(size % of == 0) if not is_array(size) else True


def padded(size: Number, to: int) -> Number:
    """A size as whole tiles hold it."""
    return (size + to - 1) // to * to


def launched(kernels: Iterable[Kernel]) -> tuple[Kernel, ...]:
    """The kernels that are launched, without those of paths that are not taken."""
    return tuple(k for k in kernels if is_array(k.count) or k.count > 0)
