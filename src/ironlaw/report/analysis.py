"""What a report is about: a graph, its predictions by machine and mode, and what else the reader asked for."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ironlaw.backends.inductor import INDUCTOR
from ironlaw.engine.advice.advise import Advice
from ironlaw.engine.advice.program import Sources
from ironlaw.engine.device.compilation import breakeven, breakeven_days, compile_seconds
from ironlaw.engine.device.compiler_rules import TREE, Rules
from ironlaw.engine.device.machine import Hardware
from ironlaw.engine.device.predict import Prediction
from ironlaw.engine.device.repeats import kernels_to_compile
from ironlaw.engine.device.types import Graph
from ironlaw.errors import BadValue
from ironlaw.registry.machines import compile_cost
from ironlaw.report.analysis_text import as_dict, as_html, as_records, few_lines
from ironlaw.report.language_report import Language
from ironlaw.report.loader_words import WHEN, fed
from ironlaw.report.model_variants import Variant
from ironlaw.report.trace_join import TraceJoin
from ironlaw.systems.advice import advice
from ironlaw.systems.largest_sizes import Capacity
from ironlaw.systems.question import document
from ironlaw.systems.script_captures import RealSteps
from ironlaw.units import show

if TYPE_CHECKING:
    from ironlaw.outputs.prediction_output import CostsJson

COMPILED = ("compiled", "graphs")  # modes for which something has to be compiled


@dataclass(frozen=True, slots=True)
class Compiling:
    """What compiling takes on one machine, in seconds, and where the figure comes from."""

    seconds: float
    source: str
    predicted: bool = False


@dataclass(frozen=True, repr=False)
class Analysis:
    graph: Graph
    predictions: tuple[Prediction, ...]
    target: str = ""  # as the reader named it
    refused: dict[str, str] = field(default_factory=dict)  # machine -> why not
    compiling: dict[str, Compiling] = field(default_factory=dict)  # machine -> what compiling takes there
    per_day: float | None = None
    joined: TraceJoin | None = None
    variants: tuple[Variant, ...] = ()  # the same model at other batches or with other storage of weights; the first is this one
    capacities: tuple[Capacity, ...] = ()
    unsized: tuple[str, ...] = ()  # why a largest size is not known
    language: Language | None = None  # where its phases were asked for; this graph is the last of them
    sources: Sources | None = None  # what a changed program is made from; this graph alone where there are none
    prices: Mapping[str, float] = field(default_factory=dict)  # dollars per hour, where the reader asked for money
    costs: CostsJson | None = None  # of a million samples, where the reader asked for them: `report.report_costs`
    loader: float | None = None  # samples per second that the reader's input pipeline gives
    real: RealSteps | None = None  # what the script took when it was run
    own: Graph | None = None  # the model with its weights as they are, where this one stores them otherwise

    @cached_property
    def verdict(self) -> Advice:
        """Where the time goes on the first machine in the first mode, and what to do next."""
        found = advice(self.sources or Sources(self.graph), self.predictions[0], self.machines, self.prices)
        if self.loader is None:
            return found
        batch = self.variants[0].batch if self.variants else None
        beside, starves = fed(self.predictions[0], batch, self.loader)
        return replace(found, beside=beside, when=WHEN if starves else "")

    @property
    def machines(self) -> tuple[Hardware, ...]:
        return tuple({p.hardware.slug: p.hardware for p in self.predictions}.values())

    @property
    def by_phase(self) -> tuple[Prediction, ...]:
        """This graph's predictions, then those of the phase before it at the same batch."""
        before = self.language.phases[:-1] if self.language else ()
        return self.predictions + tuple(p for phase in before for p in next(iter(phase.predictions.values())))

    def of(self, machine: str, mode: str) -> Prediction | None:
        return next((p for p in self.predictions if p.hardware.slug == machine and p.plan.mode == mode), None)

    def on(self, machine: str) -> tuple[Prediction, ...]:
        return tuple(p for p in self.predictions if p.hardware.slug == machine)

    def fastest(self, machine: str) -> Prediction:
        if not self.on(machine):
            raise BadValue(f"{machine!r} is not among the machines that were asked for: {', '.join(m.slug for m in self.machines)}")
        return min(self.on(machine), key=lambda p: float(p.seconds))

    @property
    def rules(self) -> dict[str, Rules]:
        """The fusion rules that the compiled predictions used, by name; Inductor's if nothing was compiled."""
        compiled = [p for p in self.predictions if p.plan.lowering == "compiled"]
        used = {"torch.compile": INDUCTOR} if not compiled or any(p.calibrated for p in compiled) else {}
        return used | ({"the whole decision tree": TREE} if any(not p.calibrated for p in compiled) else {})

    @property
    def notes(self) -> tuple[str, ...]:
        """What capturing had to assume: which way was taken where that depends on values, what was built for real."""
        return tuple(self.graph.settings.get("notes", ()))

    @property
    def unknown(self) -> dict[str, int]:
        return dict(self.graph.settings.get("unknown", {}))

    def __repr__(self) -> str:
        """A line for each machine and mode."""
        return few_lines(self)

    def _repr_html_(self) -> str:
        """The same as a table, for notebooks."""
        return as_html(self)

    def to_dict(self, ops: int | None = None) -> dict[str, Any]:
        """As `ironlaw analyze --json` has it. `ops`: the operators that take most device time; all where None is given."""
        return as_dict(self, paybacks(self), ops)

    def to_json(self, ops: int | None = None) -> dict[str, Any]:
        """What `ironlaw analyze --json` writes."""
        return document(self.to_dict(ops))

    def chrome_trace(self, place: str | Path, inputs: Iterable[str | Path] = ()) -> Path:
        """Write the predicted runs over time to a file for Perfetto, a host's and a device's lane for each; not over `inputs`."""
        from ironlaw.report.chrome_trace import write

        return write(self.by_phase, place, inputs)

    def to_records(self) -> list[dict[str, Any]]:
        """A flat record for each machine and mode, as a DataFrame takes them; the operators of one are `predictions[0].to_records()`."""
        return as_records(self.predictions)


