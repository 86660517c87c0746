"""What can be asked of a library and a device: products, streams, tiny calls, single ops. NumPy and PyTorch answer, each its own way.

A *call* is a function without arguments that does the work once; its inputs were made beforehand.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from importlib.util import find_spec
from typing import Any

from ironlaw.errors import BadValue, IronlawError, MissingExtra
from ironlaw.measure.clock import Clock

Call = Callable[[], Any]
DEVICES = ("cpu", "cuda", "mps")
HASHED = 2**17  # bytes of the reference's hash
NEEDS = (
    "`ironlaw measure` needs NumPy or PyTorch to give the machine work: pip install numpy (a processor's rates and bandwidth), "
    "or pip install torch (operators, models and GPUs too)"
)


class Lacking(IronlawError):
    """Something that this library or device can't do: a number format, an op. It is noted and left out."""


@dataclass(frozen=True)
class Case:
    """One op at one shape, named as in a row of evidence (engine/rows.py knows the names)."""

    op: str
    params: dict[str, Any]
    prepare: Callable[[], Call]


@dataclass(frozen=True)
class Sizes:
    """How much is measured, and how long each figure may take (seconds)."""

    name: str
    each: float  # a figure
    longest: float  # one call, at the most
    streams: int  # points of the bandwidth curve between two powers of two: 1 or 2
    ops: bool = True  # single ops, for the fit
    compiled: float = 0.0  # the most to wait for a compiler; 0: leave it out
    tiny: float = 0.0  # a launch cost
    patience: float = 45.0  # seconds after which a disturbed part is not measured again

    @property
    def launch(self) -> float:
        return self.tiny or self.each


SHORT = Sizes("short", each=0.02, longest=0.1, streams=1, ops=False, patience=8.0)
QUICK = Sizes("quick", each=0.04, longest=0.15, streams=2, compiled=40.0, tiny=0.05)


@dataclass
class Backend(ABC):
    """One library on one device. What is abstract every one has to answer; the rest says what there is not."""

    library: str = ""
    device: str = "cpu"
    clock: Clock = field(default_factory=Clock)
    formats: tuple[str, ...] = ("fp32",)  # number formats whose product rate is tried
    base: str = "fp32"  # the one that models run in here
    profiles: bool = False  # whether `busy` tells kernel times
    grain: int | None = None  # elements that one thread takes of an element-wise op; None: never more than one thread

    def session(self) -> AbstractContextManager[Any]:
        """What has to hold while measuring, and not after."""
        return nullcontext()

    @abstractmethod
    def threads(self) -> int:
        """Threads that a large op uses."""

    def reference(self) -> Call:
        """The same small work, timed again and again. On a processor a hash by one thread: its time tells clocks and preemption,
        where that of a product by all threads varies by itself."""
        from hashlib import sha256

        data = bytes(HASHED)
        return lambda: sha256(data)

    @abstractmethod
    def gemm(self, fmt: str, n: int) -> Call:
        """C = A·B of n×n matrices. Raises Lacking where the format can't be multiplied."""

    @abstractmethod
    def stream(self, op: str, numel: int) -> Call:
        """`copy` (one read, one write) or `add` (two reads, one write) of FP32 arrays that stay where they are."""

    def spread_stream(self, numel: int) -> Call | None:
        """A copy by all processors at once, where the library's own uses one only."""
        return None

    @abstractmethod
    def launches(self) -> dict[str, Call]:
        """Ops on tensors so small that the call is all that costs."""

    def cases(self) -> Iterator[Case]:
        """Single ops at a few telling shapes, for the fit."""
        return iter(())

    def busy(self, calls: list[Call]) -> list[dict[str, Any]]:
        """Device time of each call, kernel by kernel, without its launch. Empty where the call is the work, or nobody tells."""
        return []

    def replay(self, call: Call, times: int) -> Call | None:
        """`times` calls recorded as one graph, replayed by a single call; None where there are no graphs."""
        return None

    def compiles(self, longest: float) -> tuple[list[dict[str, Any]], list[str]]:
        """What compiling a small function costs: rows, notes."""
        return [], []

    def memory(self) -> int | None:
        """Bytes of the memory that the device computes in, where the library tells."""
        return None

    def largest(self) -> int:
        """Bytes that a working set may take."""
        return 2**31

    @property
    def queued(self) -> bool:
        """Whether a call returns before its work is done."""
        return self.device != "cpu"


def choose(device: str | None = None) -> Backend:
    """The backend for `device`; without one the best that is here: CUDA, MPS, then the processor with PyTorch or NumPy."""
    if device is not None and device not in DEVICES:
        raise BadValue(f"device {device!r} is none of {', '.join(DEVICES)}; choose one of those")
    if find_spec("torch") is not None:
        from ironlaw.measure.devices.torch_device import backend as with_torch

        return with_torch(device)
    if device not in (None, "cpu"):
        raise MissingExtra(f"measuring {device} needs PyTorch: pip install torch")
    if find_spec("numpy") is not None:
        from ironlaw.measure.devices.numpy_cpu import WithNumpy

        return WithNumpy()
    raise MissingExtra(NEEDS)
