"""The graph of the step that was kept, and in words what it is and what was assumed on the way to it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from ironlaw.engine.device.types import Graph
from ironlaw.errors import BadValue
from ironlaw.tracing.capture import graph_of
from ironlaw.tracing.scripts.loaders import Loaders
from ironlaw.tracing.scripts.units import Units, local

NO_UNIT = (
    "{place} ended without a training step and without a call of an nn.Module, so there is nothing to analyze; name a function in it"
    " instead: {place}:NAME"
)


def graph_of_unit(asked: Any, units: Units, loaders: Loaders, more: list[str]) -> Graph:
    kept = units.kept
    if kept is None and units.recorder.ops:  # a loop inside a library, or one that was never left: all of it
        kept = units.recorder
    if kept is None or not kept.ops:
        raise BadValue(NO_UNIT.format(place=asked.place))
    kept.autocast = units.recorder.autocast
    compiles = units.recorder.compiled
    model = max(units.models.values(), key=weights_of, default=None)
    name = type(model).__name__ if model is not None else asked.place
    graph = graph_of(kept, name, units.trains or bool(kept.backwards))
    notes = (*found(asked, units, loaders, model), *assumed(asked, units, loaders), *more, *graph.settings.get("notes", ()))
    if compiles:
        notes = (notes[0], "the script calls torch.compile, so the verdict is about the mode compiled", *notes[1:])
    settings: dict[str, Any] = {"notes": notes} | ({"compiles": True} if compiles else {})
    settings["taken"] = {"steps": units.count - (len(set(units.sizes[1:])) == 1 and units.count > 2), "numbers": kept.said}
    frozen = {id(w): w for model in units.models.values() for w in model.parameters() if not w.requires_grad}
    if frozen:
        settings["frozen"] = tuple(kept.tensor(local(w)).name for w in frozen.values())
    if loaders.batches:
        settings["batch"] = loaders.batches[0]
    return replace(graph, settings={**graph.settings, **settings})


def weights_of(module: Any) -> int:
    return sum(int(w.numel()) for w in module.parameters())


def found(asked: Any, units: Units, loaders: Loaders, model: Any) -> list[str]:
    kept = units.kept or units.recorder
    parts = [f"{type(model).__name__} with {weights_of(model):,} weights"] if model is not None else []
    if units.trains:
        parts.append(
            f"{type(units.counted).__name__}" + (f" (one of {len(units.optimisers)} optimisers)" if len(units.optimisers) > 1 else "")
        )
    if loaders.batches:
        parts.append(f"a loader that gives batches of {loaders.batches[0]}")
    what = f"optimiser step {units.count}" if units.trains else f"call {units.count}" if units.count else "all calls"
    lines = [f"{asked.place} was run up to the end of {what}, without data: {', '.join(parts)}"] if parts else []
    if kept.outside:
        lines.append(f"{kept.outside:,} of the step's {len(kept.ops):,} operators run outside of the model and the optimiser")
    return lines


def assumed(asked: Any, units: Units, loaders: Loaders) -> list[str]:
    lines = []
    if not asked.real:
        lines.append(
            "assumed: a GPU that holds all of it; every batch is like the first of its loader"
            if loaders.batches
            else "assumed: a GPU that holds all of it"
        )
    if loaders.cut:
        lines.append("assumed: an evaluation on the way is one batch long")
    return lines
