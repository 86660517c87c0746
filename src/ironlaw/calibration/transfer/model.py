"""What an op costs on a machine that nobody measured: laws where rows were published, and else the measured machine's curve, carried over.

A kernel of a kind that only one machine was measured with takes the time it takes there, as much longer or shorter as its law says of the
two machines. On a machine with the measured one's own multiprocessors (an H100 beside an H200) all of an op's time is carried over so.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from ironlaw.backends import Backend, require
from ironlaw.backends.kernel import Kernel
from ironlaw.calibration.calibration import Calibration
from ironlaw.calibration.transfer.chip import Chip, chip, multiprocessors
from ironlaw.calibration.transfer.families import law
from ironlaw.calibration.transfer.laws import Laws
from ironlaw.engine.arrays import Number, largest, maximum
from ironlaw.engine.device.fusion_rules import Rules
from ironlaw.engine.device.host import Host
from ironlaw.engine.device.least import least_arithmetic
from ironlaw.engine.device.machine import Cost, Hardware, Plan
from ironlaw.engine.device.roofline import transfer
from ironlaw.engine.device.sweep import points
from ironlaw.engine.device.types import Graph, Op
from ironlaw.engine.device.uncertainty import Doubt, Scatter

LIBRARY = "cuda"  # whose kernels stand for those of other makers' builds of PyTorch, too
SAME = 0.1  # by how much two multiprocessors' rates may differ and be of the same kind
CARRIED = 0.15  # sd that carrying a curve over adds, as the laws' own errors between two machines of one maker
KIN = 0.06  # the same between two machines with the same multiprocessors


@dataclass(frozen=True)
class Transfer:
    """A cost model of one machine; `measured` and `pattern` are the machine whose curves are carried over."""

    laws: Laws
    pattern: Calibration
    measured: Hardware
    host: Host
    sources: tuple[str, ...] = ()
    backend: str = LIBRARY
    graph_gap: float = 0.0
    compile_kernel_s: float = 0.0
    common: float = 1.0
    scatter: Mapping[str, Scatter] = field(default_factory=dict)
    costs: dict[Any, tuple[Hardware, dict[Any, Cost]]] = field(default_factory=dict, init=False, repr=False, compare=False)

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
        """Rows of the laws were taken one by one, and power is in their shares already."""
        return costs

    def cost(self, op: Op, hardware: Hardware, plan: Plan) -> Cost:
        """An op's cost, never below what the datasheet allows."""
        raw = self.lawful_cost(op, hardware, plan)
        if largest(points(raw.kernels)) == 0:
            return raw
        compute = maximum(points(raw.compute), points(least_arithmetic(op, hardware)))
        data = maximum(points(raw.data), points(transfer(op, hardware)))
        return replace(raw, data=data, compute=compute, joint=maximum(maximum(points(raw.work), data), compute))

    def lawful_cost(self, op: Op, hardware: Hardware, plan: Plan) -> Cost:
        target, machine = chip(hardware), as_cuda(hardware)
        kernels = self.library.lower(op, machine, plan.lowering)
        total = [0.0 * 1.0] * 4
        variance: Number = 0.0
        leading, longest, count = "stream", -1.0, 0.0
        for kernel in kernels:
            family, carried = law(kernel.curve, op.dtype)
            parts = self.kernel_s(kernel, op, target, family, carried)
            times = kernel.count
            total = [so_far + times * part for so_far, part in zip(total, parts, strict=True)]
            seconds = points(times * (parts[2] + parts[3]))
            sd = (self.laws.sd(family, target) ** 2 + (CARRIED**2 if carried else 0.0)) ** 0.5
            variance = variance + seconds * sd
            count = count + times
            if largest(seconds) > longest:
                longest, leading = largest(seconds), family
        data, compute, joint, floor = total
        whole = maximum(points(joint + floor), 1e-30)
        doubt = Doubt(variance / whole, leading, place="near")
        if kernels and self.is_kin(target):
            return self._kin(op, hardware, plan, target, doubt)
        return Cost(data, compute, floor, count, self.launch(op, hardware, plan, count), joint, doubt)

    def kernel_s(self, kernel: Kernel, op: Op, target: Chip, family: str, carried: bool) -> tuple[Number, Number, Number, Number]:
        """(data, compute, both as they overlap, floor) in seconds for one launch."""
        fmt = available(op.dtype, target)
        own = self.laws.seconds(family, kernel, op, target, fmt)
        if not carried:
            return own
        there = self.laws.seconds(family, kernel, op, self.home, available(op.dtype, self.home))
        data, compute, overlap, whole = self.pattern.parts(kernel, op.kind)
        factor = own[2] / maximum(points(there[2]), 1e-30)
        return factor * data, factor * compute, factor * overlap, points(whole) - overlap

    def is_kin(self, target: Chip) -> bool:
        """Whether a chip has the measured machine's multiprocessors, and is another machine."""
        if target == self.home or target.maker != self.home.maker or target.node != self.home.node or "fp16" not in target.peaks:
            return False
        ours, theirs = (one.peaks["fp16"] / (one.sms * one.clock) for one in (self.home, target))
        return abs(theirs / ours - 1.0) < SAME and target.lanes == self.home.lanes

    def _kin(self, op: Op, hardware: Hardware, plan: Plan, target: Chip, doubt: Doubt) -> Cost:
        there = self.pattern.fitted_cost(op, self.measured, plan)
        here = self.library.lower(op, self.measured, plan.lowering)
        ours = theirs = 0.0
        for kernel in here:
            family, _ = law(kernel.curve, op.dtype)
            ours = ours + kernel.count * points(self.laws.seconds(family, kernel, op, self.home, available(op.dtype, self.home))[2])
            theirs = theirs + kernel.count * points(self.laws.seconds(family, kernel, op, target, available(op.dtype, target))[2])
        factor = theirs / maximum(ours, 1e-30)
        own = there.doubt.sd if there.doubt and there.doubt.known else doubt.sd
        sure = Doubt((own**2 + KIN**2) ** 0.5, doubt.family, place="near")
        data, compute, joint = (factor * points(part) for part in (there.data, there.compute, there.work))
        return Cost(data, compute, there.floor, there.kernels, self.launch(op, hardware, plan, there.kernels), joint, sure)

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
