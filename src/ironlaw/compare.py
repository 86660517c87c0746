"""Prediction × measurement -> Comparison, for every row of evidence and every claim. `ironlaw validate` prints it.

Rows on single ops are what the curves were fitted to, so their errors say how well the form of the curves holds; rows on
functions and whole models were never fitted to and judge the prediction.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from statistics import mean, median
from typing import Any

from ironlaw.backends.evidence_ops import OPS
from ironlaw.backends.rows import Row
from ironlaw.engine.device import work
from ironlaw.engine.device.chains import chain
from ironlaw.engine.device.machine import MODES, Hardware, Plan
from ironlaw.engine.device.predict import predict
from ironlaw.engine.device.types import Graph, Tensor
from ironlaw.engine.device.work import op
from ironlaw.errors import BadRegistry, IronlawError, UnsupportedPrecision
from ironlaw.registry.evidence import evidence, measured
from ironlaw.registry.machines import hardware
from ironlaw.registry.workloads import workload

KINDS = ("gemm", "conv", "row", "bandwidth", "pointwise", "attention", "function", "model")
HELD_OUT = ("function", "model")
ROWS = (
    *(name for name, kind in work.KINDS.items() if kind.unit in ("row", "plane") and not kind.like),
    *("mean", "sum", "var", "mean_hw", "topk", "sort", "histogram"),
)
BANDWIDTH = ("copy", "cat_last", "cat_seq", "embedding", "transpose_heads", "fill_", "cast")


@dataclass(frozen=True, slots=True)
class Comparison:
    """One prediction and its measurement, in seconds of device time (or wall time where the row has no other)."""

    machine: str
    kind: str
    name: str
    mode: str
    predicted: float
    measured: float
    bound: float  # the uncalibrated prediction
    kernels: float
    measured_kernels: float | None
    source: str
    model: str = ""  # of the registry, for a row on a whole model

    @property
    def error(self) -> float:
        return self.predicted / self.measured - 1.0

    @property
    def bound_error(self) -> float:
        return self.bound / self.measured - 1.0


@dataclass(frozen=True, slots=True)
class Summary:
    """A set of comparisons in one line."""

    kind: str
    count: int
    mean: float  # of |error|
    median: float
    worst: float
    bias: float
    bound: float  # mean |error| of the uncalibrated prediction


def summary(kind: str, rows: list[Comparison]) -> Summary:
    errors = [row.error for row in rows]
    sizes = [abs(e) for e in errors]
    return Summary(
        kind, len(rows), mean(sizes), median(sizes), max(errors, key=abs), mean(errors), mean(abs(row.bound_error) for row in rows)
    )


@dataclass(frozen=True, slots=True)
class Speedup:
    """What compiling brings: eager over compiled device time, predicted and measured."""

    machine: str
    name: str
    predicted: float
    measured: float

    @property
    def error(self) -> float:
        return self.predicted / self.measured - 1.0


def speedups(rows: Iterable[Comparison]) -> list[Speedup]:
    """For each model that was measured eager and compiled, on one machine."""
    modes: dict[tuple[str, str], dict[str, Comparison]] = {}
    for row in rows:
        modes.setdefault((row.machine, row.name), {})[row.mode] = row
    pairs = [(key, both["eager"], both["compiled"]) for key, both in modes.items() if {"eager", "compiled"} <= set(both)]
    return [Speedup(*key, a.predicted / b.predicted, a.measured / b.measured) for key, a, b in pairs]


BROKEN = (ArithmeticError, AttributeError, LookupError, TypeError, ValueError)  # what parameters of the wrong type lead to


def comparisons(machine: str = "", kind: str = "") -> Iterator[Comparison]:
    """Every comparable row of evidence, of one machine or all, of one kind or all."""
    for slug in (machine,) if machine else measured():
        target = hardware(slug)
        for file in evidence(slug):
            for row in file.rows:
                if kind and _kind_of(row) != kind:
                    continue
                try:
                    comparison = compare(row, target, file.source)
                except BROKEN as error:
                    if isinstance(error, IronlawError):
                        raise
                    what = row.op or row.name or row.workload or row.model
                    why = f"{type(error).__name__}: {error}"[:120]
                    raise BadRegistry(
                        f"{file.source}: the {row.kind} row of {what!r} can't be used ({why}); correct it, or measure again"
                    ) from None
                if comparison is not None:
                    yield comparison


def compare(row: Row, machine: Hardware, source: str) -> Comparison | None:
    """A row compared with its prediction; None if the row has no time that the engine predicts."""
    known = graph_of(row)
    time = _measured(row, machine)
    if known is None or time is None:
        return None
    if row.device and row.device != machine.backend:
        return None  # run on the processor of a machine that was measured on its GPU, or the other way round
    graph, kind, name = known
    mode = row.mode or ("compiled" if row.op == "sdpa_masked" else "eager")
    if mode not in MODES:
        return None  # a kernel of our own, a copy to measure it by
    try:
        calibrated = predict(graph, machine, Plan(mode=mode))
        bare = predict(graph, machine, Plan(mode=mode, calibrated=False))
    except UnsupportedPrecision:
        return None  # a format without a unit of its own, converted in software: measured, but no peak of the machine
    wall = machine.kind == "cpu" and kind == "model"
    predicted, bound = (calibrated.seconds, bare.seconds) if wall else (calibrated.busy_s, bare.busy_s)
    if row.busy_s is None and not wall and machine.calibration:
        predicted += machine.calibration.graph_gap * calibrated.kernels
    model = row.workload if kind == "model" else ""
    return Comparison(machine.slug, kind, name, mode, predicted, time, bound, calibrated.kernels, row.kernels, source, model)


def _measured(row: Row, machine: Hardware) -> float | None:
    if machine.kind == "cpu":  # a call returns when its work is done
        return row.wall_s or row.busy_s
    return row.busy_s or (row.graph_s if row.kind == "op" else None)


def graph_of(row: Row) -> tuple[Graph, str, str] | None:
    """The graph that a row was measured on, its kind and its name."""
    params = row.params
    if row.kind == "model" and row.workload and not row.variant:
        shown = ", ".join(f"{k} {v}" for k, v in params.items() if k not in ("dtype", "classes", "padding"))
        try:
            return workload(row.workload, **params), "model", f"{row.workload} ({shown})"
        except ValueError:
            return None  # a variant that the registry does not build
    if row.kind == "function" and row.name in FUNCTIONS and "shape" in params:
        shape, dtype = tuple(params["shape"]), params["dtype"]
        return FUNCTIONS[row.name](shape, dtype), "function", f"{row.name} {'×'.join(map(str, shape))}"
    if row.kind == "op" and row.op in OPS and not row.error and params.get("layout") != "nhwc":
        if row.op in ("generated_norm", "captured"):
            return None  # the former's row holds convolutions too; the latter's are parts of models, which are judged whole
        op_of_row = OPS[row.op](params)
        name, sizes = _name(row), _shapes(params) if row.op == "called" else _shape(params)
        return Graph(row.op, (op_of_row,), op_of_row.dtype), _kind(name), f"{name} {sizes}"
    return None


def _kind_of(row: Row) -> str:
    return _kind(_name(row)) if row.kind == "op" else row.kind


def _name(row: Row) -> str:
    """What an op's row is called by: how a decomposition is done, the kind of op that was called by itself."""
    name = {"called": "kind", "decompose": "how"}.get(row.op, "")
    return str(row.params[name]) if name else row.op


