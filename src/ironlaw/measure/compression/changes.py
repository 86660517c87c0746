"""Fewer weights, other weights: pruning by size, FP16, and channels rescaled so that the function stays what it is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from ironlaw.errors import BadValue
from ironlaw.measure.compression.nets import Array, Net


def to_half(values: Array) -> Array:
    """FP16 and back."""
    return values.astype(np.float16).astype(values.dtype)


def prune(values: Array, share: float) -> Array:
    """The smallest weights to zero: a share of them, of this tensor."""
    if not 0 <= share < 1:
        raise BadValue(f"{share} is not a valid share of the weights; give one from 0 to below 1", "share")
    cut = round(share * values.size)
    out = values.copy()
    out.flat[np.argsort(np.abs(values), axis=None, kind="stable")[:cut]] = 0.0
    return out


def with_weights(net: Net, change: Callable[[Array], Array]) -> Net:
    """The same net with each weight changed; biases stay."""
    return replace(net, layers=tuple(replace(layer, weight=change(layer.weight)) for layer in net.layers))


def rescale(net: Net, spread: float, seed: int = 0) -> Net:
    """The same function with other weights: each hidden channel times a factor from 1/spread … spread, and the next layer divided by it.

    A ReLU lets a positive factor through, so nothing changes but the rounding of FP32.
    """
    if not spread >= 1:
        raise BadValue(f"{spread} is not a valid spread; give 1 (none) or more", "spread")
    rng = np.random.default_rng(seed)
    layers = list(net.layers)
    for i in range(len(layers) - 1):
        here, after = layers[i], layers[i + 1]
        factors = np.exp(rng.uniform(-np.log(spread), np.log(spread), len(here.bias))).astype(np.float32)
        layers[i] = replace(here, weight=here.weight * _along(factors, here.weight, 0), bias=here.bias * factors)
        layers[i + 1] = replace(after, weight=after.weight / _along(factors, after.weight, 0 if after.kind == "depthwise" else 1))
    return replace(net, layers=tuple(layers))


def _along(factors: Array, weight: Array, axis: int) -> Array:
    shape = [1] * weight.ndim
    shape[axis] = -1
    return factors.reshape(shape)