def compiling(predictions: Iterable[Prediction]) -> dict[str, Compiling]:
    """What compiling should take on each machine, by the kernels of its compiled graph."""
    costs = {}
    for p in predictions:
        if p.plan.lowering == "compiled" and p.hardware.slug not in costs:
            per_kernel, host = compile_cost(p.hardware)
            source = f"predicted, {show(per_kernel, 's')} for each of the compiled graph's kernels, as measured on the host of {host}"
            costs[p.hardware.slug] = Compiling(float(compile_seconds(kernels_to_compile(p), per_kernel)), source, predicted=True)
    return costs


@dataclass(frozen=True, slots=True)
class Payback:
    """Compiling on one machine: what a call saves, and after how many calls it has paid."""

    machine: Hardware
    mode: str
    eager: float
    compiled: float
    compiling: Compiling | None
    calls: float | None  # inf: never; None where the compile time is not known
    days: float | None

    @property
    def saved(self) -> float:
        return self.eager - self.compiled


def paybacks(analysis: Analysis) -> list[Payback]:
    pays = []
    for machine in analysis.machines:
        eager = analysis.of(machine.slug, "eager")
        for mode in COMPILED:
            other = analysis.of(machine.slug, mode)
            if eager is None or other is None:
                continue
            a, b, cost = float(eager.seconds), float(other.seconds), analysis.compiling.get(machine.slug)
            calls = days = None
            if cost is not None:
                calls = float(breakeven(cost.seconds, 1 / a, 1 / b))
                days = float(breakeven_days(cost.seconds, 1 / a, 1 / b, analysis.per_day)) if analysis.per_day else None
            pays.append(Payback(machine, mode, a, b, cost, calls, days))
    return pays
