"""The loss of a language model computed for an eighth of its tokens at a time, so that the logits of all of them never lie in memory.

Between the head's product and its gradients nothing looks beyond a token, but for the weights' own gradients, which are added up. So each
part goes all the way, from logits to gradients, before the next begins; no product is computed twice.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace

from ironlaw.engine.device.types import Graph, Op, Tensor
from ironlaw.engine.device.work import op as make_op

PARTS = 8
LEAST = 2.0**28  # bytes of logits, from which on it is worth while
PRODUCTS = ("linear", "matmul")


def in_parts(graph: Graph) -> Graph | None:
    """None where there is no such loss, or its tokens can't be parted evenly."""
    region = _region(graph)
    if region is None:
        return None
    ops, tokens = graph.ops[region], _tokens(graph.ops[region.start])
    parted = _parted(ops, tokens)
    if parted is None:
        return None
    made = [one for part in range(PARTS) for one in _part(ops, parted, tokens, part)]
    pieces = {t.name for one in ops for t in one.outputs}
    after = {name for one in graph.ops[region.stop :] for name in (t.name for t in one.inputs) if name in pieces}
    kept = [Tensor(t.name, t.shape, t.dtype) for one in ops for t in one.outputs if t.name in after]
    made[:0] = [make_op("fill", f"{t.name}, whole", (), (t,), dtype=t.dtype) for t in kept]
    within = {**graph.settings.get("within", {}), **{_named(t.name, part): t.name for t in kept for part in range(PARTS)}}
    longer, left = len(made) - len(ops), {name: value for name, value in graph.settings.items() if name != "calls"}
    held = {name: until for name, until in left.get("held", {}).items() if name not in pieces or name in after}
    gone = {one.name for one in ops}
    last = made[-1].name
    held = {name: last if until in gone else until for name, until in held.items()}
    backwards = tuple(end + longer if end >= region.stop else end for end in left["backwards"])
    settings = {**left, "within": within, "held": held, "backwards": backwards}
    return replace(graph, ops=(*graph.ops[: region.start], *made, *graph.ops[region.stop :]), settings=settings)


def _region(graph: Graph) -> slice | None:
    """The ops from the head's product to the last of its gradients."""
    if len(graph.settings.get("backwards", ())) != 1:
        return None
    losses = [i for i, one in enumerate(graph.ops) if one.kind == "log_softmax" and one.outputs[0].bytes >= LEAST]
    if len(losses) != 1:
        return None
    logits = graph.ops[losses[0]].outputs[0].size
    start = next((i for i in range(losses[0], -1, -1) if graph.ops[i].kind in PRODUCTS and graph.ops[i].outputs[0].size == logits), None)
    if start is None:
        return None
    wide = {t.name for one in graph.ops[start : losses[0] + 1] for t in one.outputs if t.size == logits}
    stop = losses[0] + 1
    for i in range(stop, len(graph.ops)):
        one = graph.ops[i]
        wide |= {t.name for t in one.outputs if t.size == logits and (not one.inputs or wide & {t.name for t in one.inputs})}
        stop = i + 1 if wide & {t.name for t in (*one.inputs, *one.outputs)} else stop
    return slice(start, stop)


def _tokens(head: Op) -> int:
    return math.prod(int(side) for side in head.outputs[0].shape[:-1])


def _parted(ops: tuple[Op, ...], tokens: int) -> set[str] | None:
    """The tensors that have a row for each token; None where one can't be parted."""
    if tokens % PARTS:
        return None
    rows = {ops[0].inputs[0].name}
    shapes = {t.name: t for one in ops for t in (*one.inputs, *one.outputs)}
    rows |= {name for name, t in shapes.items() if t.role == "input" and t.size == tokens}
    for one in ops:
        both = one.kind in PRODUCTS and all(t.name in rows for t in one.inputs[:2])  # a weight's gradient
        summed = one.kind == "sum" and one.attrs.get("axis") == 0
        if not both and not summed and (not one.inputs or rows & {t.name for t in one.inputs}):
            rows |= {t.name for t in one.outputs if t.size >= tokens and t.size % tokens == 0}
    every = (t for one in ops for t in (*one.inputs, *one.outputs) if t.name in rows)
    return rows if all(_less(t, tokens) is not None for t in every) else None


def _less(t: Tensor, tokens: int) -> Tensor | None:
    """An eighth of a tensor; with its tokens along one side, or along all but the last."""
    sides = [i for i, side in enumerate(t.shape) if side == tokens]
    if sides:
        return replace(t, shape=tuple(side // PARTS if i == sides[0] else side for i, side in enumerate(t.shape)))
    if t.shape and math.prod(t.shape[:-1]) == tokens:
        return replace(t, shape=(tokens // PARTS, t.shape[-1]))
    return replace(t, shape=(tokens // PARTS,)) if math.prod(t.shape) == tokens else None


def _named(name: str, part: int) -> str:
    return f"{name}, part {part + 1}"


def _part(ops: tuple[Op, ...], rows: set[str], tokens: int, part: int) -> Iterator[Op]:
    made = {t.name for one in ops for t in one.outputs}

    def of(t: Tensor) -> Tensor:
        less = _less(t, tokens) if t.name in rows else t
        assert less is not None
        return replace(less, name=_named(t.name, part)) if t.name in made else less

    for one in ops:
        inputs, outputs = tuple(map(of, one.inputs)), tuple(map(of, one.outputs))
        attrs = {name: value / PARTS if name == "touched" else value for name, value in one.attrs.items()}
        yield make_op(one.kind, _named(one.name, part), inputs, outputs, **attrs)
        if one.kind in PRODUCTS and part and not any(t.name in rows for t in one.outputs):  # added to what the parts before gave
            (t,) = outputs
            yield make_op("add", f"{t.name}, added", (t, t), (replace(t, name=f"{t.name}, added"),), inplace=True)
