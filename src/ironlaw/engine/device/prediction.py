"""What a graph takes on a machine: one frozen Prediction, with a row for each op. `engine.device.predict` makes it."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from ironlaw.engine.arrays import Number, is_array, largest, minimum, ratio, total, where
from ironlaw.engine.device.cost import Cost
from ironlaw.engine.device.dispatch import Run
from ironlaw.engine.device.host import Host
from ironlaw.engine.device.intervals import WIDE, Intervals, host_s, intervals, parts_of
from ironlaw.engine.device.iron_law import binding
from ironlaw.engine.device.lower_bound import least, needed
from ironlaw.engine.device.machine import Hardware, Plan
from ironlaw.engine.device.memory import Memory, footprint
from ironlaw.engine.device.prediction_text import as_dict, as_html, one_line, op_dict, record, records, total_of
from ironlaw.engine.device.sweep import points
from ironlaw.engine.device.types import Graph, Op, Work
from ironlaw.engine.device.uncertainty import BEYOND, SAID, Doubt, Interval, around, shares
from ironlaw.engine.device.work import STAND_IN
from ironlaw.formats import computed_in

BOUND = Doubt(math.inf, "", place="unknown")  # of an op that no measured machine answers for


@dataclass(frozen=True, slots=True)
class OpRow:
    """One op of a prediction."""

    op: Op
    cost: Cost
    hardware: Hardware | None = field(default=None, repr=False, compare=False)

    @property
    def name(self) -> str:
        return self.op.name

    @property
    def kind(self) -> str:
        return self.op.kind

    @property
    def work(self) -> Work:
        return self.op.work

    @property
    def seconds(self) -> Number:
        """Time on the device."""
        return self.cost.device

    @property
    def data_s(self) -> Number:
        return self.cost.data

    @property
    def compute_s(self) -> Number:
        return self.cost.compute

    @property
    def floor_s(self) -> Number:
        return self.cost.floor

    @property
    def launch_s(self) -> Number:
        """Host time to launch it; a queue may hide it behind earlier kernels."""
        return self.cost.launch

    @property
    def kernels(self) -> Number:
        return self.cost.kernels

    @property
    def term(self) -> Number:
        """The largest of memory, compute and overhead (floor and launch) for this op alone."""
        return binding(self.cost.data, self.cost.compute, self.cost.floor + self.cost.launch)

    @property
    def interval(self) -> Interval | None:
        """The range of its device time in four runs out of five; open (inf) if nothing similar was measured, None for a bound."""
        doubt = self.cost.doubt
        if doubt is None:
            return None
        floor = minimum(least(self.op, self.hardware), self.seconds) if self.hardware else 0.0
        return around(self.seconds, doubt.sd, least=floor) if doubt.known else (floor, math.inf)

    @property
    def place(self) -> str:
        """How close it is to what was measured: inside, near, outside or unknown."""
        return self.cost.doubt.place if self.cost.doubt else "unknown"

    @property
    def origin(self) -> str:
        """The name to show for it: its kind, the kinds fused inside it, or the op that its kind stands for."""
        parts = self.op.attrs.get("parts", (self.op,))
        return " + ".join(dict.fromkeys(map(_known_by, parts)))

    def to_dict(self) -> dict[str, Any]:
        """The prediction as a dictionary for JSON."""
        return op_dict(self)

    @property
    def regime(self) -> Number:
        """ "memory" or "compute": the side of the ridge, launches left out."""
        return where(self.cost.data > self.cost.compute, "memory", "compute")


@dataclass(frozen=True)
class Prediction:
    """Seconds throughout. `overlap` is what the run would take if data and compute overlapped fully, and if not at all: a lesson
    about the machine, not an error bar. `seconds` lies between the two."""

    graph: Graph  # as run: fused where the plan compiles
    hardware: Hardware
    plan: Plan
    ops: tuple[OpRow, ...]
    run: Run  # when each op is on the device
    overlap: tuple[Number, Number]
    data_s: Number
    compute_s: Number
    overhead_s: Number  # all that is neither data nor compute: launches no kernel covers, and kernel floors
    kernels: Number
    basis: str  # what it rests on: bound, transferred or calibrated
    sources: tuple[str, ...]

    @property
    def calibrated(self) -> bool:
        """Whether it rests on measurements of this machine."""
        return self.basis == "calibrated"

    @property
    def transferred(self) -> bool:
        """Whether it rests on measurements of other machines."""
        return self.basis == "transferred"

    @property
    def seconds(self) -> Number:
        """Wall time."""
        return self.run.wall

    @property
    def busy_s(self) -> Number:
        """Time in which the device has work."""
        return self.run.busy

    @property
    def host_s(self) -> Number:
        """What the host spends on launches; a queue may hide it behind kernels."""
        return host_s(self.run)

    @property
    def bound(self) -> Number:
        """The largest of the three totals: "memory", "compute" or "overhead"."""
        return binding(self.data_s, self.compute_s, self.overhead_s)

    @property
    def utilization(self) -> Number:
        """Share of wall time in which the device has work."""
        return ratio(self.busy_s, self.seconds)

    @cached_property
    def doubts(self) -> list[tuple[Number, Doubt]]:
        """The seconds of each distinct op with its doubt, repeats added."""
        return parts_of(self.ops)[0]

    @cached_property
    def intervals(self) -> Intervals | None:
        """Ranges that should hold in four runs out of five: device, host, and both together. None for a bound."""
        model = self.hardware.model(self.plan)
        if model is None:
            return None
        given, other = self.plan.launch is not None, self.host is not model.host
        preset = self.plan.host is None and bool(self.host.slug)  # the registry's, since no host was asked for: whose it is, nobody said
        return intervals(self.ops, self.run, model, self.kind, given, other, self.host.estimate or preset)

    @property
    def interval(self) -> Interval | None:
        """The range in which the wall time should fall in four runs out of five; None for a bound."""
        return self.intervals.wall if self.intervals else None

    @property
    def device_interval(self) -> Interval | None:
        """The same for the time on the device."""
        return self.intervals.device if self.intervals else None

    @property
    def host_interval(self) -> Interval | None:
        """The same for the host's time for launches."""
        return self.intervals.host if self.intervals else None

    @property
    def kind(self) -> str:
        """Which measured models it is judged by: those of its mode, in FP32 apart, or training steps."""
        if self.graph.settings.get("training"):
            return "training"
        return f"{self.plan.mode} {WIDE}" if self.graph.dtype == WIDE else self.plan.mode

    @cached_property
    def shares(self) -> dict[str, float]:
        """The share of the device time inside, near and outside what was measured, and unknown."""
        return shares((row.seconds, row.cost.doubt or BOUND) for row in self.ops)

    @property
    def beyond(self) -> float:
        """The share of the device time that lies outside what was measured."""
        return sum(self.shares[place] for place in BEYOND)

    @property
    def outside(self) -> list[tuple[str, float]]:
        """The operators beyond what was measured, by kind, with their shares of the device time; the largest first."""
        seconds: dict[str, float] = {}
        for row in self.ops:
            time = float(total_of(row.seconds))
            if self.calibrated and row.place in BEYOND and time > 0:
                seconds[row.origin] = seconds.get(row.origin, 0.0) + time
        whole = sum(float(total_of(row.seconds)) for row in self.ops)
        return sorted(((name, value / whole) for name, value in seconds.items()), key=lambda pair: -pair[1])

    @property
    def host(self) -> Host:
        """Who launches in this prediction; `plan.launch`, where it is given, stands for each of its launches."""
        return self.hardware.launcher(self.plan)

    @property
    def label(self) -> str:
        """bound, transferred, calibrated, or partly calibrated: an op is unknown, or over a tenth of the time lies outside what was
        measured."""
        if not self.calibrated:
            return self.basis
        unknown = any(row.place == "unknown" and largest(row.seconds) > 0 for row in self.ops)
        return "partly calibrated" if unknown or self.beyond > SAID else "calibrated"

    @cached_property
    def memory(self) -> Memory:
        return footprint(self.graph, self.hardware, [row.cost.scratch for row in self.ops])

    @property
    def fits(self) -> Number:
        return self.memory.fits

    @property
    def energy_j(self) -> Number:
        """An estimate: the machine's rated power over the whole time."""
        return self.hardware.power * self.seconds

    @property
    def mfu(self) -> Number:
        """The share of peak rates that this time implies for the products that can't be skipped: half of them under a causal mask.
        Each product is judged by the peak of the format that it is computed in."""
        least = total(_products_s(op, self.hardware, self.graph.dtype) for op in self.graph.ops)
        return ratio(points(least), self.seconds)

    def __repr__(self) -> str:
        """One line: what is run where, how long it takes, and how sure that is."""
        return one_line(self)

    def _repr_html_(self) -> str:
        """The same as a small table, for notebooks."""
        return as_html(self)

    def to_dict(self, ops: int | None = None) -> dict[str, Any]:
        """As JSON takes it, with a version of its schema. `ops`: the operators that take most device time; all where None is given.
        An open end of an interval is None."""
        return as_dict(self, ops)

    def to_record(self) -> dict[str, Any]:
        """The prediction's figures in one flat record: a row of a table of predictions."""
        return record(self)

    def to_records(self) -> list[dict[str, Any]]:
        """A flat record for each operator, as a DataFrame takes them (pandas, polars), in running order.

        >>> import ironlaw as il
        >>> rows = il.predict(il.workload("resnet50"), il.hardware("h200")).to_records()
        >>> rows[0]["name"], rows[0]["kind"], rows[0]["hardware"], rows[0]["mode"]
        ('conv1', 'conv2d', 'h200_sxm', 'eager')
        >>> max(rows, key=lambda row: row["seconds"])["regime"]
        'memory'
        """
        return records(self)


def _known_by(op: Op) -> str:
    dims = op.attrs.get("dims")
    return str(op.attrs.get(STAND_IN) or op.attrs.get("op") or (op.kind.replace("2d", f"{dims}d") if dims else op.kind))


def _products_s(op: Op, hardware: Hardware, dtype: str) -> Number:
    """Seconds of an op's products at the peak of their format; one without a peak here is judged by the graph's."""
    return needed(op).matmul_flops / hardware.peak(op.dtype if computed_in(op.dtype) in hardware.peaks else dtype)


def is_sweep(prediction: Prediction) -> bool:
    """Whether the prediction holds arrays: many points in one."""
    return is_array(prediction.seconds)
