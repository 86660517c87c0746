"""A measured machine: one curve per kind of kernel, and what a launch costs its host.

A kernel that moves D bytes and does O operations over R rows, with an inner loop of depth k, takes

    t = floor + ‖ D / BW(D),  O·(1 + k₀/k) / rate,  R·row,  k·step ‖ₚ

BW(D) goes from the cache's bandwidth to main memory's as the working set outgrows the cache. k₀ is what filling and
emptying a tile costs, in steps; p says how well the terms overlap (1: one after the other; large: the longest alone).
`engine.fit` finds the constants from evidence on single ops; no constant is fitted to a whole model.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import ironlaw.engine.backward  # noqa: F401  its kinds and their kernels
from ironlaw.engine import lowering, lowering_cpu
from ironlaw.engine.arrays import SCALARS, Number, is_array, is_positive, maximum, minimum, where
from ironlaw.engine.kernels import Kernel
from ironlaw.engine.predict import Cost
from ironlaw.engine.sweep import points
from ironlaw.engine.types import Hardware, Op, Plan
from ironlaw.engine.work import category
from ironlaw.errors import UnsupportedPrecision

BOOST = 0.01  # seconds of steady arithmetic before the clock begins to fall; measured between 10 ms (no effect) and 100 ms (full)
CACHE_FROM, CACHE_TO = 0.35, 1.5  # shares of the cache between which a working set stops fitting


@dataclass(frozen=True, slots=True)
class Curve:
    """Constants of one kind of kernel; a rate or bandwidth of inf means that the term does not bind."""

    floor: float
    cache: float = float("inf")  # bytes/s while the working set fits the cache
    main: float = float("inf")  # bytes/s from main memory
    rate: float = float("inf")  # operations/s
    knee: float = 0.0  # k₀
    row: float = 0.0  # seconds per row
    step: float = 0.0  # seconds per step of the inner loop
    p: int = 4
    error: float = 0.0  # mean |relative error| over the samples
    samples: int = 0

    def terms(self, kernel: Kernel, cache_bytes: float) -> tuple[Number, Number, Number]:
        """(data, compute, total) in seconds for one launch."""
        data_s, compute_s, _, total = self.parts(kernel, cache_bytes)
        return data_s, compute_s, total

    def parts(self, kernel: Kernel, cache_bytes: float) -> tuple[Number, Number, Number, Number]:
        """(data, compute, both as they overlap, total) in seconds for one launch."""
        outgrown = minimum(maximum((kernel.data / cache_bytes - CACHE_FROM) / (CACHE_TO - CACHE_FROM), 0.0), 1.0)
        data_s = (outgrown * (1.0 / self.main - 1.0 / self.cache) + 1.0 / self.cache) * kernel.data
        compute_s = kernel.flops / self.rate
        if self.knee and is_positive(kernel.depth):
            compute_s = compute_s * (1.0 + self.knee / kernel.depth)
        overlap = norm(self.p, data_s, compute_s)
        rest = norm(self.p, overlap, kernel.rows * self.row)
        return data_s, compute_s, overlap, self.floor + norm(self.p, rest, kernel.depth * self.step)


def _slowed(cost: Cost, factor: Number) -> Cost:
    extra = cost.compute * (factor - 1.0)
    joint = cost.work + where(cost.compute > cost.data, extra, 0.0)
    return replace(cost, compute=cost.compute + extra, joint=maximum(joint, cost.compute + extra))


def norm(p: int, a: Number, b: Number) -> Number:
    """(aᵖ + bᵖ)^(1/p) for p of 1, 2 or 4."""
    if isinstance(b, SCALARS) and b == 0:
        return a
    if p == 1:
        return a + b
    a, b = points(a), points(b)
    a, b = a * a, b * b
    if p == 2:
        return (a + b) ** 0.5
    return ((a * a + b * b) ** 0.5) ** 0.5


@dataclass(frozen=True)
class Calibration:
    """All that was learnt about one machine."""

    curves: Mapping[str, Curve]
    launches: Mapping[str, float]  # host seconds per call, by op kind
    cache_bytes: float
    graph_gap: float  # seconds between kernels of a replayed graph
    graph_start: float  # seconds to start a replay
    slower: float = 1.0  # how much longer arithmetic takes once the chip runs into its power limit
    spread: Mapping[str, tuple[float, float]] = field(default_factory=dict)  # mode -> (low, high) of measured / predicted
    sources: tuple[str, ...] = ()
    host: str = ""
    backend: str = "cuda"  # whose kernels an op becomes: "cuda", or "cpu"
    entry: float = 0.0  # host seconds to enter a compiled function, whatever is in it

    def lower(self, op: Op, compiled: bool) -> tuple[Kernel, ...]:
        """The kernels behind an op on this machine."""
        return lowering_of(self.backend)(op, compiled)

    def curve(self, name: str, kind: str) -> Curve:
        """The curve of a kernel; for one that was not measured, the nearest kind that was."""
        found = self.curves.get(name)
        if found is None:
            nearest = (lowering_cpu.FALLBACK if self.backend == "cpu" else FALLBACK).get(name, "elementwise")
            found = self.curves.get(nearest) or self.curves.get("elementwise")
        if found is None:
            raise UnsupportedPrecision(f"no measured curve for {name} ({kind}); ask for a bound with Plan(calibrated=False)")
        return found

    def cost(self, op: Op, hardware: Hardware, plan: Plan) -> Cost:
        """An op's cost from the curves of its kernels."""
        compiled = plan.mode != "eager"
        data = compute = floor = joint = count = 0.0
        for kernel in self.lower(op, compiled):
            curve = self.curve(kernel.curve, op.kind)
            data_s, compute_s, overlap, total = curve.parts(kernel, self.cache_bytes)
            times = kernel.count
            once = isinstance(times, SCALARS) and times == 1
            data = data + (data_s if once else times * data_s)
            compute = compute + (compute_s if once else times * compute_s)
            joint = joint + (overlap if once else times * overlap)
            floor = floor + (total - overlap if once else times * (total - overlap))
            count = count + times
        return Cost(data, compute, floor, count, self.launch(op, plan, count), joint)

    def sustain(self, costs: list[Cost]) -> list[Cost]:
        """Under steady load the clock falls: arithmetic beyond BOOST seconds is slower, fully so at ten times that."""
        share = minimum(maximum(sum(c.compute for c in costs) / (9.0 * BOOST) - 1.0 / 9.0, 0.0), 1.0)
        factor = 1.0 + share * (self.slower - 1.0)
        if not is_array(factor) and factor == 1.0:
            return costs
        slowed = {id(c): _slowed(c, factor) for c in {id(c): c for c in costs}.values()}
        return [slowed[id(c)] for c in costs]

    def launch(self, op: Op, plan: Plan, kernels: Number) -> Number:
        """What the host spends on an op."""
        if op.work.launches == 0:
            return 0.0
        if plan.launch is not None:
            return plan.launch * kernels
        if self.backend == "cpu" and plan.mode != "eager":
            return 0.0  # nothing of the model's own code is left around the loops; entering them all is `entry`
        if plan.mode != "eager" and category(op.kind) not in ("contraction", "attention"):
            return self.launches["default"] * kernels
        return self.launches.get(op.kind, self.launches.get(category(op.kind), self.launches["default"]))

    def graph_launch(self) -> tuple[float, float]:
        return self.graph_start, self.graph_gap

    def interval(self, seconds: Number, mode: str) -> tuple[Number, Number] | None:
        """Where four measurements in five should fall, from how single ops and held-out models came out."""
        low, high = self.spread.get(mode, (0.0, 0.0))
        return (seconds * low, seconds * high) if high else None

    def to_json(self) -> dict[str, Any]:
        return asdict(self) | {"curves": {name: _finite(asdict(curve)) for name, curve in self.curves.items()}}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Calibration:
        curves = {name: Curve(**values) for name, values in data["curves"].items()}
        spread = {mode: (pair[0], pair[1]) for mode, pair in data.get("spread", {}).items()}
        rest = {
            k: v
            for k, v in data.items()
            if k in ("launches", "cache_bytes", "graph_gap", "graph_start", "host", "slower", "backend", "entry")
        }
        return cls(curves=curves, spread=spread, sources=tuple(data.get("sources", ())), **rest)


