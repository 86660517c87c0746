"""A stack of fully connected layers, each [linear, GELU], all of one width."""

from __future__ import annotations

from ironlaw.engine.arrays import Number
from ironlaw.engine.device.types import Graph
from ironlaw.registry.families.family_build import Builder


def build(*, layers: int, width: int, batch: Number = 1, dtype: str = "fp16") -> Graph:
    b = Builder("mlp", dtype, layers=layers, width=width, batch=batch)
    x = b.input("x", batch, width)
    for i in range(layers):
        x = b.linear(f"layers.{i}.linear", x, width)
        x = b.emit("gelu", f"layers.{i}.gelu", x)
    return b.graph([x], batch=batch, dtype=dtype)
