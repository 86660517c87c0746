"""ResNet with the norm before each convolution: PreActResNet, and WideResNet, whose stages are wider and fewer; for 32 × 32 images.

A 3×3 stem, stages of blocks (norm, ReLU, 3×3 convolution, twice), norm, ReLU, mean pool, linear. Where the shape changes, the shortcut is a
1×1 convolution of what the first norm gave, as in both papers' code.
"""

from __future__ import annotations

from collections.abc import Sequence

from ironlaw.engine.arrays import Number
from ironlaw.engine.device.types import Graph, Tensor
from ironlaw.registry.families.family_build import Builder


def build(
    *,
    depths: Sequence[int],
    widths: Sequence[int],
    stem: int,
    image: int,
    batch: Number = 1,
    dtype: str = "fp16",
    classes: int = 10,
) -> Graph:
    """`depths`: blocks in each stage; `widths`: channels of each stage. Every stage but the first halves the image."""
    b = Builder("preact", dtype, stem=stem, image=image, batch=batch, classes=classes)
    x = b.conv("conv1", b.input("pixels", batch, 3, image, image), stem, (3, 3), 1, (1, 1))
    for stage, (depth, width) in enumerate(zip(depths, widths, strict=True), 1):
        for i in range(depth):
            x = _block(b, f"layer{stage}.{i}", x, width, stride=2 if stage > 1 and i == 0 else 1)
    x = b.emit("relu", "relu", b.batch_norm("bn", x))
    x = b.emit("mean", "avgpool", x, shape=(batch, x.shape[1]), over="row")
    x = b.linear("fc", x, classes)
    return b.graph([x], batch=batch, dtype=dtype, classes=classes)


def _block(b: Builder, name: str, x: Tensor, width: int, stride: int) -> Tensor:
    ready = b.emit("relu", f"{name}.relu1", b.batch_norm(f"{name}.bn1", x))
    if stride > 1 or x.shape[1] != width:
        x = b.conv(f"{name}.shortcut", ready, width, (1, 1), stride)
    y = b.conv(f"{name}.conv1", ready, width, (3, 3), stride, (1, 1))
    y = b.emit("relu", f"{name}.relu2", b.batch_norm(f"{name}.bn2", y))
    return b.emit("add", f"{name}.add", b.conv(f"{name}.conv2", y, width, (3, 3), 1, (1, 1)), x, inplace=True)
