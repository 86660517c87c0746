"""How a library runs ops on a kind of device: the questions that every backend answers.

A backend is a folder of `ironlaw.backends` with `BACKEND` in its `__init__.py`, or any object given to `backends.register`.
It holds no figures of one chip: what follows from a chip (multiprocessors, clock, balance, caches) it asks the machine for.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from statistics import median
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from ironlaw.backends.inductor import INDUCTOR
from ironlaw.engine.device.compiler_rules import Rules
from ironlaw.engine.device.host import Host
from ironlaw.engine.device.saving import ON_GPU, Saving
from ironlaw.errors import BadValue

if TYPE_CHECKING:
    from ironlaw.backends.kernel import Kernel, Sample
    from ironlaw.backends.rows import Row
    from ironlaw.backends.signatures import Signature
    from ironlaw.engine.arrays import Number
    from ironlaw.engine.device.machine import Hardware
    from ironlaw.engine.device.types import Graph, Op

# launch rows -> op kinds whose host cost they stand for
KINDS_OF_ROW = {
    "cast": ("cast",), "add_": (), "mul_scalar": ("scale", "shift"), "pow2": ("power", "square", "cube"), "pad": ("pad",),
    "transpose_contiguous": ("transpose",), "sdpa": ("attention",), "copy_": (), "dropout_train": ("dropout",), "where": ("select",),
    "adaptive_avg_pool2d": ("avg_pool2d",), "conv2d": ("conv2d",),
}  # fmt: skip
PLAIN = ("add", "mul", "relu", "gelu", "silu", "sigmoid", "copy")  # launch rows whose median is the default


class Backend(ABC):
    """One library on one kind of device. Stateless: every answer follows from the arguments."""

    name: str
    dispatch: str  # how launches reach the device, one of engine.device.machine.SCHEDULES
    rules: Rules = INDUCTOR  # what its compiler fuses
    narrowed: Mapping[str, tuple[str, ...]] = MappingProxyType({})  # a way to ask for FP32 -> op kinds that run in TF32 on matrix units
    timed: tuple[str, ...] = ()  # names of ops that capture has no kind for, whose kernels have curves of their own
    caches: tuple[str, ...]  # fields of a machine's description with the size of the cache before main memory, best first
    saving: Saving = ON_GPU  # in what formats it saves what the backward pass needs
    row_time: str = "busy_s"  # the field of a model's row that is its device time

    @property
    @abstractmethod
    def fallback(self) -> Mapping[str, str]:
        """A curve that was not measured -> the one whose work is most alike."""

    @abstractmethod
    def lower(self, op: Op, machine: Hardware, mode: str) -> tuple[Kernel, ...]:
        """The kernels behind an op on this machine, eager or as the compiler leaves it."""

    @property
    def estimates(self) -> Mapping[str, Mapping[str, float]]:
        """Constants of a curve that no row says anything of, from whole models' times: by the curve's name."""
        return MappingProxyType({})

    def scratch(self, op: Op, machine: Hardware, mode: str) -> Number:
        """Bytes of memory that an op takes for itself while it runs."""
        return 0.0

    @abstractmethod
    def samples(self, rows: Iterable[Row], machine: Hardware) -> Iterator[Sample]:
        """What rows of evidence say about single kernels."""

    def prepare(self, graph: Graph, machine: Hardware) -> Graph:
        """The graph that the compiler's fusion starts from, after what it rewrites."""
        return graph

    def arrange(self, ops: Sequence[Op]) -> tuple[Op, ...]:
        """A compiled graph's ops with the layouts that the library gives their tensors."""
        return tuple(ops)

    def signature(self, op: Op, mode: str) -> Signature | None:
        """Where an op lies among its like, whose kernels this library chooses; None where a compiler writes the kernel."""
        from ironlaw.backends.signatures import signature
        from ironlaw.engine.device.work import category, lowering

        return signature(op) if lowering(op, mode) == "eager" or category(op.kind) == "contraction" else None

    def stands_in(self, op: Op) -> bool:
        """Whether another kind stands for an op that no row measures."""
        from ironlaw.engine.device.work import STAND_IN

        return op.attrs.get(STAND_IN) not in (None, *self.timed)

    def measured(self, row: Row) -> Op | None:
        """The op that a row was measured on, where the row's own time is that op's alone."""
        return None

    def alike(self, op: Op, kernel: Kernel) -> bool:
        """Whether a curve of other ops is this kernel's too: element-wise ops are one loop with another body."""
        from ironlaw.engine.device.work import category

        return category(op.kind) == "elementwise"

    def launches(self, rows: Sequence[Row]) -> dict[str, float]:
        """Host seconds per call by op kind, and "default", from launch rows."""
        seconds = by_kind(rows)
        seconds["default"] = seconds["elementwise"] = median(row.wall_s for row in rows if row.op in PLAIN and row.wall_s is not None)
        return seconds

    def launch(self, op: Op, host: Host, mode: str, kernels: Number) -> Number:
        """Host seconds that an op's launches cost."""
        return host.launch(op, mode, kernels)

    def host(self, rows: Sequence[Row], name: str = "") -> Host:
        """What launch rows say about the processor that launches."""
        launches = self.launches(rows)
        entry = next((row.wall_s for row in reversed(rows) if row.op == "compiled" and row.wall_s is not None), 0.0)
        return Host(launches, entry, launches.get("sync_roundtrip", launches["default"]), name=name)

    def cache_bytes(self, described: Mapping[str, Any]) -> float:
        """The cache before main memory, from a machine as evidence describes it."""
        for name in self.caches:
            if described.get(name):
                return float(described[name])
        raise BadValue(f"the machine's description has no {' or '.join(self.caches)}; add one in bytes to the evidence's machine")


def by_kind(rows: Sequence[Row]) -> dict[str, float]:
    """Host seconds per call of each launch row, by the op kinds that it stands for."""
    return {kind: row.wall_s for row in rows if row.wall_s is not None for kind in KINDS_OF_ROW.get(row.op, (row.op,))}
