"""The least time that an op can take on a machine, caches and all: what nothing measured, and no prediction, may go below.

Arithmetic: O/R at the datasheet's peaks, for the operations that no implementation can leave out. Counting follows PyTorch, which
counts a causal mask in full; a kernel may skip what the mask hides.
Data: a tensor may be in a cache already, or stay there when it is written, so D/BW is not a floor for small ones. Of the bytes that an
op touches, at most one cache-full need not cross main memory, and all of them cross the caches.
"""

from __future__ import annotations

from dataclasses import replace

from ironlaw.engine.arrays import Number, maximum, minimum
from ironlaw.engine.device.machine import LASTING, Hardware
from ironlaw.engine.device.roofline import arithmetic
from ironlaw.engine.device.sweep import points
from ironlaw.engine.device.types import Op, Work
from ironlaw.formats import computed_in

CAUSAL = {"attention": (0, 1), "attention_backward": (1, 2)}  # kind -> the places of queries and keys among its inputs
STRIDED = ("conv2d", "max_pool2d", "avg_pool2d")


def needed(op: Op) -> Work:
    """An op's work without what a kernel may skip: keys behind a causal mask, and input that a stride steps over."""
    work = op.work
    if op.kind in CAUSAL and op.attrs.get("causal"):
        q, k = (op.inputs[place] for place in CAUSAL[op.kind])
        share = visible(q.shape[-2], k.shape[-2])
        work = replace(work, flops=share * work.flops, matmul_flops=share * work.matmul_flops)
    if op.kind in STRIDED:
        work = replace(work, read=work.read - (1.0 - touched(op)) * op.reads[0])
    return work


def visible(queries: Number, keys: Number) -> Number:
    """The share of all pairs that a causal mask leaves: query i sees the keys up to i."""
    within = minimum(queries, keys)
    return (within * (within + 1.0) / 2.0 + (queries - within) * keys) / (queries * keys)


def touched(op: Op) -> float:
    """The share of an image that windows of this stride and dilation meet."""
    kernel = op.attrs.get("kernel") or op.inputs[1].shape[-2:]
    stride, dilation = _pair(op.attrs.get("stride") or 1), _pair(op.attrs.get("dilation") or 1)
    share = 1.0
    for size, step, apart in zip(_pair(kernel), stride, dilation, strict=True):
        share *= len({i * apart % step for i in range(int(size))}) / step
    return share


def _pair(value: object) -> tuple[int, int]:
    if isinstance(value, (tuple, list)):
        return int(value[0]), int(value[-1])
    return int(value), int(value)  # type: ignore[call-overload]


def least_data(moved: Number, hardware: Hardware, cache_bytes: float = 0.0, stored: Number = 0.0) -> Number:
    """Seconds for so many bytes: each level passes on what the one before it can't hold. `cache_bytes`: the last one's, as measured.

    Where activations have a memory of their own, the `stored` ones among the bytes (weights) cross main memory and the others that one,
    side by side at best.
    """
    moved = points(moved)
    held, seconds = 0.0, 0.0
    for level in hardware.levels:
        if level.name in LASTING:
            seconds = maximum(seconds, (moved - held) / level.bandwidth)
            held = float(level.size)
    held = max(held, cache_bytes)
    if not hardware.activations:
        return maximum(seconds, (moved - held) / hardware.bandwidth)
    stored = points(stored)
    working = (moved - stored - held) / hardware.activation_bandwidth
    return maximum(maximum(seconds, (stored - held) / hardware.bandwidth), working)


def least_transfer(op: Op, hardware: Hardware, cache_bytes: float = 0.0) -> Number:
    """Seconds of the bytes that can't be left out."""
    return least_data(needed(op).bytes, hardware, cache_bytes, op.stored_bytes if hardware.activations else 0.0)


def least_arithmetic(op: Op, hardware: Hardware) -> Number:
    """Seconds of the arithmetic that can't be left out. A product in a format that has no rate here is done in FP32's lanes at best."""
    work, fmt = needed(op), op.dtype
    if work.kind == "matrix" and computed_in(fmt) not in hardware.peaks:
        return work.matmul_flops / hardware.vector_peak(fmt)
    return arithmetic(work, hardware, fmt)


def least(op: Op, hardware: Hardware, cache_bytes: float = 0.0) -> Number:
    """Seconds on the device, launches left out."""
    return maximum(points(least_arithmetic(op, hardware)), least_transfer(op, hardware, cache_bytes))
