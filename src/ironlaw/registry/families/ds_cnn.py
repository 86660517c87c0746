"""Depthwise-separable CNN for keyword spotting: a convolution over a spectrogram, then pairs of a 3×3 depthwise and a
1×1 pointwise convolution, each with batch norm and ReLU; mean pool; linear."""

from __future__ import annotations

from collections.abc import Sequence

from ironlaw.engine.arrays import Number
from ironlaw.engine.device.types import Graph, Tensor
from ironlaw.registry.families.family_build import Builder


def build(
    *,
    blocks: int,
    channels: int,
    frames: int,
    features: int,
    kernel: Sequence[int],
    stride: int,
    padding: Sequence[int],
    batch: Number = 1,
    dtype: str = "fp16",
    classes: int = 12,
) -> Graph:
    b = Builder("ds_cnn", dtype, blocks=blocks, channels=channels, batch=batch, classes=classes)

    def normed(name: str, x: Tensor) -> Tensor:
        return b.emit("relu", f"{name}.relu", b.batch_norm(f"{name}.bn", x))

    x = b.input("spectrogram", batch, 1, frames, features)
    x = normed("stem", b.conv("stem.conv", x, channels, (kernel[0], kernel[1]), stride, (padding[0], padding[1])))
    for i in range(blocks):
        x = normed(f"blocks.{i}.depthwise", b.conv(f"blocks.{i}.depthwise.conv", x, channels, (3, 3), 1, (1, 1), groups=channels))
        x = normed(f"blocks.{i}.pointwise", b.conv(f"blocks.{i}.pointwise.conv", x, channels, (1, 1)))
    x = b.emit("mean", "pool", x, shape=(batch, channels), over="row")
    x = b.linear("classifier", x, classes)
    return b.graph([x], batch=batch, dtype=dtype, classes=classes)
