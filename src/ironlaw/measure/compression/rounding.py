"""Rounding to a grid of few bits: one grid for a tensor, for each channel, or for groups along a row."""

from __future__ import annotations

import numpy as np

from ironlaw.engine.numerics.grids import levels
from ironlaw.errors import unknown
from ironlaw.measure.compression.nets import Array

SCALES = ("tensor", "channel")  # or a number: weights of a row that share a scale
CLIPS = ("max", "best", "percentile")
PERCENTILE = 99.5
CUTS = np.linspace(1.0, 0.2, 41)  # shares of the largest weight that "best" tries


def quantise(values: Array, bits: int, scale: str | int = "channel", clip: str = "max", symmetric: bool = True) -> Array:
    """The nearest values on a grid of `bits` bits; one grid for the tensor, for each channel (its first axis) or for groups along it."""
    if clip not in CLIPS:
        raise unknown("range of a grid", clip, CLIPS, field="clip")
    steps = levels(bits, symmetric) - 1
    rows, shape = _grouped(values, scale)
    low, high = _range(rows, symmetric)
    if clip == "percentile":
        tops = np.nanpercentile(np.abs(rows), PERCENTILE, axis=1, keepdims=True)
        low, high = np.maximum(low, -tops), np.minimum(high, tops)
    if clip == "best":
        low, high = _best(rows, low, high, steps, symmetric)
    return _ungrouped(_on_grid(rows, low, high, steps, symmetric), shape, values)


def _grouped(values: Array, scale: str | int) -> tuple[Array, tuple[int, ...]]:
    """Rows that share a grid; the last one of a row that is not a multiple is filled up with nan."""
    if scale == "tensor":
        return values.reshape(1, -1).astype(np.float64), (1, values.size)
    flat = values.reshape(values.shape[0], -1).astype(np.float64)
    if scale == "channel":
        return flat, flat.shape
    if isinstance(scale, str) or scale < 1:
        raise unknown("scale", scale, [*SCALES, "a number of weights"], field="scale")
    short = -flat.shape[1] % scale
    filled = np.pad(flat, ((0, 0), (0, short)), constant_values=np.nan)
    return filled.reshape(-1, scale), filled.shape


def _ungrouped(rows: Array, shape: tuple[int, ...], like: Array) -> Array:
    flat = rows.reshape(shape)
    width = like.size if shape[0] == 1 and like.shape[0] != 1 else like.size // like.shape[0]
    return flat[:, :width].reshape(like.shape).astype(like.dtype)


def _range(rows: Array, symmetric: bool) -> tuple[Array, Array]:
    if symmetric:
        top = np.nanmax(np.abs(rows), axis=1, keepdims=True)
        return -top, top
    return np.minimum(np.nanmin(rows, axis=1, keepdims=True), 0.0), np.maximum(np.nanmax(rows, axis=1, keepdims=True), 0.0)


def _on_grid(rows: Array, low: Array, high: Array, steps: int, symmetric: bool) -> Array:
    width = np.where(high > low, (high - low) / steps, 1.0)
    if symmetric:
        return np.clip(np.round(rows / width), -(steps // 2), steps // 2) * width
    zero = np.round(-low / width)
    return (np.clip(np.round(rows / width) + zero, 0, steps) - zero) * width


def _best(rows: Array, low: Array, high: Array, steps: int, symmetric: bool) -> tuple[Array, Array]:
    """The cut with the least squared error, row by row."""
    least, best = np.full((len(rows), 1), np.inf), np.ones((len(rows), 1))
    for cut in CUTS:
        error = np.nansum((_on_grid(rows, low * cut, high * cut, steps, symmetric) - rows) ** 2, axis=1, keepdims=True)
        better = error < least
        least, best = np.where(better, error, least), np.where(better, cut, best)
    return low * best, high * best
