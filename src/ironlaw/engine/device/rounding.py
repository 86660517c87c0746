"""What products of FP32 tensors are computed in: matrix units take TF32, which rounds what it reads, and a library may do so unasked."""

from __future__ import annotations

from dataclasses import replace

from ironlaw.engine.device.machine import NARROW, Hardware, Plan
from ironlaw.engine.device.types import Graph
from ironlaw.engine.device.work import with_attrs


def as_computed(graph: Graph, hardware: Hardware, plan: Plan) -> Graph:
    """The graph with the format of each product as the machine's library computes it. Tensors stay FP32. A graph remembers it."""
    kinds = hardware.narrowed.get(plan.fp32, ()) if NARROW in hardware.peaks else ()
    if not kinds:
        return graph
    key = (NARROW, kinds)
    computed: Graph | None = graph.plans.get(key)
    if computed is None:
        ops = tuple(with_attrs(op, dtype=NARROW) if hardware.narrows(op.kind, op.dtype, plan.fp32) else op for op in graph.ops)
        same = all(new is old for new, old in zip(ops, graph.ops, strict=True))
        computed = graph.plans[key] = graph if same else replace(graph, ops=ops)
    return computed


def narrowed_kinds(graph: Graph) -> tuple[str, ...]:
    """The kinds of op in a graph that compute in TF32 on FP32 tensors. A graph remembers them."""
    kinds: tuple[str, ...] | None = graph.plans.get(NARROW)
    if kinds is None:
        parts = (part for op in graph.ops for part in op.attrs.get("parts", (op,)))
        kinds = tuple(sorted({p.kind for p in parts if p.attrs.get("dtype") == NARROW and p.inputs and p.inputs[0].dtype == "fp32"}))
        graph.plans[NARROW] = kinds
    return kinds