def lowering_of(backend: str) -> Callable[[Op, bool], tuple[Kernel, ...]]:
    """op -> kernels, as PyTorch does it on a CUDA device, or on anything else."""
    return lowering.lower if backend == "cuda" else lowering_cpu.lower


def _finite(curve: dict[str, Any]) -> dict[str, Any]:
    return {k: v for k, v in curve.items() if v != float("inf") and (v or k in ("floor",))}


# where a kernel was not measured: the curve whose work is most alike
FALLBACK = {
    "gemm_tf32": "gemm", "gemm_fp8": "gemm", "gemm_int8": "gemm", "bmm": "gemm", "bmm_even": "gemm_even",
    "bmm_odd": "gemm_odd", "bmm_fp32": "gemm_fp32", "conv_1x1_nhwc": "conv_1x1", "depthwise_nhwc": "depthwise",
    "depthwise_strided": "depthwise", "depthwise_large": "depthwise", "conv_first_nhwc": "conv_first", "conv_bf16": "conv",
    "conv_tf32": "conv", "attention_decode": "attention", "attention_masked": "attention", "rotary": "strided",
    "transpose": "strided", "fused": "elementwise", "fused_rows": "rms_norm", "fused_reduction": "mean",
    "group_norm": "layer_norm", "log_softmax": "softmax", "var": "mean", "amax": "sum", "cross_entropy": "softmax",
    "gather": "embedding", "avg_pool2d": "max_pool2d", "relu6": "hardtanh", "square": "power", "cube": "power",
    "shift": "scale", "sub": "add", "div": "mul", "broadcast_row": "broadcast", "strided_columns": "strided", "roll": "strided",
    "attention_masked_odd": "attention_masked", "attention_backward": "attention", "attention_dot": "fused_rows", "attention_dq": "cast",
    "conv_dgrad": "conv", "conv_wgrad": "conv", "layer_norm_backward": "layer_norm", "layer_norm_weights": "fused_rows",
    "batch_norm_stats": "fused_reduction", "batch_norm_backward": "fused_reduction", "sum_columns": "sum", "gelu_backward": "gelu",
    "embedding_backward": "embedding", "topk": "softmax", "topk_sort": "softmax", "max_pool2d_backward": "max_pool2d",
    "gemm_pair": "gemm", "grouped_gemm": "gemm", "group_sums": "fused_reduction", "group_sums_nhwc": "fused_reduction",
    "group_sums_uneven": "fused_reduction", "group_affine": "fused", "group_turned": "fused", "sort_short": "softmax",
    "sort_block": "softmax", "sort_pass": "embedding", "scatter": "embedding", "histogram": "sum",
}  # fmt: skip
