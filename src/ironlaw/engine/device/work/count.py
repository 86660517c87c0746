"""What a kind's counting function takes and returns, and the table that it enters."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ironlaw.engine.arrays import SCALARS, Number
from ironlaw.engine.device.types import Tensor

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


class Kinds(dict[str, tuple[str, Counter]]):
    """One file's op kinds: name -> (category, counting function). Calling it gives the decorator that adds to it."""

    def __call__(self, category: str, *names: str) -> Callable[[Counter], Counter]:
        """Add a counting function under its own name, or under each of `names`."""

        def add(count: Counter) -> Counter:
            for name in names or (count.__name__,):
                self[name] = (category, count)
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
