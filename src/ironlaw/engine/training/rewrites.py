"""The same model run otherwise: under autocast, or with attention in three kernels."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from ironlaw.engine.device.types import Graph, Op, Tensor
from ironlaw.engine.device.work import op, traits
from ironlaw.formats import is_float


def autocast(graph: Graph, fmt: str = "bf16") -> Graph:
    """Each op casts what it reads; a weight's copy is made once and shared, an activation's is made by every reader.

    Products run in the narrow format, what adds up or takes powers in FP32, the rest in the widest format that comes in.
    """
    ops: list[Op] = []
    formats: dict[str, str] = {}
    memo: dict[Any, Any] = {}  # layers are alike: each kind of op is counted once
    copies: dict[str, Tensor] = {}

    def cast(t: Tensor, to: str, reader: str) -> Tensor:
        here = replace(t, dtype=formats.get(t.name, t.dtype))
        if not is_float(here.dtype) or here.dtype == to:
            return here
        if t.role == "weight" and t.name in copies:
            return copies[t.name]
        name = f"{t.name}.{to}" if t.role == "weight" else f"{reader}.cast {t.name}"
        copy = Tensor(name, here.shape, to)
        ops.append(op("cast", f"{reader}.cast {t.name}", (here,), (copy,), memo))
        if t.role == "weight":
            copies[t.name] = copy
        return copy

    for one in graph.ops:
        known = traits(one.kind)
        read = one.inputs[:1] if known.mixed else one.inputs
        floats = [formats.get(t.name, t.dtype) for t in read if is_float(t.dtype)]
        widest = "fp32" if "fp32" in floats or not floats else floats[0]
        to = fmt if known.narrows else "fp32" if known.widens else ""
        seen: dict[str, Tensor] = {}  # q, k and v may be parts of one tensor: it is cast once
        inputs = []
        for t in one.inputs:
            if not to:
                inputs.append(replace(t, dtype=formats.get(t.name, t.dtype)))
                continue
            copy = seen.get(t.name) or cast(t, to, one.name)
            seen[t.name] = copy
            inputs.append(replace(copy, shape=t.shape))
        if one.kind == "cast":
            outputs = one.outputs
        else:
            outputs = tuple(replace(t, dtype=to or widest) if is_float(t.dtype) else t for t in one.outputs)
        formats.update({t.name: t.dtype for t in outputs})
        ops.append(op(one.kind, one.name, inputs, outputs, memo, **one.attrs))
    return replace(graph, ops=tuple(ops))


def three_kernels(graph: Graph) -> Graph:
    """Attention as two products with a softmax between them, whose scores go through memory and are kept."""
    ops: list[Op] = []
    memo: dict[Any, Any] = {}
    for one in graph.ops:
        if one.kind != "attention":
            ops.append(one)
            continue
        q, k, v, *_ = one.inputs
        turned = replace(k, shape=(*k.shape[:-2], k.shape[-1], k.shape[-2]))
        scores = Tensor(f"{one.name}.scores", (*q.shape[:-1], k.shape[-2]), q.dtype)
        shares = replace(scores, name=f"{one.name}.softmax")
        ops += [
            op("matmul", scores.name, (q, turned), (scores,), memo),
            op("softmax", shares.name, (scores,), (shares,), memo),
            op("matmul", one.name, (shares, v), one.outputs[:1], memo),
        ]
    return replace(graph, ops=tuple(ops))
