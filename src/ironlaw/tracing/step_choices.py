"""The changes for which a training step is captured again: autocast, checkpointing of nothing or of every block, and one
microbatch in place of several."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from contextlib import suppress
from dataclasses import replace
from itertools import combinations, pairwise
from math import fsum

from ironlaw.engine.advice.action_names import AGAIN, AUTOCAST, KEPT, TOGETHER
from ironlaw.engine.advice.programs import WIDE
from ironlaw.engine.device.memory import footprint
from ironlaw.engine.device.types import Graph
from ironlaw.errors import IronlawError
from ironlaw.tracing.origins import OPTIMISER

LARGE = 12e9  # bytes, which the smallest GPUs that train don't have: below that nobody needs checkpoints
Captured = Callable[[int, Collection[str]], Graph]  # the step at so many times the batch, changed so


def choices(graph: Graph) -> list[frozenset[str]]:
    """The sets of changes that this step leaves room for."""
    if not graph.settings.get("training"):
        return []
    single = [AUTOCAST] if graph.dtype in WIDE else []
    single += [KEPT] if graph.settings.get("checkpoints") else []
    single += [TOGETHER] if in_microbatches(graph) else []
    sets = [frozenset(some) for count in range(1, len(single) + 1) for some in combinations(single, count)]
    if graph.settings.get("blocks") and not graph.settings.get("checkpoints") and footprint(graph).total > LARGE:
        sets += [frozenset({AGAIN, *with_it}) for with_it in ((), (AUTOCAST,)) if set(with_it) <= set(single)]
    return sets


def in_microbatches(graph: Graph) -> bool:
    """Whether its backward passes follow forward passes that are alike, with no optimiser between them; those of two models that train
    against each other don't."""
    ends, phases = graph.settings.get("backwards", ()), graph.settings.get("phases", {})
    if len(ends) < 2 or any(phases.get(one.name) == OPTIMISER for one in graph.ops[: ends[-1]]):
        return False
    passes = [graph.ops[start:end] for start, end in pairwise((0, *ends))]
    return len({fsum(float(one.work.matmul_flops) for one in some) for some in passes}) == 1


def steps(graph: Graph, capture: Captured) -> Iterator[tuple[frozenset[str], Graph]]:
    """The step after each set of changes; one that can't be captured is left out, and not offered."""
    for changes in choices(graph):
        with suppress(IronlawError):
            yield changes, captured(graph, changes, capture)


def captured(graph: Graph, changes: Collection[str], capture: Captured) -> Graph:
    other = capture(len(graph.settings["backwards"]) if TOGETHER in changes else 1, changes)
    return one_pass(other) if TOGETHER in changes else other


def one_pass(graph: Graph) -> Graph:
    """The first microbatch and the optimiser; the others would do the same."""
    ends = graph.settings["backwards"]
    first, last = ends[0], ends[-1]
    ops, calls = (tuple(all_[:first]) + tuple(all_[last:]) for all_ in (graph.ops, graph.settings["calls"]))
    named = _summed(graph, first)
    ops = tuple(replace(one, inputs=tuple(replace(t, name=named.get(t.name, t.name)) for t in one.inputs)) for one in ops)
    more = len(ends) - 1
    counts = {name: graph.settings[name] - more * (graph.settings[name] // len(ends)) for name in ("checkpoints", "entries")}
    return replace(graph, ops=ops, settings={**graph.settings, **counts, "calls": calls, "backwards": (first,), "held": {}})


def _summed(graph: Graph, first: int) -> dict[str, str]:
    """What a later pass made of a gradient -> the gradient of the first pass."""
    home = graph.settings.get("within", {})
    made = {home.get(t.name, t.name): t.name for one in graph.ops[:first] for t in one.outputs}
    return {t.name: made[home[t.name]] for one in graph.ops[first:] for t in one.outputs if home.get(t.name) in made}
