"""What the reader can switch between: for each machine and mode the roofline, the timeline, memory, and every op in a table."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from ironlaw.engine.device.complex_work import flops
from ironlaw.engine.device.predict import OpRow, Prediction
from ironlaw.formats import intensity_unit, operation
from ironlaw.pictures.live import live
from ironlaw.pictures.moving.launches import Way, launches
from ironlaw.pictures.roofline_picture import roofline
from ironlaw.pictures.timeline_picture import timeline
from ironlaw.report.analysis import Analysis
from ironlaw.widget.figure import Figure
from ironlaw.widget.motion import Motion

KIND, TIME = 4, 2
WAYS = {"graphs": "graph replay"}
NOTICE = "Watch the gaps in the device’s lane: there it waits for a launch, and no faster device makes the gap shorter."


def columns(fmt: str) -> list[dict[str, Any]]:
    return [
        {"label": "#", "unit": ""}, {"label": "operator"}, {"label": "time", "unit": "s"}, {"label": "share", "unit": "%"},
        {"label": "kind"}, {"label": "data D/BW", "unit": "s"}, {"label": "compute O/R", "unit": "s"}, {"label": "floor", "unit": "s"},
        {"label": "launch", "unit": "s"}, {"label": "kernels", "unit": ""}, {"label": "work", "unit": operation(fmt)},
        {"label": "moved", "unit": "B"}, {"label": "intensity", "unit": intensity_unit(fmt)}, {"label": "bottleneck", "term": True},
    ]  # fmt: skip


def key(p: Prediction) -> str:
    return "/".join(filter(None, (p.hardware.slug, p.plan.mode, phase(p))))


def phase(p: Prediction) -> str:
    """A language model's phase: prefill or decode."""
    return str(p.graph.settings.get("phase", ""))


def figures(p: Prediction) -> dict[str, Figure]:
    place = key(p).replace("/", "-")
    return {
        "roofline": roofline(p, f"roofline-{place}"),
        "timeline": timeline(p, f"timeline-{place}"),
        "live": live(p.graph, p.hardware, f"live-{place}"),
    }


def films(predictions: Iterable[Prediction]) -> dict[str, Motion]:
    """Host and device as they run, all modes of a machine (and phase) side by side."""
    together: dict[str, list[Prediction]] = {}
    for p in predictions:
        together.setdefault("/".join(filter(None, (p.hardware.slug, phase(p)))), []).append(p)
    return {name: replace(launches([_way(p) for p in group]), caption=NOTICE) for name, group in together.items()}


def _way(p: Prediction) -> Way:
    return Way(WAYS.get(p.plan.mode, p.plan.mode), p.run, [str(row.term) for row in p.ops])


def kinds(row: OpRow) -> str:
    """What is inside a fused kernel, or the op's own kind."""
    return " + ".join(part.kind for part in row.op.attrs["parts"]) if "parts" in row.op.attrs else row.kind


def operators(analysis: Analysis) -> dict[str, Any]:
    """What an op is stands once per graph, what it costs once per machine and mode; the page puts them together."""
    graphs: dict[str, list[list[Any]]] = {}
    places: dict[int, str] = {}
    costs: dict[str, dict[str, Any]] = {}
    for p in analysis.by_phase:
        if id(p.graph) not in places:
            places[id(p.graph)] = name = f"g{len(places)}"
            graphs[name] = [[r.name, kinds(r), _short(flops(r.op)), _short(r.work.bytes)] for r in p.ops]
        rows = [[_short(v) for v in (r.seconds, r.data_s, r.compute_s, r.floor_s, r.launch_s, r.kernels)] + [str(r.term)] for r in p.ops]
        costs[key(p)] = {"graph": places[id(p.graph)], "busy": float(p.busy_s), "rows": rows}
    return {"columns": columns(analysis.graph.dtype), "graphs": graphs, "costs": costs, "kind": KIND, "sort": [TIME, -1]}


def _short(value: Any) -> float:
    """Five digits are more than a prediction has, and keep the file small."""
    number = float(f"{float(value):.5g}")
    return int(number) if number == int(number) and abs(number) < 1e15 else number
