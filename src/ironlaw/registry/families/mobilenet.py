"""MobileNetV2: inverted residuals. A 1×1 convolution widens, a 3×3 depthwise one filters, a 1×1 one narrows; batch norm
after each, ReLU6 after the first two, and a residual add where the shape stays.

`padding="conv"` pads inside the convolution (torchvision). `padding="explicit"` is what transformers does: a pad op before
every convolution, TensorFlow's way, which also copies the input of the 1×1 ones though it adds nothing to it.
"""

from __future__ import annotations

from collections.abc import Sequence

from ironlaw.engine.arrays import Number
from ironlaw.engine.device.types import Graph, Tensor
from ironlaw.registry.families.family_build import Builder, choose


def build(
    *,
    stem: int,
    stages: Sequence[Sequence[int]],
    last: int,
    image: int,
    padding: str = "conv",
    batch: Number = 1,
    dtype: str = "fp16",
    classes: int = 1000,
) -> Graph:
    """`stages` as in the paper's table 2: [expansion t, channels c, repeats n, stride s]."""
    choose("mobilenet", "padding", padding, ("conv", "explicit"))
    b = Builder("mobilenet", dtype, stem=stem, last=last, image=image, batch=batch, classes=classes)

    def conv(name: str, x: Tensor, out: int, size: int = 1, stride: int = 1, groups: int = 1, act: bool = True) -> Tensor:
        pad = (size - 1) // 2
        if padding == "explicit":
            # TensorFlow's "same": just enough for every window, the odd line to the right and below
            height, width = (side + max(size - (side % stride or stride), 0) for side in x.shape[2:])
            x = b.emit("pad", f"{name}.pad", x, shape=(*x.shape[:2], height, width))
            pad = 0
        x = b.conv(f"{name}.conv", x, out, (size, size), stride, (pad, pad), groups)
        x = b.batch_norm(f"{name}.bn", x)
        return b.emit("relu6", f"{name}.relu6", x) if act else x

    x = conv("features.0", b.input("pixels", batch, 3, image, image), stem, 3, 2)
    index = 1
    for expansion, channels, repeats, first_stride in stages:
        for i in range(repeats):
            name, stride, inner = f"features.{index}", first_stride if i == 0 else 1, expansion * x.shape[1]
            y = conv(f"{name}.expand", x, inner) if expansion > 1 else x
            y = conv(f"{name}.depthwise", y, inner, 3, stride, groups=inner)
            y = conv(f"{name}.project", y, channels, act=False)
            x = b.emit("add", f"{name}.add", x, y) if stride == 1 and x.shape[1] == channels else y
            index += 1
    x = conv(f"features.{index}", x, last)
    x = b.emit("mean", "pool", x, shape=(batch, last), over="row")
    x = b.linear("classifier", x, classes)
    return b.graph([x], batch=batch, dtype=dtype, classes=classes)
