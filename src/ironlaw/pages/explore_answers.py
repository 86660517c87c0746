"""A query -> the prediction, as plain JSON values in SI. A refusal names the setting that caused it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import asdict
from functools import lru_cache
from typing import Any, NamedTuple

from ironlaw.calibration import local_machine
from ironlaw.engine.device.machine import Plan
from ironlaw.engine.device.predict import OpRow, Prediction, predict
from ironlaw.engine.device.prediction_text import host_dict
from ironlaw.engine.device.types import Graph
from ironlaw.errors import BadValue, refusing
from ironlaw.pages.advice_page import advice
from ironlaw.pages.choices import kind, settings
from ironlaw.registry.hosts import host
from ironlaw.registry.machines import hardware, is_local
from ironlaw.registry.workloads import about
from ironlaw.systems.launched_workloads import launched, sizes

DEFAULTS = {"workload": "resnet50", "hardware": "h200_sxm", "mode": "eager", "dispatch": "queued", "figures": "measured"}
SIZES = ("batch", "seq", "context")
HOST = "host"  # who launches; where it is not given, a typical server
MOST = 10**7
SURENESS = ("schema", "interval", "device_interval", "host_s", "host_interval", "measured_shares", "outside")
LABELS = {"bandwidth": "memory bandwidth BW", "launch": "cost of one launch", "memory": "memory", "power": "rated power"}


class Answer(NamedTuple):
    """A prediction, the name of its workload, and the workload's original graph, before any fusion."""

    prediction: Prediction
    name: str
    original: Graph


def answer(query: Iterable[tuple[str, str]]) -> dict[str, Any]:
    """The prediction for a query such as `[("workload", "gpt2"), ("batch", "8")]`, as JSON values."""
    return as_json(*ask(query))


def ask(query: Iterable[tuple[str, str]]) -> Answer:
    """The engine's answer to a query. Recent ones are cached."""
    settings = tuple(sorted(query))
    local = any(key in ("hardware", HOST) and is_local(value) for key, value in settings)
    return _ask(settings, local_machine.state() if local else ())


@lru_cache(maxsize=32)  # a prediction of a large model has thousands of rows
def _ask(query: tuple[tuple[str, str], ...], _: local_machine.Stamp) -> Answer:
    explicit = dict(query)
    names = (*DEFAULTS, *SIZES, "phase", "dtype", HOST)
    for key in explicit:
        if key not in names:
            raise BadValue(f"no setting {key!r}; settings are {', '.join(names)}", key)
    if len(explicit) < len(query):
        raise BadValue("a setting is given twice; give each once")
    values = DEFAULTS | explicit
    with refusing("hardware"):
        machine = hardware(values["hardware"])
    with refusing("workload"):
        name = values["workload"]
        about(name)
        takes = settings(name)
    overrides = {key: _setting(key, explicit[key]) for key in (*SIZES, "phase", "dtype") if key in explicit}
    with refusing("dtype"):
        machine.peak(overrides.get("dtype", takes.get("dtype", "fp16")))
    with refusing(HOST):
        launcher = host(explicit[HOST]) if HOST in explicit else None
    with refusing("mode" if "dispatch" not in explicit else "dispatch"):
        if values["figures"] not in ("measured", "datasheet"):
            raise BadValue(f"figures are {values['figures']!r}; choose measured or datasheet", "figures")
        plan = Plan(values["mode"], values["dispatch"], calibrated=values["figures"] == "measured", host=launcher)
    graph = build(name, tuple(sorted(overrides.items())))
    with refusing("dtype"):
        prediction = predict(graph, machine, plan)
    return Answer(prediction, name, graph)


def _setting(key: str, text: str) -> int | str:
    if key not in SIZES:
        return text
    try:
        value = int(text)
    except ValueError:
        value = 0
    if not 1 <= value <= MOST:
        raise BadValue(f"{key} is {text[:40]!r}; give a whole number from 1 to {MOST:,}", key)
    return value


@lru_cache(maxsize=64)
def build(name: str, overrides: tuple[tuple[str, Any], ...]) -> Graph:
    with refusing("workload"):
        return launched(name, **dict(overrides))


