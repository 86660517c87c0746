"""What an op costs on a machine that nobody measured: laws where rows were published, and else the measured machine's curve, carried over.

A kernel of a kind that only one machine was measured with takes the time it takes there, as much longer or shorter as its law says of the
two machines. On a machine with the measured one's own multiprocessors (an H100 beside an H200) all of an op's time is carried over so.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, NamedTuple

from ironlaw.backends import Backend, require
from ironlaw.backends.kernel import Kernel
from ironlaw.backends.rows import Row
from ironlaw.calibration.kernel_laws import CHOSEN_AT_HOME, PUBLISHED, law
from ironlaw.calibration.machine_calibration import Calibration
from ironlaw.calibration.own_rows import OwnRows
from ironlaw.calibration.transfer.chip_traits import Chip, chip, multiprocessors
from ironlaw.calibration.transfer.more_rows import Ladders
from ironlaw.calibration.transfer.power import as_tight, sustained
from ironlaw.calibration.transfer.size_law import heavy
from ironlaw.calibration.transfer.stream_law import bandwidth, missed
from ironlaw.calibration.transfer.transfer_laws import Laws
from ironlaw.engine.arrays import Number, largest, log2, maximum, minimum
from ironlaw.engine.device.compiler_rules import Rules
from ironlaw.engine.device.cost import Cost
from ironlaw.engine.device.host import Host
from ironlaw.engine.device.lower_bound import least_arithmetic
from ironlaw.engine.device.machine import Hardware, Plan
from ironlaw.engine.device.roofline import transfer
from ironlaw.engine.device.sweep import points
from ironlaw.engine.device.types import Graph, Op
from ironlaw.engine.device.uncertainty import Doubt, Scatter
from ironlaw.engine.device.work import category

CUT = ("gemm_fp32", "bmm_fp32", "bmm_fp32_odd")  # curves of kernels whose arithmetic is counted in whole tiles and waves
LIBRARY = "cuda"  # whose kernels stand for those of other makers' builds of PyTorch, too
CARRIED = 0.15  # sd that carrying a curve over adds, as the laws' own errors between two machines of one maker
# Published FP32 products take over 100 µs, so the law knows nothing of short ones: what takes the H200 under SHORT seconds by the law is
# carried over, what takes it over LONG is not, and between them it is so by degrees
SHORT, LONG = 20e-6, 200e-6
# the same between two machines with the same multiprocessors: of products that were published of an H100 and an H200 alike, 225 in FP8 are
# off by an sd of 0.07 and 8 in BF16 by 0.13 (AIConfigurator)
KIN = 0.09
REACHED = 0.73  # of its peak that the H200 holds in its largest products in FP8: kin with fewer watts can not


class Taught(NamedTuple):
    """What other machines taught: the laws, and the curves and figures of the one whose curves are carried over."""

    laws: Laws
    pattern: Calibration
    measured: Hardware


@dataclass(frozen=True)
class Transfer:
    """A cost model of one machine. `own`: the machine, where it may be the kin of the measured one."""

    taught: Taught
    host: Host
    own: Hardware | None = None
    backend: str = LIBRARY
    graph_gap: float = 0.0
    compile_kernel_s: float = 0.0
    common: float = 1.0
    scatter: Mapping[str, Scatter] = field(default_factory=dict)
    rows: OwnRows | None = field(default=None, repr=False, compare=False)  # of the machine itself, which correct all the rest
    costs: dict[Any, tuple[Hardware, dict[Any, Cost]]] = field(default_factory=dict, init=False, repr=False, compare=False)
    ladders: Ladders = field(default_factory=Ladders, init=False, repr=False, compare=False)

    @property
    def laws(self) -> Laws:
        return self.taught.laws

    @property
    def pattern(self) -> Calibration:
        return self.taught.pattern

    @property
    def measured(self) -> Hardware:
        return self.taught.measured

    @property
    def sources(self) -> tuple[str, ...]:
        """Rows that the laws' constants were fitted to, and those behind what is carried over."""
        return (*self.laws.sources, f"curves of {self.measured.slug}: ironlaw's own evidence, carried over where no row was published")

    @cached_property
    def library(self) -> Backend:
        return require(self.backend)

    @property
    def rules(self) -> Rules:
        return self.library.rules

    @cached_property
    def home(self) -> Chip:
        return chip(self.measured)

    def prepare(self, graph: Graph, hardware: Hardware) -> Graph:
        return self.library.prepare(graph, as_cuda(hardware))

    def arrange(self, ops: Sequence[Op]) -> tuple[Op, ...]:
        return self.library.arrange(ops)

    def known(self, hardware: Hardware, plan: Plan) -> dict[Any, Cost]:
        """Costs under this plan so far; forgotten when the machine or the plan is another."""
        try:
            machine, costs = self.costs.get(plan, (None, dict[Any, Cost]()))
        except TypeError:  # a swept launch
            return {}
        if machine is not hardware:
            self.costs.clear()
            costs = {}
            self.costs[plan] = hardware, costs
        return costs

    def sustain(self, costs: list[Cost]) -> list[Cost]:
        """A kernel among others takes longer than by itself, as on the measured machine. Power is in the laws' shares already; what is
        carried to kin was measured in short calls, so there the clock falls under steady load as it does at home, unless power is ample."""
        return self._steady.sustain(costs)

    @cached_property
    def elsewhere(self) -> Calibration:
        """The measured machine's curves as they hold on a chip of another kind."""
        return replace(self.pattern, curves={name: curve for name, curve in self.pattern.curves.items() if name not in CHOSEN_AT_HOME})

    @cached_property
    def _steady(self) -> Calibration:
        target = chip(self.own) if self.own is not None else None
        falls = target is not None and self.is_kin(target) and as_tight(target, self.home)
        return replace(self.pattern, slower=self.pattern.slower if falls else 1.0, families={})

    def cost(self, op: Op, hardware: Hardware, plan: Plan) -> Cost:
        """An op's cost, never below what the datasheet allows. Rows of the machine itself may say that a larger product takes less."""
        if self.rows:
            raw = self.lawful_cost(op, hardware, plan)
            own = self.rows.corrected(op, raw, self.library.lower(op, self.measured, plan.lowering), plan.lowering)
            found = self.bounded(op, own, hardware)
        else:
            found = self.ladders.no_longer(
                lambda one: self.bounded(one, self.lawful_cost(one, hardware, plan), hardware), op, hardware, plan
            )
        return replace(found, scratch=self.library.scratch(op, self.measured, plan.lowering))

    def bounded(self, op: Op, raw: Cost, hardware: Hardware) -> Cost:
        """A cost that is no less than the datasheet allows."""
        if largest(points(raw.kernels)) == 0:
            return raw
        most = 1.0 if self.rows else self.held(op, hardware)
        compute = maximum(points(raw.compute), points(least_arithmetic(op, hardware)) / most)
        data = maximum(points(raw.data), points(transfer(op, hardware)))
        return replace(raw, data=data, compute=compute, joint=maximum(maximum(points(raw.work), data), compute))

    def held(self, op: Op, hardware: Hardware) -> float:
        """The share of its peak that a chip holds at most where laws of products don't say so. In attention that is what its power buys,
        which does no more per watt than a large product; in products that are carried over (FP8), what large ones were measured at."""
        target, kind = chip(hardware), category(heavy(op).kind)
        if op.dtype not in target.peaks:
            return 1.0
        if kind == "attention":
            return sustained(target, op.dtype, 1.0, self.laws.watts)
        measured = target.reached(op.dtype) if kind == "contraction" and op.dtype == "fp8" else None
        return 1.0 if measured is None else measured

    def given(self, rows: Sequence[Row], hardware: Hardware) -> Transfer:
        """The same, corrected by rows of the machine itself."""

        def priced(op: Op) -> tuple[Cost, Sequence[Kernel]]:
            return self.lawful_cost(op, hardware, Plan()), self.library.lower(op, self.measured, "eager")

        return replace(self, rows=OwnRows(tuple(rows), self.library, priced))

    def lawful_cost(self, op: Op, hardware: Hardware, plan: Plan) -> Cost:
        """An op's cost by its kernels' laws, or carried over as a whole where the laws have none of its kernels to themselves."""
        target = chip(hardware)
        kernels = self.library.lower(op, self.measured, plan.lowering)  # which the laws' sizes do not depend on
        if kernels and (self.is_kin(target) or all(self.carries(kernel, op, target) for kernel in kernels)):
            return self._carried(op, hardware, plan, target)
        data = compute = joint = floor = off = count = 0.0
        leading, longest = "stream", -1.0
        for kernel in kernels:
            parts, times = self.kernel_s(kernel, op, target), kernel.count
            data, compute, joint, floor = (so_far + times * part for so_far, part in zip((data, compute, joint, floor), parts, strict=True))
            seconds = points(times * (parts[2] + parts[3]))
            off, count = off + seconds * self.sd(kernel, op, target), count + times
            if largest(seconds) > longest:
                longest, leading = largest(seconds), law(kernel.curve, op.dtype)[0]
        doubt = Doubt(off / maximum(points(joint + floor), 1e-30), leading, place="near")
        return Cost(data, compute, floor, count, self.launch(op, hardware, plan, count), joint, doubt)

    def carries(self, kernel: Kernel, op: Op, target: Chip) -> bool:
        """Whether a kernel's time is carried over. The measured machine itself follows the law where rows were published."""
        return law(kernel.curve, op.dtype)[1] and not (self.is_home(target) and kernel.curve in PUBLISHED)

    def sd(self, kernel: Kernel, op: Op, target: Chip) -> float:
        own = self.laws.sd(law(kernel.curve, op.dtype)[0], target)
        return math.hypot(own, CARRIED) if self.carries(kernel, op, target) else own

    def by_law(self, kernel: Kernel, op: Op, target: Chip, reached: float = 0.0, stepwise: bool = True) -> tuple[Number, Number, Number]:
        """(data, compute, both as they overlap) in seconds for one launch, its floor left out."""
        return self.laws.seconds(law(kernel.curve, op.dtype)[0], kernel, op, target, available(op.dtype, target), reached, stepwise)

    def at_home(self, kernel: Kernel, op: Op, reached: float = 0.0) -> Number:
        """The law's seconds on the measured machine, beside which its curve stands: without the steps of tiles and waves, where the curve
        has none. A step of the law at home would else be a step down on every other machine."""
        return maximum(points(self.by_law(kernel, op, self.home, reached, stepwise=kernel.curve in CUT)[2]), 1e-30)

    def kernel_s(self, kernel: Kernel, op: Op, target: Chip) -> tuple[Number, Number, Number, Number]:
        """(data, compute, both as they overlap, floor) in seconds for one launch. Published rows have hosts and stacks in their floors:
        the measured machine's stand for all, as much longer as the clock is slower."""
        own = self.by_law(kernel, op, target)
        floor = self.pattern.curve(kernel.curve, op.kind).floor * self.slower(target)
        data, compute, overlap, _ = self.pattern.parts(kernel, op.kind)
        home = self.at_home(kernel, op)
        factor = own[2] / home
        if self.carries(kernel, op, target):
            return factor * data, factor * compute, factor * overlap, floor
        if not law(kernel.curve, op.dtype)[0].endswith("fp32"):
            return *own, floor
        short = 1.0 - minimum(maximum(log2(home / SHORT) / log2(LONG / SHORT), 0.0), 1.0)
        nearer = (overlap / home) ** short
        return nearer * own[0], nearer * own[1], nearer * own[2], floor

    def streamed(self, kernel: Kernel, target: Chip) -> Number:
        """Seconds in which a stream moves what a kernel does, but for what the last cache holds: no product reads faster than that."""
        data = points(kernel.data)
        return data * missed(data, target) / bandwidth(target, self.laws.streaming)

    def slower(self, target: Chip) -> float:
        """How much longer the same clocks take."""
        return self.home.clock / target.clock

    def is_kin(self, target: Chip) -> bool:
        """Whether a chip has the measured machine's multiprocessors, and is another machine."""
        ours, theirs = ((one.maker, one.node, one.lanes, one.shared) for one in (self.home, target))
        return ours == theirs and not self.is_home(target)

    def is_home(self, target: Chip) -> bool:
        return target.slug == self.home.slug

    def _carried(self, op: Op, hardware: Hardware, plan: Plan, target: Chip) -> Cost:
        """What the op takes on the measured machine, neighbours and all, as much longer or shorter as the laws say of its kernels."""
        there = (self.pattern if self.is_kin(target) else self.elsewhere).fitted_cost(op, self.measured, plan)
        ours = theirs = off = 0.0
        reached = REACHED if self.is_kin(target) else 0.0
        for kernel in self.library.lower(op, self.measured, plan.lowering):
            ours = ours + kernel.count * self.at_home(kernel, op, reached)
            alike = target.sms == self.home.sms and kernel.curve not in CUT  # then no step is at another place than at home
            seconds = kernel.count * points(self.by_law(kernel, op, target, reached, stepwise=not alike)[2])
            theirs, off = theirs + seconds, off + seconds * self.laws.sd(law(kernel.curve, op.dtype)[0], target)
        factor = theirs / maximum(ours, 1e-30)
        wide = math.inf if there.doubt is None or not there.doubt.known else there.doubt.sd
        apart = KIN if self.is_kin(target) else (CARRIED**2 + (off / maximum(theirs, 1e-30)) ** 2) ** 0.5
        family = f"carried {there.doubt.family}" if there.doubt else "carried"
        known = there.doubt is not None and there.doubt.known
        doubt = Doubt((wide**2 + apart**2) ** 0.5, family, place="near" if known else "unknown")
        data, compute, joint = (factor * points(part) for part in (there.data, there.compute, there.work))
        if category(heavy(op).kind) == "contraction" and not self.is_kin(target):
            least = sum(kernel.count * self.streamed(kernel, target) for kernel in self.library.lower(op, self.measured, plan.lowering))
            data, joint = maximum(data, least), maximum(joint, least)
        floor = self.slower(target) * points(there.floor)
        return Cost(data, compute, floor, there.kernels, self.launch(op, hardware, plan, there.kernels), joint, doubt)

    def launch(self, op: Op, hardware: Hardware, plan: Plan, kernels: Number) -> Number:
        """What the host spends on an op: the plan's, or a typical one."""
        if op.work.launches == 0:
            return 0.0
        if plan.launch is not None:
            return plan.launch * kernels
        return self.library.launch(op, hardware.launcher(plan), plan.lowering, kernels)


def available(fmt: str, target: Chip) -> str:
    """The format whose rate stands for one that the chip has no rate for."""
    return (
        fmt
        if fmt in target.peaks
        else next((other for other in ("bf16", "fp16") if fmt in ("fp16", "bf16") and other in target.peaks), "fp32")
    )


def as_cuda(machine: Hardware) -> Hardware:
    """A machine as CUDA's lowering asks for it: multiprocessors under NVIDIA's name, and a rate in FP16 where there is none."""
    if "sms" in machine.units and "fp16" in machine.peaks:
        return machine
    peaks = {**machine.peaks, "fp16": machine.peaks.get("fp16", machine.peaks["fp32"])}
    return replace(machine, units={**machine.units, "sms": multiprocessors(machine) or 1.0}, peaks=peaks)
