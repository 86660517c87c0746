"""What to change when a workload does not fit into a machine's memory: batch, precision, or the machine."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from ironlaw.engine.device.memory import footprint
from ironlaw.engine.device.predict import Prediction, predict
from ironlaw.engine.device.types import FORMATS, Graph
from ironlaw.registry.machines import hardware, machines
from ironlaw.registry.workloads import about, workloads
from ironlaw.systems.launched_workloads import launched, sizes
from ironlaw.units import show


def advice(p: Prediction, name: str, original: Graph) -> list[dict[str, Any]]:
    """Changes that would make it fit, each with the setting to change: `{"text", "field", "value"}`; never empty."""
    return [*_batch(p, name, original), *_context(p, original), *_precision(p, name, original), *_model(p), *_machine(p)]


def _batch(p: Prediction, name: str, original: Graph) -> Iterator[dict[str, Any]]:
    """Weights and workspace stay the same; nearly everything else grows with the batch."""
    batch, fixed = int(original.settings.get("batch", 1)), p.memory.resident_weights + p.memory.workspace
    each = (p.memory.total - fixed) / batch
    most = int((p.memory.room - fixed) // each) if each else 0
    if 1 <= most < batch:
        most = _halved(most, lambda size: bool(predict(launched(name, **sizes(original) | {"batch": size}), p.hardware, p.plan).fits))
    if 1 <= most < batch:
        yield {"text": f"batch {most}, the largest that fits", "field": "batch", "value": str(most)}


def _halved(most: int, fits: Callable[[int], bool]) -> int:
    """The largest size up to that one that fits, by halving what lies between; 0 where none does."""
    low, high = 0, most + 1
    if fits(most):
        return most
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if fits(middle) else (low, middle)
    return low


def _context(p: Prediction, original: Graph) -> Iterator[dict[str, Any]]:
    """Where the keys and values do not fit, a shorter context helps."""
    context = int(original.settings.get("context", 0) or 0)
    room = p.memory.room - p.memory.resident_weights - p.memory.activations
    if p.memory.kv_cache and 0 < room < p.memory.kv_cache:
        most = int(context * room / p.memory.kv_cache)
        if most:
            yield {"text": f"a context of {most:,} tokens", "field": "context", "value": str(most)}


def _precision(p: Prediction, name: str, original: Graph) -> Iterator[dict[str, Any]]:
    """The widest narrower format that the machine has and that fits."""
    settings = sizes(original)
    narrower = [fmt for fmt in p.hardware.peaks if FORMATS[fmt] < FORMATS[original.dtype]]
    for fmt in sorted(narrower, key=lambda fmt: -FORMATS[fmt]):
        graph = launched(name, **{**settings, "dtype": fmt})
        need = predict(graph, p.hardware, p.plan).memory
        if need.fits:
            yield {"text": f"{fmt}, which needs {show(need.total, 'B')}", "field": "dtype", "value": fmt}
            return


def _model(p: Prediction) -> Iterator[dict[str, Any]]:
    """Where the weights alone do not fit: the largest workload that fits at a batch of 1."""
    room = p.memory.flash or p.memory.usable
    if p.memory.weights <= room:
        return
    weights = {slug: about(slug).get("check", {}).get("parameters", 0) * FORMATS[p.graph.dtype] for slug in workloads()}
    for slug in sorted((slug for slug in weights if 0 < weights[slug] <= room), key=lambda slug: -weights[slug])[:3]:
        need = predict(launched(slug, dtype=p.graph.dtype), p.hardware, p.plan).memory
        if need.fits:
            yield {
                "text": f"a smaller model: {about(slug)['name']}, which needs {show(need.total, 'B')}",
                "field": "workload",
                "value": slug,
            }
            return


def _machine(p: Prediction) -> Iterator[dict[str, Any]]:
    """The smallest machine that holds it in this precision."""
    scratch = [row.cost.scratch for row in p.ops]
    others = sorted((hardware(slug) for slug in machines()), key=lambda machine: machine.usable)
    for other in others:
        if p.graph.dtype in other.peaks and footprint(p.graph, other, scratch).fits:
            yield {"text": f"{other.name}, with {show(other.usable, 'B')} usable", "field": "hardware", "value": other.slug}
            return
    yield {"text": f"a smaller model: no machine in the registry has {show(p.memory.total, 'B')}", "field": "workload", "value": ""}