def inputs(name: str, original: Graph) -> tuple[float, str]:
    """How many inputs one run takes, and what one is called: images, tokens (one per sequence in decode), samples."""
    settings, unit = original.settings, kind(name)[1]
    batch = float(settings.get("batch", 1))
    if unit == "token" and settings.get("phase") != "decode":
        return batch * float(settings.get("seq", 1)), unit
    return batch, unit


def as_json(p: Prediction, name: str, original: Graph) -> dict[str, Any]:
    graph, machine, work = p.graph, p.hardware, p.graph.work
    items, unit = inputs(name, original)
    return {
        "workload": {"slug": name, "name": about(name)["name"], "params": original.params, "settings": sizes(original)},
        "hardware": {
            "slug": machine.slug, "name": machine.name, "context": machine.context, "peak": machine.peak(graph.dtype),
            "bandwidth": machine.bandwidth, "launch": machine.launch, "ridge": machine.ridge(graph.dtype),
            "vector_peak": machine.vector_peak(graph.dtype), "vector_ridge": machine.ridge(graph.dtype, work="vector"),
            "power": machine.power,
        },
        "dtype": graph.dtype,
        "mode": p.plan.mode,
        "dispatch": p.plan.dispatch,
        "host": host_dict(p),
        "label": p.label,
        "basis": p.basis,
        "calibrated": p.calibrated,
        "seconds": p.seconds,
        "overlap": list(p.overlap),
        **{name: value for name, value in p.to_dict(0).items() if name in SURENESS},
        "terms": {"memory": p.data_s, "compute": p.compute_s, "overhead": p.overhead_s},
        "bound": p.bound,
        "busy_s": p.busy_s,
        "launch_s": sum(row.launch_s for row in p.ops),
        "utilization": p.utilization,
        "kernels": p.kernels,
        "ops_asked": len(original.ops),
        "flops": work.flops,
        "matmul_flops": work.matmul_flops,
        "bytes": work.bytes,
        "mfu": p.mfu,
        "throughput": {"per_s": items / p.seconds, "unit": unit, "energy_j": p.energy_j / items},
        "energy_j": p.energy_j,
        "memory": {
            **{name: value for name, value in asdict(p.memory).items() if name != "requests"},
            "usable": p.memory.usable, "total": p.memory.total, "fits": p.fits, "headroom": p.memory.headroom,
            "advice": [] if p.fits else advice(p, name, original),
        },
        "figures": list(figures(p)),
        "sources": list(p.sources),
        "ops": grouped(p.ops),
    }  # fmt: skip


def figures(p: Prediction) -> Iterator[dict[str, Any]]:
    """The registry's figures that went into this prediction, with their sources."""
    formats = dict.fromkeys((p.graph.dtype, *(row.op.dtype for row in p.ops)))
    names = [*(f"peak.{fmt}" for fmt in formats), *LABELS]
    for name in names:
        figure = p.hardware.figures.get(name)
        if figure is not None:
            label = LABELS.get(name) or f"peak rate R, {figure.format}, dense"
            yield {"name": name, "label": label, **asdict(figure)}


def grouped(rows: Iterable[OpRow]) -> list[dict[str, Any]]:
    """Ops of equal cost listed once, with their count; the longest first. Times are for one of them."""
    groups: dict[Any, list[OpRow]] = {}
    for row in rows:
        groups.setdefault((row.op.key, row.cost), []).append(row)
    out = []
    for same in groups.values():
        row, work = same[0], same[0].work
        out.append({
            "name": row.name, "last": same[-1].name, "count": len(same), "kind": row.kind, "dtype": row.op.dtype,
            "flops": work.flops, "bytes": work.bytes, "intensity": work.intensity if work.bytes else None,
            "seconds": row.seconds, "total_s": row.seconds * len(same), "launch_s": row.launch_s, "kernels": row.kernels,
            "term": row.term, "regime": row.regime,
        })  # fmt: skip
    return sorted(out, key=lambda group: -group["total_s"])
