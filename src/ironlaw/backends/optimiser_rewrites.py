"""The optimiser of a captured training step as PyTorch would run it otherwise: tensor by tensor -> in lists (foreach) -> in one kernel."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import groupby

from ironlaw.backends.multi_tensor import list_launches
from ironlaw.engine.device.types import BEFORE, Graph, Op, Tensor
from ironlaw.engine.device.work import EAGER, UNCOMPILED
from ironlaw.engine.device.work import op as make_op

STATES = (0, 1, 2)  # tensors that SGD, SGD with momentum and Adam keep for each weight
FUSED = "fused optimiser"
OPTIMISER = "optimiser"  # the phase of a captured step
NEXT = ", next"


def optimisers(graph: Graph) -> list[slice]:
    """Where their ops are; clipping and scaling come before. Two models that train against each other have one each."""
    ends = graph.settings.get("backwards")
    if not ends:
        return []
    phases = graph.settings.get("phases", {})
    if OPTIMISER not in phases.values():  # from the first after the last backward pass that reads a weight
        reads = (i for i in range(ends[-1], len(graph.ops)) if any(t.role == "weight" for t in graph.ops[i].inputs))
        first = next(reads, None)
        return [] if first is None else [slice(first, len(graph.ops))]
    runs = [(steps, list(places)) for steps, places in groupby(range(len(graph.ops)), lambda i: phases.get(graph.ops[i].name) == OPTIMISER)]
    return [slice(places[0], places[-1] + 1) for steps, places in runs if steps]


def fused(graph: Graph) -> Graph | None:
    """Weights, gradients and state read and written once; None where it is so already, or PyTorch has no such kernel."""
    return _each(graph, _fused)


def in_lists(graph: Graph) -> Graph | None:
    """The same op of every weight in one call; None where that is so already, or the weights are not treated alike."""
    return _each(graph, _in_lists)


def _each(graph: Graph, change: Callable[[Sequence[Op], str], list[Op] | None]) -> Graph | None:
    """With each optimiser changed that can be; from the last on, so that the places of those before stay as they are."""
    other, after = graph, ""
    for where in reversed(optimisers(graph)):
        ops = change(graph.ops[where], after)
        if ops is not None:
            other, after = _with(other, where, ops), f"{after}'"
    if not after:
        return None
    other.plans[BEFORE] = graph
    return other


def _fused(ops: Sequence[Op], after: str) -> list[Op] | None:
    if len(ops) < 2:
        return None
    weights, state, gradients = _read(ops)
    each = len(state) / len(weights) if weights else None
    if each not in STATES or len(gradients) != len(weights):
        return None
    inputs, written = [*weights, *gradients, *state], [*weights, *state]
    outputs = [replace(t, name=f"{t.name}{NEXT}", role="activation") for t in written]
    launches = list_launches(inputs, outputs[: len(weights)])
    return [_list(f"{FUSED}{after}", inputs, outputs, float(launches))]


def _in_lists(stretch: Sequence[Op], after: str) -> list[Op] | None:
    if any(one.kind == "foreach" for one in stretch):
        return None
    ops = [one for one in stretch if one.outputs[0].size > 1]  # beside them, the steps are counted
    count = sum(one.inputs[0].role == "weight" for one in ops)
    period = len(ops) // count if count else 0
    if not period or len(ops) % count or any(one.kind != ops[i % period].kind for i, one in enumerate(ops)):
        return None
    lists = []
    for place in range(period):
        alike = ops[place::period]
        inputs, outputs = [t for one in alike for t in one.inputs], [t for one in alike for t in one.outputs]
        lists.append(_list(f"foreach {ops[place].kind}{after}", inputs, outputs, float(list_launches(inputs, outputs))))
    return lists


def _read(ops: Sequence[Op]) -> tuple[list[Tensor], list[Tensor], list[Tensor]]:
    """What is there before the optimiser begins: weights, state, gradients; single numbers, such as the count of steps, left out."""
    made = {t.name for one in ops for t in one.outputs}
    there = {t.name: t for one in ops for t in one.inputs if t.name not in made}
    weights = [t for t in there.values() if t.role == "weight"]
    state = [t for t in there.values() if t.role == "buffer" and not t.name.endswith(".step") and not t.name.startswith("gradient")]
    gradients = [t for t in there.values() if t.role == "activation" or t.name.startswith("gradient")]
    return weights, state, gradients


def _list(name: str, inputs: Sequence[Tensor], outputs: Sequence[Tensor], launches: float) -> Op:
    return make_op("foreach", name, tuple(inputs), tuple(outputs), None, launches=launches, inplace=True, **{UNCOMPILED: EAGER})


def _with(graph: Graph, where: slice, ops: Sequence[Op]) -> Graph:
    """With these in place of the optimiser's; what they write lies where it lay before, and is read from there."""
    before, after = graph.ops[where], graph.ops[where.stop :]
    home = graph.settings.get("within", {})
    written = {t.name for one in ops for t in one.outputs}
    now = {t.name: f"{home[t.name]}{NEXT}" for one in before for t in one.outputs if f"{home.get(t.name)}{NEXT}" in written}
    if after and now:
        after = tuple(replace(one, inputs=tuple(replace(t, name=now.get(t.name, t.name)) for t in one.inputs)) for one in after)
    new = (*graph.ops[: where.start], *ops, *after)
    names, made = {one.name for one in new}, {t.name for one in new for t in one.outputs}
    settings = {name: value for name, value in graph.settings.items() if name != "calls"}
    settings["held"] = {tensor: one for tensor, one in settings.get("held", {}).items() if one in names}
    settings["within"] = home | {name: name.removesuffix(NEXT) for name in made if name.endswith(NEXT)}
    settings["phases"] = settings.get("phases", {}) | {one.name: OPTIMISER for one in ops}
    fewer = len(before) - len(ops)
    settings["backwards"] = tuple(end - fewer if end >= where.stop else end for end in settings["backwards"])
    return replace(graph, ops=new, settings=settings, outputs=tuple(name for name in graph.outputs if name in made))
