"""What one op costs on a machine, and whoever can say so: a calibration, or what other machines taught."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

from ironlaw.engine.arrays import Number, maximum, total
from ironlaw.engine.device.host import Host

if TYPE_CHECKING:
    from ironlaw.engine.device.compiler_rules import Rules
    from ironlaw.engine.device.machine import Hardware, Plan
    from ironlaw.engine.device.types import Graph, Op
    from ironlaw.engine.device.uncertainty import Doubt, Scatter


@dataclass(frozen=True, slots=True)
class Cost:
    """What one op takes, in seconds: terms on the device, kernels behind it, and what its launch costs the host."""

    data: Number
    compute: Number
    floor: Number = 0.0  # what each kernel takes whatever its size
    kernels: Number = 1.0
    launch: Number = 0.0
    joint: Number | None = None  # data and compute as they overlap on this machine; None: fully
    doubt: Doubt | None = field(default=None, compare=False)  # how sure the device time is; None for a bound

    @property
    def work(self) -> Number:
        return maximum(self.data, self.compute) if self.joint is None else self.joint

    @property
    def device(self) -> Number:
        return total((self.floor, self.work))


class CostModel(Protocol):
    """What measuring a machine has taught: what an op costs there (`ironlaw.calibration`)."""

    @property
    def host(self) -> Host:
        """The host that the device was measured with."""

    @property
    def backend(self) -> str: ...

    @property
    def sources(self) -> tuple[str, ...]: ...

    @property
    def graph_gap(self) -> float:
        """Seconds between kernels of a replayed graph."""

    @property
    def compile_kernel_s(self) -> float:
        """Host seconds to compile one kernel; 0 where that was not measured."""

    @property
    def rules(self) -> Rules:
        """What the compiler of this machine's library fuses."""

    def prepare(self, graph: Graph, hardware: Hardware) -> Graph:
        """The graph that the compiler's fusion starts from, after what it rewrites."""

    def arrange(self, ops: Sequence[Op]) -> tuple[Op, ...]:
        """A compiled graph's ops with the layouts that the library gives their tensors."""

    def cost(self, op: Op, hardware: Hardware, plan: Plan) -> Cost: ...

    def known(self, hardware: Hardware, plan: Plan) -> dict[Any, Cost]:
        """Costs that are known already, by the ops' keys; what is put there may be asked for again."""

    def sustain(self, costs: list[Cost]) -> list[Cost]:
        """The same costs in a graph: under steady load, where a clock falls, and each kernel among others."""

    @property
    def common(self) -> float:
        """What the errors of any two ops of a family share, however far apart they are."""

    @property
    def scatter(self) -> Mapping[str, Scatter]:
        """How models came out beside the sum of their ops: by mode, "training", and "host" for launches."""
