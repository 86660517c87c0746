"""The nets of registry/trained: layers in order, and what they answer.

A ReLU stands between two layers, and a mean over the image before the last.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from ironlaw.errors import unknown
from ironlaw.registry.trained_nets import trained

Array = Any  # numpy.ndarray
SIDE = 8  # pixels of an image
SHADES = 16.0
HALVING = 1  # the second depthwise layer takes every other pixel


@dataclass(frozen=True)
class Layer:
    kind: str  # linear, conv, depthwise
    weight: Array  # its first axis is the channel that comes out
    bias: Array
    stride: int = 1


@dataclass(frozen=True)
class Net:
    name: str
    layers: tuple[Layer, ...]

    @property
    def weights(self) -> int:
        return sum(layer.weight.size for layer in self.layers)

    @property
    def biases(self) -> int:
        return sum(layer.bias.size for layer in self.layers)


@cache
def arrays() -> dict[str, Array]:
    """All of the file; read once."""
    with np.load(trained("digits").weights_file()) as file:
        return {name: file[name] for name in file.files}


@cache
def images() -> tuple[Array, Array]:
    """Test images, 64 values from 0 to 1 each, and their digits."""
    return arrays()["images"] / SHADES, arrays()["labels"]


@cache
def load(name: str) -> Net:
    """A net of registry/trained/digits."""
    if name not in trained("digits").nets:
        raise unknown("net", name, trained("digits").nets)
    every = arrays()
    count = sum(key.startswith(f"{name}.") and key.endswith(".weight") for key in every)
    layers: list[Layer] = []
    for i in range(count):
        weight = every[f"{name}.{i}.weight"]
        kind = "linear" if weight.ndim == 2 else "depthwise" if i and weight.shape[1] == 1 else "conv"
        halves = kind == "depthwise" and sum(layer.kind == kind for layer in layers) == HALVING
        layers.append(Layer(kind, weight, every[f"{name}.{i}.bias"], 2 if halves else 1))
    return Net(name, tuple(layers))


def logits(net: Net, x: Array) -> Array:
    """The logits in FP64, so that any difference comes from the weights. Inside, channels come last."""
    x = x.astype(np.float64)
    for i, layer in enumerate(net.layers):
        weight, bias = layer.weight.astype(np.float64), layer.bias.astype(np.float64)
        if layer.kind == "linear":
            x = (x.mean(axis=(1, 2)) if x.ndim == 4 else x) @ weight.T + bias
        else:
            x = _convolved(x.reshape(-1, SIDE, SIDE, 1) if x.ndim == 2 else x, weight, layer) + bias
        x = np.maximum(x, 0.0, out=x) if i < len(net.layers) - 1 else x
    return x


def _convolved(x: Array, weight: Array, layer: Layer) -> Array:
    """Images with their channels last: one shifted copy for each place of the kernel."""
    size, step = weight.shape[-1], layer.stride
    padded = np.pad(x, ((0, 0), (size // 2,) * 2, (size // 2,) * 2, (0, 0)))
    total: Array = 0.0
    for i, j in np.ndindex(size, size):
        shifted = padded[:, i : i + x.shape[1] : step, j : j + x.shape[2] : step]
        total = total + (shifted * weight[:, 0, i, j] if layer.kind == "depthwise" else shifted @ weight[:, :, i, j].T)
    return total
