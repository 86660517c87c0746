"""What one device computes of one block of any decoder in training, forward and backward: `shards` for what is not a Llama or a GPT."""

from __future__ import annotations

from ironlaw.engine.cluster.layouts import Layout
from ironlaw.engine.cluster.shapes import Shape
from ironlaw.engine.decoders.parts import Block, Experts, Gate, Norm, Product, Scores, State, sharded
from ironlaw.engine.device.types import Graph, Tensor
from ironlaw.registry.families.family_build import Builder, view

SCAN = 4  # tensors of inner width that a scan over a sequence reads and writes


def forward(shape: Shape, block: Block, layout: Layout, seq: int, dtype: str = "bf16") -> Graph:
    """One block of one microbatch."""
    b, rows = Builder(shape.name, dtype), _rows(layout, seq)
    x = b.input("x", rows, shape.hidden)
    for i, part in enumerate(sharded(block, layout.tensor, shape.name)):
        x = _ahead(b, f"{i}", part, x, rows, layout, seq)
    return b.graph([b.emit("add", "join", view(x, rows, shape.hidden), b.input("residual", rows, shape.hidden))])


def backward(shape: Shape, block: Block, layout: Layout, seq: int, dtype: str = "bf16") -> Graph:
    """A block's gradients: those of every product's input and weight, and of attention."""
    b, rows = Builder(shape.name, dtype), _rows(layout, seq)
    last = b.input("dy", rows, shape.hidden)
    for i, part in enumerate(reversed(sharded(block, layout.tensor, shape.name))):
        last = _back(b, f"{i}", part, rows, layout, seq, dtype) or last
    return b.graph([b.emit("add", "join", b.input("dx", rows, shape.hidden), b.input("residual", rows, shape.hidden))])


def _rows(layout: Layout, seq: int) -> int:
    return layout.micro * seq // layout.context


def _ahead(b: Builder, name: str, part: object, x: Tensor, rows: int, layout: Layout, seq: int) -> Tensor:
    if isinstance(part, Product):
        return b.linear(f"{name}.{part.name}", b.input(f"{name}.x", rows, part.into), part.out, bias=part.bias)
    if isinstance(part, Gate):
        return b.emit("mul", name, b.input(f"{name}.x", rows, (2 if part.halves else 1) * part.width), shape=(rows, part.width))
    if isinstance(part, Norm):
        return b.emit("rms_norm", name, b.input(f"{name}.x", rows * part.rows, part.width), b.weight(f"{name}.weight", part.width))
    if isinstance(part, Scores):
        q, k, v = _qkv(b, name, part, layout, seq)
        return b.emit(
            "attention", name, q, k, v, shape=(*q.shape[:-1], part.value), impl="flash", causal=layout.context == 1 and not part.window
        )
    if isinstance(part, State):
        return b.emit("mul", name, b.input(f"{name}.x", rows, SCAN * part.inner), shape=(rows, part.inner))
    if isinstance(part, Experts):
        b.linear(f"{name}.router", b.input(f"{name}.x", rows, part.hidden), part.count, bias=False)
        return _experts(b, name, part, rows, layout)
    return x


def _experts(b: Builder, name: str, part: Experts, rows: int, layout: Layout) -> Tensor:
    count, sent = max(1, part.count // layout.expert), rows * part.active
    wide = (2 if part.gated else 1) * part.ffn
    x = b.input(f"{name}.routed", sent, part.hidden)
    b.emit("grouped_matmul", f"{name}.up", x, b.weight(f"{name}.up.w", count, wide, part.hidden), shape=(sent, wide))
    y = b.emit("mul", f"{name}.act", b.input(f"{name}.wide", sent, wide), shape=(sent, part.ffn))
    return b.emit("grouped_matmul", f"{name}.down", y, b.weight(f"{name}.down.w", count, part.hidden, part.ffn), shape=(sent, part.hidden))


def _qkv(b: Builder, name: str, s: Scores, layout: Layout, seq: int) -> tuple[Tensor, Tensor, Tensor]:
    seen = int(s.seen(seq if layout.context == 1 else seq // 2))
    return (
        b.input(f"{name}.q", layout.micro, s.heads, seq // layout.context, s.key),
        b.input(f"{name}.k", layout.micro, s.kv_heads, seen, s.key),
        b.input(f"{name}.v", layout.micro, s.kv_heads, seen, s.value),
    )


def _back(b: Builder, name: str, part: object, rows: int, layout: Layout, seq: int, dtype: str) -> Tensor | None:
    if isinstance(part, Product):
        return _product_back(b, f"{name}.{part.name}", rows, part.into, part.out)
    if isinstance(part, Gate):
        wide = (2 if part.halves else 1) * part.width
        return b.emit("mul", name, b.input(f"{name}.dy", rows, part.width), b.input(f"{name}.kept", rows, wide), shape=(rows, wide))
    if isinstance(part, Norm):
        return b.emit(
            "norm_backward", name, b.input(f"{name}.dy", rows * part.rows, part.width), b.input(f"{name}.x", rows * part.rows, part.width)
        )
    if isinstance(part, Scores):
        q, k, v = _qkv(b, name, part, layout, seq)
        out = b.input(f"{name}.out", *q.shape[:-1], part.value)
        grads = tuple(Tensor(f"{name}.d{t.name}", t.shape, dtype) for t in (k, v))
        return b.emit("attention_backward", name, out, q, k, v, out, also=grads, causal=layout.context == 1 and not part.window)
    if isinstance(part, State):
        return b.emit("mul", name, b.input(f"{name}.dy", rows, 2 * SCAN * part.inner))
    if isinstance(part, Experts):
        count, sent, wide = max(1, part.count // layout.expert), rows * part.active, (2 if part.gated else 1) * part.ffn
        for what, width, inner in (("down", part.hidden, part.ffn), ("up", wide, part.hidden)):
            for gradient in ("dx", "dw"):
                x = b.input(f"{name}.{what}.{gradient}.in", sent, width)
                b.emit(
                    "grouped_matmul",
                    f"{name}.{what}.{gradient}",
                    x,
                    b.weight(f"{name}.{what}.{gradient}.w", count, inner, width),
                    shape=(sent, inner),
                )
        b.emit("mul", f"{name}.act", b.input(f"{name}.wide", sent, wide))
        return _product_back(b, f"{name}.router", rows, part.hidden, part.count)
    return None


def _product_back(b: Builder, name: str, rows: int, into: int, out: int) -> Tensor:
    """dY·W, and Xᵀ·dY."""
    dx = b.emit("matmul", f"{name}.dx", b.input(f"{name}.dy", rows, out), b.weight(f"{name}.w", out, into), shape=(rows, into))
    b.emit("matmul", f"{name}.dw", b.input(f"{name}.dyT", out, rows), b.input(f"{name}.x", rows, into), shape=(out, into))
    return dx
