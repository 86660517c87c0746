"""The ops of one layer on one device of a layout, forward and backward, as Megatron's kernels run them.

Tensor parallelism cuts heads and columns, sequence parallelism the rows between them; chains of element-wise ops (bias and GELU, dropout
and add, SwiGLU, rotation) are one kernel each. Communication is not in it.
"""

from __future__ import annotations

from dataclasses import replace

from ironlaw.engine.cluster.layouts import Layout
from ironlaw.engine.cluster.shapes import Shape
from ironlaw.engine.device.types import Graph, Tensor
from ironlaw.registry.families.family_build import Builder


class Shard:
    """Sizes of one device's part of a layer."""

    def __init__(self, shape: Shape, layout: Layout, seq: int, dtype: str) -> None:
        self.shape, self.dtype, self.micro = shape, dtype, layout.micro
        self.seq = seq // layout.context  # rows of this device
        self.keys = seq // 2 if layout.context > 1 else seq  # balanced pieces of a causal mask: each row sees half of them on average
        self.context = layout.context
        self.rows = self.micro * self.seq
        self.between = self.rows // layout.tensor if layout.sequence_parallel else self.rows
        self.heads = shape.heads // layout.tensor
        self.kv_heads = max(1, shape.kv_heads // layout.tensor)
        self.width, self.kv_width = self.heads * shape.head_dim, self.kv_heads * shape.head_dim
        self.ffn = shape.ffn // layout.tensor
        self.vocab = -(-shape.vocab // layout.tensor)
        self.experts = shape.experts // layout.expert
        self.routed = self.rows * shape.top_k  # rows of this device's experts, where tokens spread evenly


def _builder(shape: Shape, dtype: str) -> Builder:
    return Builder(shape.name, dtype, layers=shape.layers, hidden=shape.hidden, heads=shape.heads)


def forward(shape: Shape, layout: Layout, seq: int, dtype: str = "bf16") -> Graph:
    """One layer of one microbatch."""
    at, b = Shard(shape, layout, seq, dtype), _builder(shape, dtype)
    x = b.input("x", at.between, shape.hidden)
    y = _gathered(b, _norm(b, "norm1", x, shape), at)
    qkv = b.linear("qkv", y, at.width + 2 * at.kv_width, bias=not shape.gated)
    y = b.linear("projection", _attention(b, "attention", qkv, at), shape.hidden, bias=False)
    x = _joined(b, "join1", y, x, shape)
    y = _gathered(b, _norm(b, "norm2", x, shape), at)
    y = _experts(b, y, at) if shape.experts else _feed_forward(b, y, at)
    return b.graph([_joined(b, "join2", y, x, shape)])


def backward(shape: Shape, layout: Layout, seq: int, dtype: str = "bf16") -> Graph:
    """The gradients of one layer of one microbatch; a weight's is added up in FP32."""
    at, b = Shard(shape, layout, seq, dtype), _builder(shape, dtype)
    h = shape.hidden
    dy = _split(b, "join2", b.input("dy", at.between, h), shape)
    dy = _experts_backward(b, _rows(dy, at), at) if shape.experts else _feed_forward_backward(b, _rows(dy, at), at)
    dy = _norm_backward(b, "norm2", _scattered(dy, at), shape)
    dy = _split(b, "join1", dy, shape)
    dy = _linear_backward(b, "projection", _rows(dy, at), at.width, not shape.gated)
    dy = _attention_backward(b, "attention", dy, at)
    dy = _linear_backward(b, "qkv", dy, h, not shape.gated)
    return b.graph([_norm_backward(b, "norm1", _scattered(dy, at), shape)])


def every_second(shape: Shape, layout: Layout, seq: int, dtype: str = "bf16") -> Graph:
    """What is run again where every second product and attention are kept: the other products, and all between them."""
    graph = forward(shape, layout, seq, dtype)
    products = [op.name for op in graph.ops if op.work.matmul_flops and op.kind != "attention"]
    kept = {*products[1::2], *(op.name for op in graph.ops if op.kind == "attention")}
    return replace(graph, ops=tuple(op for op in graph.ops if op.name not in kept))


def attention_only(shape: Shape, layout: Layout, seq: int, dtype: str = "bf16") -> Graph | None:
    """What selective recomputation runs again: scores, softmax, dropout, context. None where one kernel keeps no scores."""
    if shape.fused_attention:
        return None
    at, b = Shard(shape, layout, seq, dtype), _builder(shape, dtype)
    return b.graph([_attention(b, "attention", b.input("qkv", at.rows, at.width + 2 * at.kv_width), at)])


def head(shape: Shape, layout: Layout, seq: int, dtype: str = "bf16") -> Graph:
    """Norm, logits and loss of one microbatch, forward and backward."""
    at, b = Shard(shape, layout, seq, dtype), _builder(shape, dtype)
    y = _gathered(b, _norm(b, "norm", b.input("x", at.between, shape.hidden), shape), at)
    logits = b.linear("logits", y, at.vocab, bias=False)
    wide = b.emit("cast", "to_fp32", logits, dtype="fp32")
    loss = b.emit("softmax", "loss", wide)
    dy = b.emit("mul", "loss.backward", loss, dtype=dtype)
    dy = _linear_backward(b, "logits", dy, shape.hidden)
    return b.graph([_norm_backward(b, "norm", _scattered(dy, at), shape)])


def update(parameters: float, held: float, gradient_bytes: float) -> Graph:
    """The gradients' norm and their scaling over all that are held; then AdamW in one pass over the parameters that are updated here.

    It reads gradient, master copy and two moments, and writes the last three and the weight.
    """
    b = Builder("update", "fp32")
    whole = b.input("gradients", held * gradient_bytes / 4.0)
    b.emit("sum", "norm", whole, shape=(1,), over="all")
    b.emit("scale", "clip", whole)
    gradient = b.input("gradient", parameters * gradient_bytes / 4.0)
    state = [b.input(name, parameters) for name in ("master", "mean", "square")]
    written = [Tensor(f"{t.name}.new", t.shape, "fp32") for t in state]
    weight = Tensor("weight", (parameters,), "bf16")
    return b.graph([b.emit("foreach", "adamw", gradient, *state, shape=(parameters,), also=(*written[1:], weight))])


def _norm(b: Builder, name: str, x: Tensor, shape: Shape) -> Tensor:
    if not shape.gated:
        return b.layer_norm(name, x)
    return b.emit("rms_norm", name, x, b.weight(f"{name}.weight", shape.hidden))


def _gathered(b: Builder, x: Tensor, at: Shard) -> Tensor:
    """Every row, after the all-gather of sequence parallelism."""
    return Tensor(f"{x.name}.rows", (at.rows, x.shape[-1]), x.dtype, "input") if at.between != at.rows else x


def _rows(x: Tensor, at: Shard) -> Tensor:
    return Tensor(f"{x.name}.rows", (at.rows, x.shape[-1]), x.dtype, "input")


def _scattered(x: Tensor, at: Shard) -> Tensor:
    return Tensor(f"{x.name}.part", (at.between, x.shape[-1]), x.dtype, "input")


def _joined(b: Builder, name: str, y: Tensor, x: Tensor, shape: Shape) -> Tensor:
    """Bias, dropout and the residual in one kernel; a gated model has no dropout."""
    part = Tensor(f"{y.name}.part", x.shape, y.dtype, "input")
    if shape.gated or not shape.dropout:
        return b.emit("add", name, part, x)
    return b.emit("dropout", name, part, x, also=(Tensor(f"{name}.mask", x.shape, "bool"),))


def _split(b: Builder, name: str, dy: Tensor, shape: Shape) -> Tensor:
    """The gradient of what was joined to the residual."""
    if shape.gated or not shape.dropout:
        return dy
    return b.emit("mul", f"{name}.backward", dy, Tensor(f"{name}.mask", dy.shape, "bool", "input"))


def _heads(x: Tensor, name: str, batch: int, heads: int, rows: int, width: int) -> Tensor:
    return Tensor(f"{x.name}.{name}", (batch, heads, rows, width), x.dtype, "input")


def _attention(b: Builder, name: str, qkv: Tensor, at: Shard) -> Tensor:
    d = at.shape.head_dim
    q = _heads(qkv, "q", at.micro, at.heads, at.seq, d)
    k, v = (_heads(qkv, part, at.micro, at.kv_heads, at.keys, d) for part in ("k", "v"))
    if at.shape.gated:
        b.emit("mul", f"{name}.rotate", Tensor("qk", (at.rows, at.width + at.kv_width), at.dtype, "input"))
    if at.shape.fused_attention:
        y = b.emit("attention", name, q, k, v, impl="flash", causal=at.context == 1)
        return Tensor(y.name, (at.rows, at.width), at.dtype, "input")
    turned = Tensor(k.name, (at.micro, at.kv_heads, d, at.keys), k.dtype, "input")
    scores = b.emit("matmul", f"{name}.scores", q, turned, shape=(at.micro, at.heads, at.seq, at.keys))
    share = b.emit("softmax", f"{name}.softmax", scores)
    mask = Tensor(f"{name}.mask", share.shape, "bool")
    kept = b.emit("dropout", f"{name}.dropout", share, also=(mask,)) if at.shape.dropout else share
    y = b.emit("matmul", f"{name}.context", kept, v, shape=(at.micro, at.heads, at.seq, d))
    return Tensor(y.name, (at.rows, at.width), at.dtype, "input")


def _attention_backward(b: Builder, name: str, dy: Tensor, at: Shard) -> Tensor:
    d = at.shape.head_dim
    dq = _heads(dy, "dq", at.micro, at.heads, at.seq, d)
    k, v = (_heads(dy, part, at.micro, at.kv_heads, at.keys, d) for part in ("k", "v"))
    whole = Tensor(f"{name}.dqkv", (at.rows, at.width + 2 * at.kv_width), at.dtype, "input")
    if at.shape.fused_attention:
        q, out = (Tensor(f"{name}.{part}", dq.shape, at.dtype, "input") for part in ("q", "out"))
        grads = (Tensor(f"{name}.dk", k.shape, at.dtype), Tensor(f"{name}.dv", v.shape, at.dtype))
        b.emit("attention_backward", f"{name}.backward", dq, q, k, v, out, also=grads, causal=at.context == 1)
    else:
        shape = (at.micro, at.heads, at.seq, at.keys)
        scores = Tensor(f"{name}.scores", shape, at.dtype, "input")
        back = Tensor(f"{name}.scores_t", (at.micro, at.heads, at.keys, at.seq), at.dtype, "input")
        b.emit("matmul", f"{name}.dv", back, dq, shape=(at.micro, at.heads, at.keys, d))
        turned = Tensor(v.name, (at.micro, at.kv_heads, d, at.keys), at.dtype, "input")
        b.emit("matmul", f"{name}.dshare", dq, turned, shape=shape)
        if at.shape.dropout:
            b.emit("mul", f"{name}.dropout.backward", scores, Tensor(f"{name}.mask", shape, "bool", "input"))
        b.emit("mul", f"{name}.softmax.backward", scores, Tensor(f"{name}.share", shape, at.dtype, "input"))
        b.emit("matmul", f"{name}.dq", scores, k, shape=(at.micro, at.heads, at.seq, d))
        b.emit("matmul", f"{name}.dk", back, dq, shape=(at.micro, at.heads, at.keys, d))
    if at.shape.gated:
        b.emit("mul", f"{name}.rotate.backward", Tensor("dqk", (at.rows, at.width + at.kv_width), at.dtype, "input"))
    return whole


def _linear_backward(b: Builder, name: str, dy: Tensor, inner: int, bias: bool = False) -> Tensor:
    """Two products: dY·W, and Xᵀ·dY onto the sum of gradients; a bias takes the sum of the rows."""
    count, out = dy.shape[0], dy.shape[-1]
    dx = b.emit("matmul", f"{name}.dx", dy, Tensor(f"{name}.w", (out, inner), dy.dtype, "weight"), shape=(count, inner))
    turned = Tensor(f"{name}.dyT", (out, count), dy.dtype, "input")
    b.emit("matmul", f"{name}.dw", turned, Tensor(f"{name}.x", (count, inner), dy.dtype, "input"), shape=(out, inner))
    if bias:
        b.emit("sum", f"{name}.dbias", dy, shape=(1, out), over="column")
    return dx


def _feed_forward(b: Builder, x: Tensor, at: Shard) -> Tensor:
    if not at.shape.gated:
        y = b.emit("gelu", "gelu", b.linear("up", x, at.ffn, bias=False))
        return b.linear("down", y, at.shape.hidden, bias=False)
    both = b.linear("gate_up", x, 2 * at.ffn, bias=False)
    halves = [Tensor(f"{both.name}.{part}", (at.rows, at.ffn), at.dtype, "input") for part in ("gate", "up")]
    return b.linear("down", b.emit("mul", "swiglu", *halves), at.shape.hidden, bias=False)


def _feed_forward_backward(b: Builder, dy: Tensor, at: Shard) -> Tensor:
    dy = _linear_backward(b, "down", dy, at.ffn, not at.shape.gated)
    if not at.shape.gated:
        dy = b.emit("gelu_backward", "gelu.backward", dy, Tensor("gelu.x", dy.shape, at.dtype, "input"))
        return _linear_backward(b, "up", dy, at.shape.hidden, True)
    kept = [Tensor(f"swiglu.{part}", dy.shape, at.dtype, "input") for part in ("gate", "up")]
    b.emit("mul", "swiglu.backward", dy, *kept, also=(Tensor("swiglu.dup", dy.shape, at.dtype),))
    return _linear_backward(b, "gate_up", Tensor("swiglu.both", (at.rows, 2 * at.ffn), at.dtype, "input"), at.shape.hidden)


def _experts(b: Builder, x: Tensor, at: Shard) -> Tensor:
    b.linear("router", x, at.shape.experts, bias=False)
    sent = Tensor("routed", (at.routed, at.shape.hidden), at.dtype, "input")
    wide = (2 if at.shape.gated else 1) * at.ffn
    y = b.emit("grouped_matmul", "up", sent, b.weight("up.weight", at.experts, wide, at.shape.hidden), shape=(at.routed, wide))
    halves = [Tensor(f"{y.name}.{i}", (at.routed, at.ffn), at.dtype, "input") for i in range(2 if at.shape.gated else 1)]
    y = b.emit("mul" if at.shape.gated else "gelu", "activation", *halves)
    return b.emit(
        "grouped_matmul", "down", y, b.weight("down.weight", at.experts, at.shape.hidden, at.ffn), shape=(at.routed, at.shape.hidden)
    )


def _experts_backward(b: Builder, dy: Tensor, at: Shard) -> Tensor:
    h, wide = at.shape.hidden, (2 if at.shape.gated else 1) * at.ffn
    sent = Tensor("drouted", (at.routed, h), at.dtype, "input")
    for name, out, inner, x in (("down", h, at.ffn, sent), ("up", wide, h, Tensor("dwide", (at.routed, wide), at.dtype, "input"))):
        b.emit("grouped_matmul", f"{name}.dx", x, b.weight(f"{name}.w", at.experts, inner, out), shape=(at.routed, inner))
        b.emit("grouped_matmul", f"{name}.dw", x, b.weight(f"{name}.x", at.experts, inner, out), shape=(at.routed, inner))
        b.emit("mul", f"{name}.activation.backward", Tensor(f"{name}.kept", (at.routed, inner), at.dtype, "input"))
    return _linear_backward(b, "router", Tensor("drouter", (at.rows, at.shape.experts), at.dtype, "input"), h)


def _norm_backward(b: Builder, name: str, dy: Tensor, shape: Shape) -> Tensor:
    return b.emit("norm_backward", f"{name}.backward", dy, Tensor(f"{name}.x", dy.shape, dy.dtype, "input"))
