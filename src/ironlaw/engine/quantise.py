"""Weights stored in fewer bits than the arithmetic is done in.

A product with such a weight reads fewer bytes and does the same multiply-adds in the format of what comes in; on the way each
weight is brought back to that format. INT8 has one scale for each output, which is applied to the sums; INT4 has a scale and a
zero for each group of weights along a row, so each weight is multiplied and added to before it is used.

`quantised` assumes a kernel that unpacks on the way and is otherwise as fast as the plain product. Those that PyTorch brings
(`kernel="torch"`: _weight_int8pack_mm, _weight_int4pack_mm) are curves of their own: measured on an H200 they lose to the plain
product from a few rows on.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from ironlaw.engine import lowering_cpu
from ironlaw.engine.arrays import Number, ceil, minimum
from ironlaw.engine.kernels import Kernel
from ironlaw.engine.lowering import LOWER, matrix
from ironlaw.engine.routing import grouped_matrix
from ironlaw.engine.types import FORMATS, Graph, Op, Tensor
from ironlaw.engine.work import Count, Tensors, kind, op
from ironlaw.errors import BadValue, unknown

STORED = ("int8", "int4")
GROUP = 128  # weights that share a scale and a zero, in INT4
INTO = {"linear": "quantised_linear", "grouped_matmul": "quantised_grouped_matmul"}
KERNELS = ("", "torch")
ROWS = ("weight_int8_mm", "weight_int4_mm")  # rows of evidence


@kind("contraction")
def quantised_linear(x: Tensors, y: Tensors, a: Mapping[str, Any]) -> Count:
    """[…, k] × [n, k]ᵀ with the weight in INT8 or INT4, then its scales (and zeros), then maybe a bias."""
    if x[0].shape[-1] != x[1].shape[-1]:
        raise ValueError(f"the inner sizes differ, {x[0].shape[-1]:g} and {x[1].shape[-1]:g}")
    bias = y[0].size if len(x) > 3 else 0.0
    return Count(matmul=2.0 * y[0].size * x[1].shape[-1], vector=unpacking(x[1], y[0].size) + bias)


@kind("contraction")
def quantised_grouped_matmul(x: Tensors, y: Tensors, a: Mapping[str, Any]) -> Count:
    """Rows […, k] times [experts, n, k] in INT8 or INT4, then its scales; experts that no row meets are not read."""
    hit = minimum(1.0, x[0].size / x[0].shape[-1] / x[1].shape[0])
    reads = (x[0].bytes, x[1].bytes * hit, x[2].bytes * hit, *(t.bytes for t in x[3:]))
    return Count(matmul=2.0 * y[0].size * x[1].shape[-1], vector=unpacking(x[1], y[0].size) * _share(x[1], hit), reads=reads)


def _share(weight: Tensor, hit: Number) -> Number:
    return hit if weight.dtype == "int4" else 1.0


def unpacking(weight: Tensor, outputs: Number) -> Number:
    """Operations that bring the weights back: one an output in INT8, two a weight in INT4."""
    return 2.0 * weight.size if weight.dtype == "int4" else outputs


def scales(weight: Tensor, fmt: str, dtype: str, group: int = GROUP) -> Tensor:
    *rows, depth = weight.shape
    shape = (*rows, 1) if fmt == "int8" else (*rows, ceil(depth / group), 2)
    return Tensor(f"{weight.name} scales", shape, dtype, "buffer")


def quantised(graph: Graph, fmt: str, group: int = GROUP, kernel: str = "") -> Graph:
    """The same graph with the weights of its linear layers (and experts) stored in `fmt`, "int8" or "int4".

    A weight that something else reads too (an embedding tied to the head) stays as it is; `params_of["kept"]` lists those.
    """
    if fmt not in STORED:
        raise unknown("format for stored weights", fmt, STORED)
    if kernel not in KERNELS:
        raise unknown("kernel for stored weights", kernel, KERNELS)
    if graph.params_of.get("training"):
        raise BadValue("weights stored in integers can't be trained; ask for the forward pass alone")
    used = _readers(graph)
    chosen = {name for name, kinds in used.items() if kinds <= set(INTO)}
    if not chosen:
        raise BadValue(f"{graph.name} has no linear layer with a weight of its own: there is nothing to store in {fmt}")
    ops = tuple(_stored(one, fmt, group, kernel) if _weight(one) in chosen else one for one in graph.ops)
    kept = sorted(name for name, kinds in used.items() if kinds & set(INTO) and name not in chosen)
    told = {**graph.params_of, "weights": fmt, "kept": tuple(kept)}
    return replace(graph, ops=ops, params_of=told)


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


def lower_linear(one: Op) -> Sequence[Kernel]:
    """As the plain product; PyTorch's own kernels by their own curves, INT8's on FP32 with conversions around it."""
    if one.attrs.get("kernel") != "torch":
        return matrix(one)
    x, w, y = one.inputs[0], one.inputs[1], one.outputs[0]
    main = Kernel(f"weight_{w.dtype}", one.work.bytes, one.work.matmul_flops, depth=w.shape[-1])
    if w.dtype == "int4":
        return (main,)
    wide = FORMATS["fp32"]  # what the kernel computes in
    return (
        Kernel("cast", x.bytes + x.size * wide), Kernel("cast", one.inputs[2].bytes * (1.0 + wide / FORMATS[x.dtype])), main,
        Kernel("cast", y.size * wide + y.bytes),
    )  # fmt: skip


LOWER.update(quantised_linear=lower_linear, quantised_grouped_matmul=grouped_matrix)
lowering_cpu.LOWER.update(quantised_linear=lowering_cpu.matrix, quantised_grouped_matmul=lowering_cpu.matrix)


# ---- from evidence


def of_row(name: str, p: Mapping[str, Any]) -> Op:
    """The product that a row of weight_int8_mm or weight_int4_mm was measured on."""
    fmt = name.removeprefix("weight_").removesuffix("_mm")
    w = Tensor("w", (p["n"], p["k"]), fmt, "weight")
    inputs = [Tensor("x", (p["m"], p["k"]), p["dtype"], "input"), w, scales(w, fmt, p["dtype"])]
    return op("quantised_linear", name, inputs, [Tensor("y", (p["m"], p["n"]), p["dtype"])], kernel="torch")


def parts(row: Mapping[str, Any]) -> Iterator[tuple[Kernel, float]]:
    """PyTorch's own kernel without the conversions around it."""
    (main,) = (k for k in lower_linear(of_row(row["op"], row["params"])) if k.curve.startswith("weight_"))
    yield main, max(k["seconds"] for k in row["list"])
