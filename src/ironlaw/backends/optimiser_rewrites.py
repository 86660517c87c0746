"""The optimiser of a captured training step as PyTorch would run it otherwise: tensor by tensor -> in lists (foreach) -> in one kernel."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ironlaw.backends.multi_tensor import list_launches
from ironlaw.engine.device.types import Graph, Op, Tensor
from ironlaw.engine.device.work import EAGER, UNCOMPILED
from ironlaw.engine.device.work import op as make_op

STATES = (0, 1, 2)  # tensors that SGD, SGD with momentum and Adam keep for each weight
FUSED = "fused optimiser"
NEXT = ", next"


def optimiser(graph: Graph) -> slice | None:
    """Where its ops are: from the first after the last backward pass that reads a weight; clipping and scaling come before it."""
    ends = graph.settings.get("backwards")
    if not ends:
        return None
    reads = (i for i in range(ends[-1], len(graph.ops)) if any(t.role == "weight" for t in graph.ops[i].inputs))
    first = next(reads, None)
    return slice(first, len(graph.ops)) if first is not None else None


def fused(graph: Graph) -> Graph | None:
    """Weights, gradients and state read and written once; None where it is so already, or PyTorch has no such kernel."""
    where = optimiser(graph)
    if where is None or len(graph.ops[where]) < 2:
        return None
    weights, state, gradients = _read(graph.ops[where])
    each = len(state) / len(weights)
    if each not in STATES or len(gradients) != len(weights):
        return None
    inputs, written = [*weights, *gradients, *state], [*weights, *state]
    outputs = [replace(t, name=f"{t.name}{NEXT}", role="activation") for t in written]
    launches = list_launches(inputs, outputs[: len(weights)])
    return _with(graph, where, [_list(FUSED, inputs, outputs, float(launches))])


def in_lists(graph: Graph) -> Graph | None:
    """The same op of every weight in one call; None where that is so already, or the weights are not treated alike."""
    where = optimiser(graph)
    if where is None or any(one.kind == "foreach" for one in graph.ops[where]):
        return None
    ops = [one for one in graph.ops[where] if one.outputs[0].size > 1]  # beside them, the steps are counted
    count = sum(one.inputs[0].role == "weight" for one in ops)
    period = len(ops) // count if count else 0
    if not period or len(ops) % count or any(one.kind != ops[i % period].kind for i, one in enumerate(ops)):
        return None
    lists = []
    for place in range(period):
        alike = ops[place::period]
        inputs, outputs = [t for one in alike for t in one.inputs], [t for one in alike for t in one.outputs]
        lists.append(_list(f"foreach {ops[place].kind}", inputs, outputs, float(list_launches(inputs, outputs))))
    return _with(graph, where, lists)


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
    """With these in place of the optimiser's; what they write lies where it lay before."""
    ops = (*graph.ops[: where.start], *ops)
    names, made = {one.name for one in ops}, {t.name for one in ops for t in one.outputs}
    settings = {name: value for name, value in graph.settings.items() if name != "calls"}
    settings["held"] = {tensor: one for tensor, one in settings.get("held", {}).items() if one in names}
    settings["within"] = settings.get("within", {}) | {name: name.removesuffix(NEXT) for name in made if name.endswith(NEXT)}
    return replace(graph, ops=ops, settings=settings, outputs=tuple(name for name in graph.outputs if name in made))
