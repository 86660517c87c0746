"""An analysis in a few lines, as a small table for notebooks, as JSON takes it, and as records for a table. `a` is a
`report.analysis.Analysis`, `pays` its paybacks."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict
from html import escape
from typing import TYPE_CHECKING, Any

from ironlaw.engine.device.compilation import NEVER
from ironlaw.engine.device.complex_work import product_flops, spoken_format
from ironlaw.engine.device.predict import Prediction
from ironlaw.engine.device.prediction_text import span
from ironlaw.engine.device.types import Graph
from ironlaw.formats import operation
from ironlaw.report.model_variants import Variant
from ironlaw.report.too_large import too_large
from ironlaw.report.trace_idle import Whereabouts
from ironlaw.report.trace_join import TraceJoin, Unmatched
from ironlaw.report.trace_reasons import reason
from ironlaw.units import show

if TYPE_CHECKING:
    from ironlaw.outputs.analysis_output import StoredWeights, TraceJson, TracePair, TraceRank, UnmatchedJson
    from ironlaw.outputs.prediction_output import RefusalJson, VariantJson

SCHEMA = "ironlaw-analyze/1"  # of `to_dict`, and of what `analyze --json` writes


def few_lines(a: Any) -> str:
    """What it is of, then a line for each machine and mode."""
    graph = a.graph
    work = show(product_flops(graph), operation(graph.dtype))
    head = f"{graph.name}: {len(graph.ops):,} operators, {show(graph.params)} parameters, {work}"
    rows = [(p.hardware.slug, p.plan.mode, _time(p)) for p in a.predictions]
    widths = [max(len(row[i]) for row in rows) for i in range(2)]
    lines = [f"  {machine:<{widths[0]}}  {mode:<{widths[1]}}  {time}" for machine, mode, time in rows]
    return "\n".join([f"<Analysis {head}", *lines, *(f"  {slug}  refused: {why}" for slug, why in a.refused.items())]) + ">"


def _time(p: Prediction) -> str:
    likely = f", likely {span(p.interval)}" if p.interval else ""
    return f"{show(p.seconds, 's')}{likely}, bound by {p.bound}, {p.label}"


def as_html(a: Any) -> str:
    """The same as a table."""
    head = "".join(f"<th>{name}</th>" for name in ("machine", "mode", "time", "likely", "bound by", "busy", "memory", "figures"))
    rows = "".join(
        "<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in _cells(p)) + "</tr>" for p in a.predictions
    )  # fmt: skip
    refused = "".join(f"<p>{escape(slug)}: {escape(why)}</p>" for slug, why in a.refused.items())
    return f"<table><caption>{escape(a.graph.name)}</caption><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>{refused}"


def _cells(p: Prediction) -> tuple[str, ...]:
    memory = f"{show(p.memory.total, 'B')}{'' if p.fits else ', does not fit'}"
    likely = span(p.interval) if p.interval else "–"
    return (p.hardware.slug, p.plan.mode, show(p.seconds, "s"), likely, str(p.bound), f"{p.utilization:.0%}", memory, p.label)


def as_records(predictions: Iterable[Prediction]) -> list[dict[str, Any]]:
    """One flat record for each machine and mode."""
    return [p.to_record() for p in predictions]


def inputs(graph: Graph) -> list[dict[str, Any]]:
    """With the shapes that the call was given: the first operator may read a view of another shape."""
    given = graph.settings.get("shapes", {})
    read = [t for t in graph.tensors.values() if t.role == "input"]
    return [{"name": t.name, "shape": list(given.get(t.name, t.shape)), "dtype": t.dtype} for t in read]


def as_dict(a: Any, pays: Iterable[Any], ops: int | None = None) -> dict[str, Any]:
    """As JSON takes it. `ops`: the operators of each prediction that take most device time; all where None is given."""
    graph: Graph = a.graph
    out: dict[str, Any] = {"schema": SCHEMA, "target": a.target, "dtype": spoken_format(graph), "ops": len(graph.ops)}
    out["training"] = bool(graph.settings.get("training"))
    out["inputs"] = inputs(graph)
    out |= {"unknown": a.unknown, "notes": list(a.notes), "predictions": [p.to_dict(ops) for p in a.predictions]}
    out["verdict"] = a.verdict.to_dict()
    out["weights"] = stored_dict(graph)
    out["variants"] = variant_dicts(a.variants) if len(a.variants) > 1 else []
    out["largest"] = [
        {"hardware": r.machine.slug, "what": r.what, "now": r.now, "largest": r.largest, "model_limit": r.limit} for r in a.capacities
    ]
    out |= {"refused": refusals(a.refused), "too_large": too_large(list(a.predictions)), "breakeven": [payback_dict(pay) for pay in pays]}
    if a.language is not None:
        before = a.by_phase[len(a.predictions) :]
        out["language"] = a.language.as_json() | {"before": [p.to_dict(ops) for p in before]}
    out |= {"trace": trace_dict(a.joined)} if a.joined is not None else {}
    out |= {"real": asdict(a.real)} if a.real is not None else {}
    return out | ({"costs": a.costs} if a.costs is not None else {})


def refusals(reasons: Mapping[str, str]) -> list[RefusalJson]:
    return [{"hardware": slug, "reason": reason} for slug, reason in reasons.items()]


def stored_dict(graph: Graph) -> StoredWeights | None:
    """Weights that are stored in fewer bits."""
    if "weights" not in graph.settings:
        return None
    return {"format": graph.settings["weights"], "bytes": graph.weight_bytes, "kept": list(graph.settings["kept"])}


def variant_dicts(several: Iterable[Variant]) -> list[VariantJson]:
    return [
        {
            "batch": v.batch, "weights": v.weights, "hardware": p.hardware.slug, "mode": p.plan.mode, "seconds": p.seconds,
            "memory": p.memory.total, "fits": bool(p.fits),
        }
        for v in several
        for p in v.predictions
    ]  # fmt: skip


def payback_dict(pay: Any) -> dict[str, Any]:
    """`pay` is a `report.analysis.Payback`."""
    out: dict[str, Any] = {"hardware": pay.machine.slug, "mode": pay.mode, "saved_per_call_s": pay.saved}
    out["compile_s"] = pay.compiling.seconds if pay.compiling else None
    out["compile_s_is_predicted"] = bool(pay.compiling and pay.compiling.predicted)
    for name in ("calls", "days"):
        value = getattr(pay, name)
        out[name] = "never" if pay.saved <= 0 or value == NEVER else value
    return out


def trace_dict(joined: TraceJoin) -> TraceJson:
    """Predicted beside measured, operator by operator."""

    def rest(unmatched: tuple[Unmatched, ...]) -> list[UnmatchedJson]:
        return [{"name": item.name, "count": item.count, "seconds": item.seconds} for item in unmatched]

    pairs: list[TracePair] = [
        {
            "name": p.name, "kind": p.kind, "aten": p.aten, "predicted_s": p.predicted, "measured_s": p.measured, "gap_s": p.gap,
            "why": reason(p), "kernels": list(p.kernels),
        }
        for p in joined.pairs
    ]  # fmt: skip
    return {
        "file": joined.trace.name, "device": joined.trace.device, "on_device": joined.on_device, "runs": joined.runs,
        "warning": joined.elsewhere or None,
        "hardware": joined.prediction.hardware.slug, "predicted_s": joined.predicted, "measured_s": joined.measured,
        "pairs": pairs, "missing": rest(joined.missing), "extra": rest(joined.extra), "ranks": [_rank(one) for one in joined.ranks],
    }  # fmt: skip


def _rank(one: Whereabouts) -> TraceRank:
    return {
        "rank": one.rank, "total_s": one.total, "computing_s": one.computing, "communicating_s": one.communicating,
        "other_rank_s": one.other_rank, "data_s": one.data, "synchronising_s": one.synchronising, "launching_s": one.launching,
        "hidden_s": one.hidden,
    }  # fmt: skip
