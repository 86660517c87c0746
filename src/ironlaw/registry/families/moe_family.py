"""A Llama-like decoder whose feed-forward is a mixture of experts (Mixtral): a router picks `top_k` of `experts` for each
token, and every expert is a SwiGLU.

As transformers runs it: tokens are sorted by expert, one grouped matrix product per projection runs all experts, and the
results are put back in order, weighted and added. Assumption: tokens spread evenly over the experts, so that with enough
of them every expert's weights are read, and with few (decoding) only those of the top_k · tokens that are hit.
"""

from __future__ import annotations

from dataclasses import replace

from ironlaw.engine.arrays import Number
from ironlaw.engine.device.types import Graph, Tensor
from ironlaw.errors import BadValue
from ironlaw.registry.families.family_build import Builder, view
from ironlaw.registry.families.llama import cast, decoder
from ironlaw.registry.families.transformer import span


def build(
    *,
    vocab: int,
    layers: int,
    hidden: int,
    heads: int,
    kv_heads: int,
    head_dim: int,
    ffn: int,
    experts: int,
    top_k: int,
    tied: bool,
    batch: Number = 1,
    seq: Number = 512,
    context: Number = 512,
    phase: str = "prefill",
    dtype: str = "fp16",
) -> Graph:
    if top_k > experts:
        raise BadValue(f"moe: top_k is {top_k} of {experts} experts; give at most {experts}")

    def feed_forward(b: Builder, name: str, x: Tensor) -> Tensor:
        return mixture(b, name, x, experts, top_k, ffn)

    b = Builder("moe", dtype, layers=layers, hidden=hidden, heads=heads, experts=experts, top_k=top_k, batch=batch)
    at = span("moe", phase, seq, context)
    logits = decoder(b, at, feed_forward, batch, vocab, layers, hidden, heads, kv_heads, head_dim, tied)
    return b.graph([logits], batch=batch, seq=seq, context=context, phase=phase, dtype=dtype)


def mixture(b: Builder, name: str, x: Tensor, experts: int, top_k: int, ffn: int, gated: bool = True) -> Tensor:
    """The router, and what the experts that it picks make of each token."""
    share, choice = _route(b, f"{name}.router", x, experts, top_k)
    return _experts(b, f"{name}.experts", x, share, choice, experts, ffn, gated)


def met(experts: int, top_k: int, tokens: int) -> int:
    """Experts that tokens which choose at random meet, on average: few of them choose some twice."""
    return max(1, round(experts * (1.0 - (1.0 - top_k / experts) ** tokens)))


def served_mixture(b: Builder, name: str, x: Tensor, experts: int, top_k: int, ffn: int, gated: bool = True) -> Tensor:
    """The same as a serving engine runs it: one kernel picks and weighs experts, one puts rows in their order, products find their rows by
    it, the gate is a kernel and so is the weighted sum."""
    tokens, hidden = x.size // x.shape[-1], x.shape[-1]
    share = b.emit("softmax", f"{name}.router.topk", b.linear(f"{name}.router", x, experts, bias=False))
    order = b.emit("cumsum", f"{name}.experts.align", view(share, share.size), dtype="int32")
    picked, inner, hit = (tokens, top_k, hidden), (tokens, top_k, ffn), met(experts, top_k, tokens)
    wide = 2 * ffn if gated else ffn
    up = b.weight(f"{name}.experts.gate_up_proj.weight", hit, wide, hidden)
    down = b.weight(f"{name}.experts.down_proj.weight", hit, hidden, ffn)
    y = b.emit("grouped_matmul", f"{name}.experts.gate_up_proj", replace(x, shape=picked), up, order, shape=(tokens, top_k, wide))
    y = b.emit("mul", f"{name}.experts.act", y, shape=inner)
    y = b.emit("grouped_matmul", f"{name}.experts.down_proj", y, down, order, shape=picked)
    return b.emit("sum", f"{name}.experts.sum", y, share, shape=x.shape, over="row", axis=-2)


def _route(b: Builder, name: str, x: Tensor, experts: int, top_k: int) -> tuple[Tensor, Tensor]:
    """Each token's `top_k` experts (ids) and their weights, which add to one."""
    score = b.emit("softmax", f"{name}.softmax", cast(b, f"{name}.to_fp32", b.linear(name, x, experts, bias=False), "fp32"))
    picked = (*x.shape[:-1], top_k)
    choice = Tensor(f"{name}.choice", picked, "int64")
    share = b.emit("topk", f"{name}.topk", score, shape=picked, also=(choice,))
    total = b.emit("sum", f"{name}.sum", share, shape=(*x.shape[:-1], 1), over="row")
    return b.emit("div", f"{name}.div", share, total, inplace=True), choice


def _experts(b: Builder, name: str, x: Tensor, share: Tensor, choice: Tensor, experts: int, ffn: int, gated: bool) -> Tensor:
    picked, hidden = choice.shape, x.shape[-1]  # [b, s, top_k]: one row for each token and expert
    order = Tensor(f"{name}.order", (choice.size,), "int64")
    by_expert = b.emit("topk", f"{name}.sort", view(choice, choice.size), also=(order,))
    order = view(order, *picked)
    token = b.emit("div", f"{name}.token_of_row", order)
    rows = b.emit("gather", f"{name}.gather", x, token, shape=(*picked, hidden))
    row_share = b.emit("gather", f"{name}.gather_weights", share, order)
    counts = b.emit("scatter", f"{name}.count", b.emit("cast", f"{name}.to_int32", by_expert, dtype="int32"), shape=(experts,))
    ends = b.emit("cumsum", f"{name}.ends", counts, over="row")

    wide = 2 * ffn if gated else ffn
    both = b.weight(f"{name}.gate_up_proj.weight", experts, wide, hidden)
    y = b.emit("grouped_matmul", f"{name}.gate_up_proj", rows, both, ends, shape=(*picked, wide))
    gate = up = view(y, *picked, ffn)  # a half of the tensor each
    y = b.emit("silu", f"{name}.silu", gate, strided=gated)
    y = b.emit("mul", f"{name}.mul", y, up, strided=True) if gated else y
    down = b.weight(f"{name}.down_proj.weight", experts, hidden, ffn)
    y = b.emit("grouped_matmul", f"{name}.down_proj", y, down, ends, shape=(*picked, hidden))

    # the router's weights are FP32, and so is what they multiply
    y = b.emit("mul", f"{name}.weigh", y, replace(row_share, shape=(*picked, 1)), dtype="fp32")
    slot = b.emit("fill", f"{name}.arange", shape=picked, dtype="int64")
    back = b.emit("scatter", f"{name}.invert_order", slot, order, inplace=True)
    y = b.emit("gather", f"{name}.gather_back", y, back)
    y = b.emit("sum", f"{name}.sum", y, shape=x.shape, over="row", axis=-2)
    return cast(b, f"{name}.from_fp32", y, b.dtype)
