"""A model's run compared with its prediction: mode by mode, term by term, operator by operator. What `ironlaw measure TARGET` shows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ironlaw.cli.show import draw, trace_text
from ironlaw.engine.device.compilation import compile_seconds
from ironlaw.engine.device.predict import OpRow, Prediction
from ironlaw.registry.machines import compile_cost
from ironlaw.report.analysis_text import trace_dict
from ironlaw.report.trace_join import TraceJoin
from ironlaw.units import show, significant

if TYPE_CHECKING:
    from ironlaw.measure.models.model_run import Run

DATA, COMPUTE, FLOOR, BETWEEN, UNMATCHED = "data", "compute", "overhead of kernels", "overhead between them", "without a partner"
MEANING = (
    "data, compute: operators predicted to be limited by memory or arithmetic. overhead of kernels: those limited by the least time any"
    " kernel takes. overhead between them: wall time in which no operator runs (launches, Python)."
)


@dataclass(frozen=True)
class Term:
    name: str
    predicted: float
    measured: float
    operators: int = 0


@dataclass
class MeasuredModel:
    """One model on this machine. `reason`: why there is no prediction; `note`: what to know about one."""

    name: str
    device: str
    dtype: str
    parameters: int
    runs: list[Run]
    predictions: dict[str, Prediction] = field(default_factory=dict)
    joined: TraceJoin | None = None
    reason: str = ""
    note: str = ""
    stored: str = ""  # where the rows went
    left_out: list[str] = field(default_factory=list)  # what was not stored, and why

    @property
    def sizes(self) -> str:
        """`batch 8, seq 128`, or the shapes of the call."""
        params: Mapping[str, Any] = next((run.row["params"] for run in self.runs if "params" in run.row), {})
        given = [f"{key} {params[key]:,}" for key in ("batch", "seq") if key in params]
        return ", ".join([*given, *params.get("inputs", ())])

    @property
    def eager(self) -> Run | None:
        return next((run for run in self.runs if run.mode == "eager" and not run.error), None)


def bound_by(row: OpRow) -> str:
    """The largest of an operator's three parts on the device."""
    parts = ((float(row.data_s), DATA), (float(row.compute_s), COMPUTE), (float(row.floor_s), FLOOR))
    return max(parts, key=lambda part: part[0])[1]


def terms(joined: TraceJoin, wall_s: float) -> list[Term]:
    """Where predicted and measured time go. Both columns add up to the whole."""
    p = joined.prediction
    sums: dict[str, list[float]] = {name: [0.0, 0.0, 0.0] for name in (DATA, COMPUTE, FLOOR)}
    for pair in joined.pairs:
        largest = max(pair.rows, key=lambda row: float(row.seconds))
        total = sums[bound_by(largest)]
        total[0] += pair.predicted
        total[1] += pair.measured
        total[2] += 1
    rows = [Term(name, predicted, measured, int(count)) for name, (predicted, measured, count) in sums.items()]
    missing, extra = (sum(op.seconds for op in side) for side in (joined.missing, joined.extra))
    if missing or extra:
        count = sum(op.count for side in (joined.missing, joined.extra) for op in side)
        rows.append(Term(UNMATCHED, missing, extra, round(count)))
    rows.append(Term(BETWEEN, float(p.seconds) - joined.predicted, wall_s - joined.measured))
    return rows


# ---- on the terminal


def report(model: MeasuredModel, ops: int) -> None:
    draw.heading(model.name, " · ".join(filter(None, [model.sizes, model.dtype, model.device, f"{show(model.parameters)} parameters"])))
    ran = [(run, model.predictions.get(run.mode)) for run in model.runs if not run.error]
    queued = ["queued"] if any("piped_s" in run.row for run, _ in ran) else []  # a CPU has no queue
    columns = ["mode", "measured", "10–90%", *queued, "predicted", "gap"]
    draw.table(columns, [_wall(run, p, bool(queued)) for run, p in ran], left=("mode",))
    _inside(ran)
    for run in model.runs:
        if run.error:
            draw.say(f"✗ {run.mode} could not be run: {run.error}", draw.BAD)
    if model.note:
        draw.say(model.note, draw.DIM)
    if model.reason:
        draw.say(f"! no prediction: {model.reason}", draw.BAD)
    if model.joined is not None and model.eager is not None:
        _terms(model.joined, model.eager)
        trace_text.report(model.joined, ops)
    for line in model.left_out:
        draw.say(f"! {line}", draw.BAD)
    if model.stored:
        draw.say(f"stored: {model.stored}", draw.GOOD)


