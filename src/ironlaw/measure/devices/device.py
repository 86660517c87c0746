"""What a library can do on a kind of device, and be timed at: products, streams, tiny calls, single ops, chains of ops, graphs.

A *call* is a function without arguments that does the work once; its inputs were made beforehand.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from typing import Any

from ironlaw.errors import IronlawError
from ironlaw.measure import software_host
from ironlaw.measure.clock import Clock, timed
from ironlaw.measure.devices.device_kinds import Kind
from ironlaw.measure.progress_lines import Stop
from ironlaw.measure.rows import Draft

Call = Callable[[], Any]
Shape = tuple[int, int]
EAGER, BLOCKED, COMPILED = "eager", "blocked", "compiled"  # ways to run a chain of ops
KERNELS, OPERATORS = "kernels", "operators"  # what torch.profiler may see of a model
HASHED = 2**17  # bytes of the reference's hash


class Unsupported(IronlawError):
    """Something that this library or device can't do: a number format, an op, a graph. It is noted and left out."""


@dataclass(frozen=True)
class Case:
    """One op at one shape, named as in a row of evidence."""

    op: str
    params: dict[str, Any]
    prepare: Callable[[], Call]


@dataclass
class Device(ABC):
    """One library on one kind of device. Every device answers what is abstract; optional methods default to unsupported."""

    library: str  # torch or numpy
    kind: Kind
    clock: Clock = field(default_factory=Clock)
    formats: tuple[str, ...] = ("fp32",)  # number formats whose product rate is tried
    default_format: str = "fp32"  # the one that models run in here
    grain: int | None = None  # elements that one thread takes of an element-wise op; None: never more than one thread
    times_kernels: bool = False  # whether `busy` gives kernel times
    has_graphs: bool = False  # whether `record` can record calls
    chosen: str = ""  # whose list of chosen cases it times (`suites.chosen_cases`); none by default
    profiles: str = ""  # what torch.profiler sees of a model's work here: KERNELS, OPERATORS, or neither

    @property
    def queued(self) -> bool:
        """Whether a call returns before its work is done."""
        return not self.kind.on_host

    # ---- what it is

    @abstractmethod
    def label(self) -> str:
        """The library with its version, and where it runs: `PyTorch 2.5.1 on the CPU`."""

    @abstractmethod
    def threads(self) -> int:
        """Threads that a large op uses."""

    def machine(self) -> dict[str, Any]:
        """The machine and this device of it, as evidence files describe them."""
        return software_host.machine()

    def caches(self) -> dict[str, float]:
        """Bytes of each cache over the whole device, as far as the system reports them."""
        return {level: float(size * count) for level, (size, count) in software_host.caches().items()}

    def clock_notes(self, work: Callable[[], None]) -> list[str]:
        """Clocks and throttling, as far as the system reports them; `work` keeps the device busy meanwhile: an idle one clocks down."""
        return software_host.clock_notes()

    def method_notes(self) -> list[str]:
        """Sentences on how times were taken that hold for this device only."""
        return []

    def power_limit(self) -> float | None:
        """Watts, where a limit can be read."""
        return None

    def memory(self) -> int | None:
        """Bytes of the memory that the device computes in, where the library reports it."""
        return None

    def free_memory(self) -> float:
        """Bytes of it that are free."""
        return software_host.free_memory()

    def largest(self) -> int:
        """Bytes that a working set may take."""
        return 2**31

    def release_memory(self) -> None:
        """Give memory back that the library holds and does not use; nothing where it holds none."""
        return None

    # ---- what it can do

    def session(self) -> AbstractContextManager[Any]:
        """What has to hold while measuring, and not after."""
        return nullcontext()

    def reference(self) -> Call:
        """The same small work, timed again and again. On a processor a hash by one thread: its time shows clocks and preemption,
        where that of a product by all threads varies by itself."""
        from hashlib import sha256

        data = bytes(HASHED)
        return lambda: sha256(data)

    def reference_s(self, reference: Call, seconds: float, stop: Stop | None = None) -> float:
        """What the reference takes now, by the device's own clock where it has one."""
        return timed(reference, self.clock, seconds=seconds, warmup=2, stop=stop).median

    @abstractmethod
    def gemm(self, fmt: str, n: int) -> Call:
        """C = A·B of n×n matrices. Raises Unsupported where the format can't be multiplied."""

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

    def fused_modes(self) -> tuple[str, ...]:
        """Ways to run a chain of ops in one pass over memory: `blocked` takes a block that stays in the cache through all ops before
        the next one (what a fused kernel does to memory, and more calls), `compiled` is torch.compile."""
        return ()

    def layernorm_dropout_relu(self, shape: Shape, mode: str) -> Call:
        """LayerNorm, dropout and ReLU of FP32 numbers, eager or in one of `fused_modes`."""
        raise Unsupported(f"{self.label()} has no layer norm to time")

    def pointwise_chain(self, kinds: Sequence[str], shape: Shape, mode: str) -> Call:
        """Pointwise ops (scale, shift) of FP32 numbers one after the other, eager or in one of `fused_modes`."""
        raise Unsupported(f"{self.label()} has no chain of ops to time")

    def busy(self, calls: list[Call]) -> list[dict[str, Any]]:
        """Device time of each call, kernel by kernel, without its launch. Empty where the call is the work, or nothing reports it."""
        return []

    def record(self, call: Call, times: int = 1) -> Call:
        """`times` calls recorded as one graph; the call that comes back replays it. Raises Unsupported where that can't be done."""
        raise Unsupported(f"no graphs can be recorded on {self.kind.name}")

    def compiles(self, longest: float) -> tuple[list[Draft], list[str]]:
        """What compiling a small function costs: rows, notes."""
        return [], []