def _kind(name: str) -> str:
    if name in ("linear", "matmul", "bmm", "grouped_mm"):
        return "gemm"
    if name == "conv2d":
        return "conv"
    if name.startswith("sdpa"):
        return "attention"
    return "row" if name in ROWS else "bandwidth" if name in BANDWIDTH else "pointwise"


def _shape(params: Mapping[str, Any]) -> str:
    return " ".join(f"{k}={v}" for k, v in params.items() if k not in ("dilation", "bias", "ph", "pw"))


def _shapes(params: Mapping[str, Any]) -> str:
    """Words for an op as capture has it: its inputs' formats and sizes."""
    return ", ".join(f"{dtype} {'×'.join(map(str, sizes))}" for dtype, _, *sizes in params["inputs"])


# ---- the functions of the evidence, op by op


def _normalize(shape: tuple[int, ...], dtype: str) -> Graph:
    x, total, y = Tensor("x", shape, dtype, "input"), Tensor("total", (1,), dtype), Tensor("y", shape, dtype)
    return Graph("normalize", (op("sum", "sum", [x], [total], over="all"), op("div", "div", [x, total], [y])), dtype)


FUNCTIONS = {
    "sigmoid_relu_muladd": lambda shape, dtype: chain(("mul", "add", "relu", "sigmoid"), shape, dtype),
    "layernorm_dropout_relu": lambda shape, dtype: chain(("layer_norm", "dropout", "relu"), shape, dtype, training=True),
    "chain24": lambda shape, dtype: chain(("scale", "relu", "shift") * 8, shape, dtype),
    "normalize_by_sum": _normalize,
}
