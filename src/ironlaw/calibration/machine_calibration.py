"""A measured machine: one curve per kind of kernel (`calibration.curve`), and what a launch costs its host."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cache, cached_property
from typing import Any

from ironlaw.backends import Backend, require
from ironlaw.backends.kernel import Kernel
from ironlaw.backends.rows import Row
from ironlaw.backends.signatures import Signature
from ironlaw.calibration.curve import Curve
from ironlaw.calibration.doubt import doubt
from ironlaw.calibration.neighbours import Correction, Family
from ironlaw.calibration.own_rows import OwnRows
from ironlaw.calibration.stored_curves import arguments, host_json
from ironlaw.engine.arrays import SCALARS, Number, is_array, largest, maximum, minimum, where
from ironlaw.engine.device.compiler_rules import Rules
from ironlaw.engine.device.cost import Cost
from ironlaw.engine.device.host import Host
from ironlaw.engine.device.lower_bound import least_arithmetic, least_transfer
from ironlaw.engine.device.machine import Hardware, Plan
from ironlaw.engine.device.sweep import points
from ironlaw.engine.device.types import Graph, Op
from ironlaw.engine.device.uncertainty import Scatter
from ironlaw.errors import UnsupportedPrecision

KEPT, PLANS = 4096, 16  # costs that are remembered under a plan, and plans: a server runs for days
AT_HAND = 4  # ops whose code stays where it is needed: eight equal layers of an MLP, two ops by turns, take no longer than the ops alone
BEYOND = 4.0  # times the largest sample of a minute: from there on other machines tell more of a kernel than its own curve
WILD = 1.0  # sd of log(measured / curve) over its own samples, from which a minute's curve says nothing
STRAYING = 3.0  # by how much a curve may differ from its like where no sample is near
BOOST = 0.01  # seconds of steady arithmetic before the clock begins to fall; measured between 10 ms (no effect) and 100 ms (full)


@cache
def estimated(library: Backend, name: str) -> Curve | None:
    """The curve of a kernel that no row holds, from whole models' times."""
    constants: Any = library.estimates.get(name)
    return Curve(**constants) if constants else None


