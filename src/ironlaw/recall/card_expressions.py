"""Keys, distractors and counter-examples are Python expressions over the engine and the registries. They are evaluated as claims are,
with the names below added; nothing else is in scope, and nothing that could be computed is hard-coded.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Mapping, Sequence
from functools import cache, lru_cache
from typing import Any

from ironlaw.backends.rows import Row
from ironlaw.claims import claim, compute, row
from ironlaw.claims.expression_tree import tree
from ironlaw.engine.device.chains import chain
from ironlaw.engine.device.compilation import sensitivity
from ironlaw.engine.device.fusion import fuse
from ironlaw.engine.device.types import Graph, Tensor, bytes_per_element
from ironlaw.engine.device.work import SMALL_REDUCTION, op
from ironlaw.formats import rate_unit
from ironlaw.recall.card_words import amount, display
from ironlaw.registry.machines import hardware
from ironlaw.registry.workloads import about, kv_cache, workload, workloads
from ironlaw.units import show_capacity


def compose(kinds: Sequence[str], shape: tuple[float, float], dtype: str = "fp16") -> Graph:
    """A chain of ops over one tensor; add and mul take a second full tensor, matmul a square weight."""
    return chain(kinds, shape, dtype)


@lru_cache(maxsize=128)
def cached_workload(name: str, **settings: Any) -> Graph:
    """A registry model; the same graph for the same settings, since a large one takes a while to build."""
    return workload(name, **settings)


def product(m: float, n: float, k: float, dtype: str = "fp16") -> Graph:
    """[m, k] × [k, n] as one op."""
    a, b, c = Tensor("a", (m, k), dtype, "input"), Tensor("b", (k, n), dtype, "weight"), Tensor("c", (m, n), dtype)
    return Graph("product", (op("matmul", "product", (a, b), (c,)),), dtype)


def normalise(shape: tuple[float, ...], dtype: str = "fp16") -> Graph:
    """x / x.sum(): a reduction over the whole tensor, and what depends on it."""
    x, y = Tensor("x", shape, dtype, "input"), Tensor("y", shape, dtype)
    whole = Tensor("sum", (1,), dtype)
    return Graph("normalise", (op("sum", "sum", (x,), (whole,), over="all"), op("div", "div", (x, whole), (y,))), dtype)


def traffic_cut(kinds: Sequence[str], shape: tuple[float, float]) -> float:
    """The factor by which fusing a chain cuts the bytes that it moves."""
    graph = compose(kinds, shape)
    return float(graph.bytes / fuse(graph).graph.bytes)


def tensors(size: float) -> float:
    """Bytes as a number of [1024, 1024] tensors in FP16."""
    return float(size / Tensor("x", (1024, 1024)).bytes)


def h200(model: str, batch: int, mode: str) -> Row:
    """A model's row in the H200's evidence."""
    return row("h200_sxm/models", workload=model, batch=batch, mode=mode)


def gap(large: str, small: str, figure: str) -> float:
    """The factor by which one machine exceeds another: its INT8 peak ("peak"), "bandwidth", "capacity" or "power"."""
    one, other = hardware(large), hardware(small)
    if figure == "peak":
        return float(one.peak("int8") / other.peak("int8"))
    return float(getattr(one, figure) / getattr(other, figure))


def rate(device: str, fmt: str) -> str:
    """A machine's dense peak to read: operations for integers, floating-point operations otherwise."""
    return amount(float(hardware(device).peak(fmt)), rate_unit(fmt))


def rung(device: str, level: str, figure: str) -> float:
    """The "size" or "bandwidth" of a level of the memory ladder."""
    return float(getattr(hardware(device).level(level), figure))


def terms(model: str, device: str, batch: int) -> dict[str, float]:
    """The Iron Law's three terms of a pass in FP16 that is one launch and reads its weights once, at datasheet figures."""
    graph, machine = cached_workload(model, batch=batch, dtype="fp16"), hardware(device)
    return {
        "memory": float(graph.weight_bytes / machine.bandwidth),
        "compute": float(graph.flops / machine.peak("fp16")),
        "overhead": float(machine.launch),
    }


def per_element(kind: str) -> float:
    """The operations that the engine counts per element of an op of a chain."""
    graph = chain((kind,), (64, 64), "fp16")
    return float(graph.work.flops / 64**2)


def outcome_of(model: str, device: str, batch: int, context: int) -> str:
    """Whether FP16 weights and their KV cache fit a machine: "fits", "weights" (not even those), "cache" (those, but not both), or
    "close" where one of them is within a tenth of the limit."""
    weights, limit = cached_workload(model, dtype="fp16").weight_bytes, hardware(device).usable
    both = weights + kv_cache(model, batch=batch, context=context)
    if any(0.9 < size / limit < 1.1 for size in (weights, both)):
        return "close"
    return "weights" if weights > limit else "cache" if both > limit else "fits"


EXTRA_NAMES: dict[str, Any] = {
    "workload": cached_workload, "about": about, "workloads": workloads, "claim": claim, "row": row, "compose": compose,
    "product": product, "normalise": normalise, "bytes_per_element": bytes_per_element, "sensitivity": sensitivity,
    "traffic_cut": traffic_cut, "tensors": tensors, "h200": h200, "gap": gap, "rate": rate, "rung": rung, "terms": terms,
    "per_element": per_element, "outcome_of": outcome_of, "SMALL_REDUCTION": SMALL_REDUCTION,
    "display": display, "show_capacity": show_capacity, "str": str,
    "sorted": sorted, "range": range, "zip": zip, "all": all, "any": any,
}  # fmt: skip


def evaluate(expression: str, where: str, drawn: Mapping[str, Any] | None = None) -> Any:
    """The value of an expression, given drawn values; cached by the values that it uses."""
    used = names(expression)
    return _evaluate(expression, where, tuple((name, value) for name, value in (drawn or {}).items() if name in used))


@lru_cache(maxsize=8192)
def _evaluate(expression: str, where: str, drawn: tuple[tuple[str, Any], ...]) -> Any:
    return compute(expression, where, {**EXTRA_NAMES, **dict(drawn)})


def clear_caches() -> None:
    """For callers that change a registry while the program runs."""
    _evaluate.cache_clear()
    cached_workload.cache_clear()


@cache
def names(expression: str) -> frozenset[str]:
    """The names that an expression reads."""
    try:
        parsed = tree(expression)
    except ValueError:
        return frozenset()  # `evaluate` says what is wrong, and where
    return frozenset(node.id for node in ast.walk(parsed) if isinstance(node, ast.Name))


def is_hardcoded(expression: str, drawn: Iterable[str] = ()) -> bool:
    """Whether an expression uses neither the engine, the registries nor a drawn value."""
    try:
        calls = any(isinstance(node, ast.Call) for node in ast.walk(tree(expression)))
    except ValueError:
        return False  # `evaluate` says what is wrong, and where
    return not names(expression) & set(drawn) and not calls