def _wall(run: Run, p: Prediction | None, queued: bool) -> list[Any]:
    row = run.row
    cells: list[Any] = [run.mode, (show(row["wall_s"], "s"), draw.STRONG), draw.span(row["low_s"], row["high_s"], "s")]
    if queued:
        cells.append(_shown(row.get("piped_s"), "s"))
    return [*cells, show(float(p.seconds), "s"), _gap(float(p.seconds), row["wall_s"])] if p else [*cells, "–", "–"]


def _inside(ran: list[tuple[Run, Prediction | None]]) -> None:
    """What the profiler says, a column for each mode, each with its prediction."""
    columns, pairs = ["a call"], []
    for run, p in ran:
        row = run.row
        figures: list[tuple[Any, Any, str]] = [
            (row.get("busy_s"), p and p.busy_s, "s"),
            (row.get("kernels"), p and p.kernels, ""),
            (row.get("activation_bytes"), p and p.memory.activations, "B"),
            (row.get("compile_s"), p and compile_seconds(p.kernels, compile_cost(p.hardware)[0]), "s"),
        ]
        columns += [run.mode, "predicted"]
        pairs.append([(_shown(a, unit), _shown(b if a is not None else None, unit)) for a, b, unit in figures])
    names = ("in operators", "kernels", "activations", "compiling")
    rows = [[name, *(cell for mode in pairs for cell in mode[i])] for i, name in enumerate(names)]
    draw.table(columns, [row for row in rows if set(row[1:]) != {"–"}], left=("a call",))


def _shown(value: Any, unit: str) -> str:
    return "–" if value is None else show(float(value), unit) if unit else draw.count(value)


def _gap(predicted: float, measured: float) -> str:
    """How far the prediction is off, as `ironlaw validate` counts it."""
    return f"{predicted / measured - 1:+.0%}" if measured > 0 else "–"


def _terms(joined: TraceJoin, run: Run) -> None:
    wall = float(run.row["wall_s"])
    parts = terms(joined, wall)
    draw.heading("eager, term by term", "predicted beside measured")
    rows: list[list[Any]] = []
    for term in parts:
        ratio = f"{significant(term.measured / term.predicted)}×" if term.predicted > 0 and term.measured > 0 else "–"
        cells = [_signed(term.predicted), _signed(term.measured), _signed(term.measured - term.predicted, plus=True), ratio]
        rows.append([term.name, str(term.operators or "–"), *cells])
    total = sum(term.predicted for term in parts)
    rows.append(["all", "", show(total, "s"), (show(wall, "s"), draw.STRONG), _signed(wall - total, plus=True), _ratio(wall, total)])
    draw.table(["term", "operators", "predicted", "measured", "gap", "ratio"], rows, left=("term",), sections=(len(rows) - 2,))
    draw.say(MEANING, draw.DIM)


def _ratio(measured: float, predicted: float) -> str:
    return f"{significant(measured / predicted)}×" if predicted > 0 else "–"


def _signed(seconds: float, plus: bool = False) -> str:
    mark = "−" if seconds < 0 else "+" if plus else ""
    return f"{mark}{show(abs(seconds), 's')}"


# ---- as JSON


def as_json(model: MeasuredModel) -> dict[str, Any]:
    out: dict[str, Any] = {"target": model.name, "device": model.device, "dtype": model.dtype, "parameters": model.parameters}
    out["runs"] = [_run_json(run, model.predictions.get(run.mode)) for run in model.runs]
    out |= {"reason": model.reason or None, "stored": model.stored or None, "left_out": model.left_out}
    if model.joined is not None and model.eager is not None:
        out["terms"] = [
            {"term": t.name, "predicted_s": t.predicted, "measured_s": t.measured, "operators": t.operators}
            for t in terms(model.joined, float(model.eager.row["wall_s"]))
        ]
        out["operators"] = trace_dict(model.joined)
    return out


def _run_json(run: Run, p: Prediction | None) -> dict[str, Any]:
    if run.error:
        return {"mode": run.mode, "error": run.error}
    kept: Mapping[str, Any] = {key: value for key, value in run.row.items() if key not in ("kind", "list")}
    if p is None:
        return {**kept, "predicted": None}
    names = ("seconds", "busy_s", "data_s", "compute_s", "overhead_s", "kernels", "calibrated")
    predicted = {name: getattr(p, name) for name in names} | {"activations": p.memory.activations}
    return {**kept, "predicted": predicted, "gap": float(p.seconds) / float(run.row["wall_s"]) - 1.0}
