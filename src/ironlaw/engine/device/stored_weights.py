"""Weights stored in fewer bits than the arithmetic is done in.

A product with such a weight reads fewer bytes and does the same multiply-adds in the format of what comes in; on the way each
weight is brought back to that format. INT8 has one scale for each output, which is applied to the sums; INT4 has a scale and a
zero for each group of weights along a row, so each weight is multiplied and added to before it is used.

`quantised` assumes a kernel that unpacks on the way and is otherwise as fast as the plain product. Those that a library brings
itself (`kernel="library"`) may be slower: a backend that measured them has curves for them.
"""

from __future__ import annotations

from dataclasses import replace

from ironlaw.engine.arrays import ceil
from ironlaw.engine.device.types import Graph, Op, Tensor
from ironlaw.engine.device.work import op
from ironlaw.errors import BadValue, unknown

STORED = ("int8", "int4")
OWN = "own"  # weights as the model has them
GROUP = 128  # weights that share a scale and a zero, in INT4
INTO = {"linear": "quantised_linear", "grouped_matmul": "quantised_grouped_matmul"}
KERNELS = ("", "library")


def scales(weight: Tensor, fmt: str, dtype: str, group: int = GROUP) -> Tensor:
    *rows, depth = weight.shape
    shape = (*rows, 1) if fmt == "int8" else (*rows, ceil(depth / group), 2)
    return Tensor(f"{weight.name} scales", shape, dtype, "buffer")


def quantised(graph: Graph, fmt: str, group: int = GROUP, kernel: str = "") -> Graph:
    """The same graph with the weights of its linear layers (and experts) stored in `fmt`, "int8" or "int4".

    A weight that something else reads too (an embedding tied to the head) stays as it is; `settings["kept"]` lists those.
    """
    if fmt not in STORED:
        raise unknown("format for stored weights", fmt, STORED)
    if kernel not in KERNELS:
        raise unknown("kernel for stored weights", kernel, KERNELS)
    if graph.settings.get("training"):
        raise BadValue("weights stored in integers can't be trained; ask for the forward pass alone")
    used = _readers(graph)
    chosen = {name for name, kinds in used.items() if kinds <= set(INTO)}
    if not chosen:
        raise BadValue(f"{graph.name} has no linear layer with a weight of its own: there is nothing to store in {fmt}")
    ops = tuple(_stored(one, fmt, group, kernel) if _weight(one) in chosen else one for one in graph.ops)
    kept = sorted(name for name, kinds in used.items() if kinds & set(INTO) and name not in chosen)
    settings = {**graph.settings, "weights": fmt, "kept": tuple(kept)}
    return replace(graph, ops=ops, settings=settings)


def _weight(one: Op) -> str:
    return one.inputs[1].name if one.kind in INTO and one.inputs[1].role == "weight" else ""


def _readers(graph: Graph) -> dict[str, set[str]]:
    """Each weight, and the kinds of ops that read it as the weight of a product, or "other" where it is something else."""
    used: dict[str, set[str]] = {}
    for one in graph.ops:
        for i, t in enumerate(one.inputs):
            if t.role == "weight" and len(t.shape) > 1:
                used.setdefault(t.name, set()).add(one.kind if one.kind in INTO and i == 1 else "other")
    return used


def _stored(one: Op, fmt: str, group: int, kernel: str) -> Op:
    x, w, *rest = one.inputs
    attrs = {**one.attrs, **({"kernel": kernel} if kernel else {})}
    inputs = [x, replace(w, dtype=fmt), scales(w, fmt, x.dtype, group), *rest]
    return op(INTO[one.kind], one.name, inputs, one.outputs, **attrs)
