"""One residual block of a diffusion U-Net: GroupNorm, SiLU, 3×3 convolution; the time embedding is projected and added
to every pixel; GroupNorm, SiLU, 3×3 convolution; skip connection."""

from __future__ import annotations

from ironlaw.engine.arrays import Number
from ironlaw.engine.device.types import Graph, Tensor
from ironlaw.registry.families.family_build import Builder, view


def build(*, channels: int, out_channels: int, time: int, groups: int, size: int, batch: Number = 1, dtype: str = "fp16") -> Graph:
    """`size`: height and width; `time`: width of the time embedding."""
    b = Builder("unet", dtype, channels=channels, out_channels=out_channels, time=time, groups=groups, size=size, batch=batch)
    x = b.input("x", batch, channels, size, size)
    step = b.input("time", batch, time)

    y = b.emit("silu", "act1", _norm(b, "norm1", x, groups))
    y = b.conv("conv1", y, out_channels, (3, 3), 1, (1, 1), bias=True)
    shift = b.linear("time_proj", b.emit("silu", "time_act", step), out_channels)
    y = b.emit("add", "add_time", y, view(shift, batch, out_channels, 1, 1))
    y = b.emit("silu", "act2", _norm(b, "norm2", y, groups))
    y = b.conv("conv2", y, out_channels, (3, 3), 1, (1, 1), bias=True)
    if channels != out_channels:
        x = b.conv("skip", x, out_channels, (1, 1), bias=True)
    y = b.emit("add", "add_skip", x, y)
    return b.graph([y], batch=batch, dtype=dtype)


def _norm(b: Builder, name: str, x: Tensor, groups: int) -> Tensor:
    _, channels, height, width = x.shape
    trained = (b.weight(f"{name}.{part}", channels) for part in ("weight", "bias"))
    return b.emit("group_norm", name, x, *trained, groups=groups, row=channels // groups * height * width)
