"""What an experiment runs on: PyTorch where it is installed, else NumPy; each with the same few things to time.

A Library gives calls without arguments, their tensors made beforehand. `fused` lists the ways in which it can run a chain of ops
in one pass over memory: "blocked" takes a block that stays in the cache through all ops before the next one (what a fused kernel
does to memory, and more calls), "compiled" is torch.compile.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib.util import find_spec
from typing import Any, Protocol

from ironlaw.errors import MissingExtra
from ironlaw.measure.clock import Clock

BLOCK = 256 * 2**10  # bytes of a block, for each thread: inside most second-level caches, and long beside the calls
DROP = 0.1  # share that dropout sets to zero
EPSILON = 1e-5
SCALE, SHIFT = 1.01, 0.01  # of the pointwise ops: near one, so that no number overflows after many
SEED = 7
INSTALL = "install one with: pip install numpy"
Call = Callable[[], Any]
Shape = tuple[int, int]


class Library(Protocol):
    name: str  # "NumPy 2.1.3", as a page says it
    backend: str  # cpu, cuda or mps
    clock: Clock
    formats: tuple[str, ...]  # of the products
    fused: tuple[str, ...]
    threads: int | None
    tiny: dict[str, Call]  # ops on a tensor so small that only the call is left

    def three(self, shape: Shape, mode: str) -> Call:
        """LayerNorm, dropout, ReLU."""

    def chain(self, kinds: Sequence[str], shape: Shape, mode: str) -> Call:
        """Pointwise ops one after the other: scale, shift."""

    def product(self, n: int, dtype: str) -> Call:
        """A square matrix product."""


def installed() -> str:
    """What a run here would use: torch, numpy, or nothing at all."""
    return next((name for name in ("torch", "numpy") if there(name)), "")


def there(name: str) -> bool:
    """Whether a library can be imported, found out without doing so; a folder that only bears its name is none."""
    found = find_spec(name)
    return found is not None and found.origin is not None


def library(wanted: str = "") -> Library:
    """The one that is asked for, else the better one of those installed."""
    name = wanted or installed()
    if name == "torch":
        from ironlaw.measure.devices.torch_chains import Torch

        return Torch()
    if name == "numpy" and there("numpy"):
        from ironlaw.measure.devices.numpy_chains import NumPy

        return NumPy()
    raise MissingExtra(f"neither PyTorch nor NumPy is installed here; {INSTALL}")


def rows_in_block(shape: Shape, size: int, threads: int = 1) -> int:
    """Rows of a block that so many threads share, at least one; `size`: bytes of an element."""
    return max(1, min(shape[0], threads * BLOCK // (shape[1] * size)))
