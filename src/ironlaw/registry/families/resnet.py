"""ResNet: a stem, four stages of residual blocks (basic: two 3×3 convolutions; bottleneck: 1×1, 3×3, 1×1), mean pool,
linear. The stride of a bottleneck is in its 3×3 convolution ("v1.5"), as in torchvision and transformers.
"""

from __future__ import annotations

from collections.abc import Sequence

from ironlaw.engine.arrays import Number
from ironlaw.engine.device.types import Graph, Tensor
from ironlaw.engine.device.work import conv2d_shape
from ironlaw.registry.families.family_build import Builder, choose


def build(
    *,
    block: str,
    depths: Sequence[int],
    widths: Sequence[int],
    stem: int,
    image: int,
    batch: Number = 1,
    dtype: str = "fp16",
    classes: int = 1000,
) -> Graph:
    """`depths`: blocks in each stage; `widths`: channels of each stage's 3×3 convolutions."""
    choose("resnet", "block", block, ("basic", "bottleneck"))
    b = Builder("resnet", dtype, stem=stem, image=image, batch=batch, classes=classes)
    residual = _bottleneck if block == "bottleneck" else _basic

    x = b.input("pixels", batch, 3, image, image)
    x = b.conv("conv1", x, stem, (7, 7), 2, (3, 3))
    x = b.emit("relu", "relu", b.batch_norm("bn1", x))
    pooled = conv2d_shape(x.shape, stem, (3, 3), 2, (1, 1))
    x = b.emit("max_pool2d", "maxpool", x, shape=pooled, kernel=(3, 3), stride=2)
    for stage, (depth, width) in enumerate(zip(depths, widths, strict=True), 1):
        for i in range(depth):
            x = residual(b, f"layer{stage}.{i}", x, width, stride=2 if stage > 1 and i == 0 else 1)
    x = b.emit("mean", "avgpool", x, shape=(batch, x.shape[1]), over="row")
    x = b.linear("fc", x, classes)
    return b.graph([x], batch=batch, dtype=dtype, classes=classes)


def _bottleneck(b: Builder, name: str, x: Tensor, width: int, stride: int) -> Tensor:
    y = b.emit("relu", f"{name}.relu1", b.batch_norm(f"{name}.bn1", b.conv(f"{name}.conv1", x, width, (1, 1))))
    y = b.conv(f"{name}.conv2", y, width, (3, 3), stride, (1, 1))
    y = b.emit("relu", f"{name}.relu2", b.batch_norm(f"{name}.bn2", y))
    y = b.batch_norm(f"{name}.bn3", b.conv(f"{name}.conv3", y, 4 * width, (1, 1)))
    return _join(b, name, x, y, stride)


def _basic(b: Builder, name: str, x: Tensor, width: int, stride: int) -> Tensor:
    y = b.conv(f"{name}.conv1", x, width, (3, 3), stride, (1, 1))
    y = b.emit("relu", f"{name}.relu1", b.batch_norm(f"{name}.bn1", y))
    y = b.batch_norm(f"{name}.bn2", b.conv(f"{name}.conv2", y, width, (3, 3), 1, (1, 1)))
    return _join(b, name, x, y, stride)


def _join(b: Builder, name: str, x: Tensor, y: Tensor, stride: int) -> Tensor:
    """y += x (projected where the shape changes), then ReLU."""
    if stride > 1 or x.shape[1] != y.shape[1]:
        x = b.batch_norm(f"{name}.downsample.1", b.conv(f"{name}.downsample.0", x, y.shape[1], (1, 1), stride))
    return b.emit("relu", f"{name}.relu", b.emit("add", f"{name}.add", y, x, inplace=True))
