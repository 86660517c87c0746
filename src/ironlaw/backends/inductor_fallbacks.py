"""Which ops torch.compile's Inductor leaves to a library, of those that it mostly writes itself."""

from __future__ import annotations

from dataclasses import replace

from ironlaw.backends.inductor import WRITTEN
from ironlaw.engine.device.types import Graph, Op
from ironlaw.engine.device.work import LIBRARY, STAND_IN, UNCOMPILED, category, with_attrs

HALVES = ("fp16", "bf16")
SUPPRESSED = "nms"  # boxes: several ops that capture marks as its own


def left_to_library(op: Op) -> bool:
    """Whether Inductor calls ATen for an op of a category that it mostly writes itself (torch/_inductor/lowering.py, `make_fallback`,
    `fallback_handler`): bags of embeddings, suppressed boxes, complex numbers, and sums that are scattered in half precision, for which
    Triton has no atomic addition."""
    if op.kind in ("embedding", "embedding_backward"):
        return op.attrs.get("how") == "bags"
    if category(op.kind) not in WRITTEN:
        return False
    if op.attrs.get(STAND_IN) == SUPPRESSED or any(t.dtype.startswith("complex") for t in (*op.inputs, *op.outputs)):
        return True
    return bool(op.kind == "write" and op.attrs.get("accumulate") and op.outputs[0].dtype in HALVES)


def called(graph: Graph) -> Graph:
    """The graph with those ops marked."""
    marked = tuple(
        with_attrs(op, **{UNCOMPILED: LIBRARY}) if UNCOMPILED not in op.attrs and left_to_library(op) else op for op in graph.ops
    )
    return replace(graph, ops=marked)
