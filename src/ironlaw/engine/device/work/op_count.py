"""What a kind's counting function takes and returns, and the table that it enters."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ironlaw.engine.arrays import SCALARS, Number
from ironlaw.engine.device.types import Tensor
from ironlaw.engine.device.work.keeping import Pairs, Statistics

CATEGORIES = ("elementwise", "rowwise", "reduction", "contraction", "attention", "window", "lookup", "movement", "free", "opaque")


@dataclass(frozen=True, slots=True)
class Count:
    """The work of one op. `reads` and `writes` of None mean: every tensor once."""

    matmul: Number = 0.0
    vector: Number = 0.0
    reads: tuple[Number, ...] | None = None
    writes: tuple[Number, ...] | None = None
    scratch: Number = 0.0  # bytes written to memory and read back inside the op
    launches: Number = 1.0


Tensors = Sequence[Tensor]
Attrs = Mapping[str, Any]
Counter = Callable[[Tensors, Tensors, Attrs], Count]


@dataclass(frozen=True, slots=True)
class Kind:
    """All that is known of an op kind, said where it is declared: no other file lists kinds by these."""

    category: str
    count: Counter
    keeps: Pairs | None = None  # for the backward pass; None where nobody said: every input that needs a gradient
    statistics: Statistics | None = None  # kept beside that
    gathers: bool = False  # reads rows that lie in one piece: what lies otherwise is copied first
    narrows: bool = False  # under autocast it runs in the narrow format
    widens: bool = False  # under autocast it runs in FP32
    mixed: bool = False  # takes its parameters in another format than its input
    family: str = ""  # kinds that may stand for each other: "norm"
    unit: str = ""  # what its kernels take one by one: a "row", a "plane" of an image, a "result" of a sum
    grouped: bool = False  # its rows are groups of an image's channels, attr `groups`
    steps: int = 1  # of a compiler's, to compute an element again
    like: str = ""  # the kind whose launch its own is like, where it is another's gradient or variant


class Kinds(dict[str, Kind]):
    """One file's op kinds by name. Calling it gives the decorator that adds to it."""

    def __call__(self, category: str, *names: str, **traits: Any) -> Callable[[Counter], Counter]:
        """Add a counting function under its own name, or under each of `names`, with traits of `Kind`."""

        def add(count: Counter) -> Counter:
            for name in names or (count.__name__,):
                self[name] = Kind(category, count, **traits)
            return count

        return add


def per_element(flops: float) -> Counter:
    def count(x: Tensors, y: Tensors, a: Attrs) -> Count:
        return Count(vector=flops * y[0].size)

    return count


def require_equal(a: Number, b: Number, what: str) -> None:
    """Two sizes that must be equal; a swept one is not checked."""
    if isinstance(a, SCALARS) and isinstance(b, SCALARS) and a != b:
        raise ValueError(f"{what} differ, {a:g} and {b:g}")
