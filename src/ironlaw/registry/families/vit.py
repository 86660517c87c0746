"""Vision Transformer: patches by one convolution, a class token, learned positions, encoder layers that normalise before
each part, and a linear classifier on the class token."""

from __future__ import annotations

from ironlaw.engine.arrays import Number
from ironlaw.engine.device.types import Graph
from ironlaw.registry.families.family_build import Builder, view
from ironlaw.registry.families.transformer import feed_forward, self_attention


def build(
    *,
    layers: int,
    hidden: int,
    heads: int,
    ffn: int,
    patch: int,
    image: int,
    batch: Number = 1,
    dtype: str = "fp16",
    classes: int = 1000,
) -> Graph:
    b = Builder("vit", dtype, layers=layers, hidden=hidden, heads=heads, image=image, batch=batch, classes=classes)
    pixels = b.input("pixels", batch, 3, image, image)
    x = b.conv("patches", pixels, hidden, (patch, patch), patch, bias=True)
    tokens = x.shape[2] * x.shape[3]
    x = view(x, batch, tokens, hidden)
    x = b.emit("cat", "prepend_class", b.weight("class_token", 1, 1, hidden), x, shape=(batch, tokens + 1, hidden))
    x = b.emit("add", "add_positions", x, b.weight("positions", 1, tokens + 1, hidden))
    for i in range(layers):
        name = f"layer.{i}"
        y = self_attention(b, f"{name}.attn", b.layer_norm(f"{name}.norm1", x), heads)
        x = b.emit("add", f"{name}.add1", y, x)
        y = feed_forward(b, f"{name}.mlp", b.layer_norm(f"{name}.norm2", x), ffn)
        x = b.emit("add", f"{name}.add2", y, x)
    x = b.layer_norm("norm", x)
    logits = b.linear("classifier", view(x, batch, hidden), classes)
    return b.graph([logits], batch=batch, dtype=dtype, classes=classes)