@dataclass(frozen=True)
class Calibration:
    """All that was learnt about one machine."""

    curves: Mapping[str, Curve]
    host: Host  # the processor that launched while the device was measured
    cache_bytes: float
    graph_gap: float = 0.0  # seconds between kernels of a replayed graph
    slower: float = 1.0  # how much longer arithmetic takes once the chip runs into its power limit
    among: float = 0.0  # seconds that a kernel takes longer between others than repeated: its code and constants are not at hand
    scatter: Mapping[str, Scatter] = field(default_factory=dict)  # mode, "training" or "host" -> how models came out beside their ops
    sources: tuple[str, ...] = ()
    backend: str = "cuda"  # whose kernels an op becomes: a name in ironlaw.backends
    compile_kernel_s: float = 0.0  # host seconds to compile one kernel; 0: not measured
    common: float = 0.0  # what the errors of any two ops of a family share, however far apart they are
    stand_in: float = 0.0  # sd of log(measured / curve) where a curve stands in for another; 0: not known
    families: Mapping[str, Family] = field(default_factory=dict)  # measured ops that are alike, and what the curves leave unexplained there

    own: OwnRows | None = field(default=None, repr=False, compare=False)  # of a single machine of this model, which correct all the rest
    # what other machines taught of an op, where a minute did not time all of its kernels
    before: Callable[[Op, Hardware, Plan], Cost] | None = field(default=None, repr=False, compare=False)
    costs: dict[Any, tuple[Hardware, dict[Any, Cost]]] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )  # what ops were found to cost

    def __repr__(self) -> str:
        """One line; what was measured is in `curves` and `families`."""
        return f"<Calibration {self.backend}: {len(self.curves)} curves from {len(self.sources)} sources>"

    def known(self, hardware: Hardware, plan: Plan) -> dict[Any, Cost]:
        """The costs of ops that were asked for on this machine under this plan, by their keys: a model is predicted again and again."""
        try:
            machine, costs = self.costs.get((id(hardware), plan), (None, dict[Any, Cost]()))
        except TypeError:  # a swept launch
            return {}
        if machine is hardware and len(costs) < KEPT:
            return costs
        if len(self.costs) >= PLANS:
            self.costs.clear()
        fresh: dict[Any, Cost] = {}
        self.costs[id(hardware), plan] = hardware, fresh
        return fresh

    @cached_property
    def library(self) -> Backend:
        return require(self.backend)

    @property
    def rules(self) -> Rules:
        """What the compiler of this machine's library fuses."""
        return self.library.rules

    def prepare(self, graph: Graph, hardware: Hardware) -> Graph:
        """The graph that the compiler's fusion starts from, after what it rewrites."""
        return self.library.prepare(graph, hardware)

    def arrange(self, ops: Sequence[Op]) -> tuple[Op, ...]:
        """A compiled graph's ops with the layouts that the library gives their tensors."""
        return self.library.arrange(ops)

    def curve(self, name: str, kind: str) -> Curve:
        """The curve of a kernel; for one that was not measured, what whole models say of it, or the nearest kind that was."""
        curve = self.curves.get(name) or estimated(self.library, name)
        if curve is None:
            nearest = self.library.fallback.get(name, "elementwise")
            curve = self.curves.get(nearest) or self.curves.get("elementwise")
        if curve is None:
            raise UnsupportedPrecision(f"no measured curve for {name} ({kind}); ask for a bound with Plan(calibrated=False)")
        return curve

    def cost(self, op: Op, hardware: Hardware, plan: Plan) -> Cost:
        """An op's cost, never below what the machine can do: a curve that is asked beyond its samples, or stands in for another, may
        promise more."""
        raw = self.fitted_cost(op, hardware, plan)
        compute = maximum(points(raw.compute), points(least_arithmetic(op, hardware)) - raw.floor)
        data = maximum(points(raw.data), least_transfer(op, hardware, self.cache_bytes) - raw.floor)
        return replace(raw, data=data, compute=compute, joint=maximum(maximum(points(raw.work), data), compute))

    def fitted_cost(self, op: Op, hardware: Hardware, plan: Plan) -> Cost:
        """An op's cost from the curves of its kernels and the measured ops near it, as they are."""
        data = compute = floor = joint = count = 0.0
        kernels = self.library.lower(op, hardware, plan.lowering)
        elsewhere = self.before(op, hardware, plan) if self.before is not None and not all(self._timed(k, op) for k in kernels) else None
        if elsewhere is not None and not self._surer(op, kernels, elsewhere):
            return elsewhere
        for kernel in kernels:
            data_s, compute_s, overlap, total = self.parts(kernel, op.kind)
            times = kernel.count
            once = isinstance(times, SCALARS) and times == 1
            data = data + (data_s if once else times * data_s)
            compute = compute + (compute_s if once else times * compute_s)
            joint = joint + (overlap if once else times * overlap)
            floor = floor + (total - overlap if once else times * (total - overlap))
            count = count + times
        signature = self.library.signature(op, plan.lowering) if self.families else None
        near = None if self.own is not None and self.own.alone else self._near(signature)
        if near is not None:
            data, compute, floor, joint = (near.factor * points(term) for term in (data, compute, floor, joint))
            count = maximum(count + near.kernels, 1.0)
        doubted, scratch = doubt(op, self, kernels, signature, near), self.library.scratch(op, hardware, plan.lowering)
        cost = Cost(data, compute, floor, count, self.launch(op, plan, count), joint, doubted, scratch)
        return self.own.corrected(op, cost, kernels, plan.lowering) if self.own else cost

    def _timed(self, kernel: Kernel, op: Op) -> bool:
        """Whether the few rows of a minute say what a kernel takes: they have its curve and follow it, and none of its sizes is far beyond
        them."""
        curve = self.curves.get(kernel.curve)
        if curve is None:
            return self.library.alike(op, kernel)
        if curve.scatter > WILD:
            return False
        beyond = points(kernel.data) > BEYOND * curve.largest if curve.largest else False
        return not largest((points(kernel.depth) > BEYOND * curve.deepest) | beyond if curve.deepest else beyond)

    def _surer(self, op: Op, kernels: Sequence[Kernel], elsewhere: Cost) -> bool:
        """Whether curves from a few rows, asked beyond them, still say more than other machines do."""
        if elsewhere.doubt is None or not all(kernel.curve in self.curves or self.library.alike(op, kernel) for kernel in kernels):
            return False
        return bool(largest(points(doubt(op, self, kernels, None, None).sd)) < largest(points(elsewhere.doubt.sd)))

    def parts(self, kernel: Kernel, kind: str) -> tuple[Number, Number, Number, Number]:
        """(data, compute, both as they overlap, total) in seconds for one launch. Far beyond its samples a curve may promise anything:
        it is held near the curve whose work is most alike. Of a longer inner loop, only from above: the other's steps may differ."""
        curve = self.curve(kernel.curve, kind)
        own = curve.parts(kernel, self.cache_bytes)
        deeper, larger = curve.deeper(kernel), curve.larger(kernel)
        if not (largest(deeper) or largest(larger)):
            return own
        other = self.curves.get(self.library.fallback.get(kernel.curve, ""))
        if other is None or other is curve:
            return own
        like, time = points(other.parts(kernel, self.cache_bytes)[3]), points(own[3])
        above = (deeper & bool(other.deepest)) | larger  # a curve without an inner loop can't judge one
        held = where(above, minimum(time, like * STRAYING), time)
        factor = where(larger, maximum(held, like / STRAYING), held) / time
        data, compute, overlap, total = (factor * points(part) for part in own)
        return data, compute, overlap, total

    def given(self, rows: Sequence[Row], hardware: Hardware, alone: bool = False) -> Calibration:
        """The same, corrected by rows of one machine of this model. `alone`: the curves were fitted to these rows and no others, so they
        themselves say what neighbours would."""
        plain = replace(self, own=None, families={} if alone else self.families)

        def priced(op: Op) -> tuple[Cost, Sequence[Kernel]]:
            return plain.fitted_cost(op, hardware, Plan()), self.library.lower(op, hardware, "eager")

        return replace(self, own=OwnRows(tuple(rows), self.library, priced, alone))

    def correction(self, op: Op, mode: str) -> Correction | None:
        """How far the curves are off for an op like this, from the measured ops nearest to it; None where there are none of its family."""
        return self._near(self.library.signature(op, mode) if self.families else None)

    def _near(self, signature: Signature | None) -> Correction | None:
        family = self.families.get(signature.family) if signature else None
        return family.along(signature.place) if family and signature else None

    def source(self, op: Op, hardware: Hardware, mode: str = "eager") -> str | None:
        """What an op's time rests on: "family", rows of ops like it; "curve", curves of its own kernels alone; "stand-in", a curve of some
        other kind of kernel; None where nothing is known of the op. What takes no time rests on nothing else: "curve".
        """
        parts = op.attrs.get("parts", (op,))
        if any(part.kind == "unknown" for part in parts):
            return None
        if any(self.library.stands_in(part) for part in parts):
            return "stand-in"
        if self.correction(op, mode) is not None:
            return "family"
        kernels = self.library.lower(op, hardware, mode)
        return "curve" if all(kernel.curve in self.curves or self.library.alike(op, kernel) for kernel in kernels) else "stand-in"

    def sustain(self, costs: list[Cost]) -> list[Cost]:
        """Under steady load the clock falls: arithmetic beyond BOOST seconds is slower, fully so at ten times that. And a kernel that
        follows another one takes longer than one that follows itself, as it did when it was measured."""
        share = minimum(maximum(sum(c.compute for c in costs) / (9.0 * BOOST) - 1.0 / 9.0, 0.0), 1.0)
        factor = 1.0 + share * (self.slower - 1.0)
        distinct = {id(c): c for c in costs}
        late = self.among if len(distinct) > AT_HAND else 0.0
        if not late and not is_array(factor) and factor == 1.0:
            return costs
        slowed = {key: _slowed(c, factor, late) for key, c in distinct.items()}
        return [slowed[id(c)] for c in costs]

    def launch(self, op: Op, plan: Plan, kernels: Number) -> Number:
        """What the host spends on an op."""
        if op.work.launches == 0:
            return 0.0
        if plan.launch is not None:
            return plan.launch * kernels
        host = plan.host if plan.host is not None and self.library.dispatch == "queued" else self.host
        return self.library.launch(op, host, plan.lowering, kernels)

    def to_json(self) -> dict[str, Any]:
        fields = {
            name: value
            for name, value in asdict(replace(self, families={}, own=None, before=None)).items()
            if name not in ("families", "own", "before", "costs")
        }
        fields["host"] = host_json(self.host)
        curves = {name: _finite(asdict(curve)) for name, curve in self.curves.items()}
        families = {name: family.to_json() for name, family in self.families.items()}
        return fields | {"curves": curves} | ({"families": families} if families else {})

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Calibration:
        return cls(**arguments(data))


def _slowed(cost: Cost, factor: Number, late: float) -> Cost:
    floor = cost.floor + late * cost.kernels if late else cost.floor
    if not is_array(factor) and factor == 1.0:
        return replace(cost, floor=floor)
    extra = cost.compute * (factor - 1.0)
    joint = cost.work + where(cost.compute > cost.data, extra, 0.0)
    return replace(cost, floor=floor, compute=cost.compute + extra, joint=maximum(joint, cost.compute + extra))


def _finite(curve: dict[str, Any]) -> dict[str, Any]:
    return {k: v for k, v in curve.items() if v != float("inf") and (v or k in ("floor",))}
