"""GPT-2: token and learned position embeddings, decoder layers that normalise before each part, a head tied to the token
embedding. `bare` leaves only the layers: hidden states in, hidden states out.

GELU is the tanh formula, which transformers writes out in eight element-wise ops.
"""

from __future__ import annotations

from ironlaw.engine.arrays import Number
from ironlaw.engine.device.types import Graph, Tensor
from ironlaw.registry.families.family_build import Builder, check_positions, split_heads, view
from ironlaw.registry.families.transformer import Span, check_packing, extend_cache, positions, span


def build(
    *,
    vocab: int,
    max_positions: int,
    layers: int,
    hidden: int,
    heads: int,
    ffn: int,
    bare: bool = False,
    batch: Number = 1,
    seq: Number = 512,
    context: Number = 512,
    phase: str = "prefill",
    dtype: str = "fp16",
) -> Graph:
    """HF computes the logits of every position that goes in."""
    b = Builder("gpt2", dtype, layers=layers, hidden=hidden, heads=heads, batch=batch)
    at = span("gpt2", phase, seq, context)
    settings = {"batch": batch, "seq": seq, "context": context, "phase": phase, "dtype": dtype}
    if bare:
        x = b.input("hidden_states", batch, at.new, hidden)
    else:
        setting, what = ("context", "context and the new token") if at.decode else ("seq", "")
        check_positions("gpt2", setting, at.keys, max_positions, what)
        words = b.weight("wte.weight", vocab, hidden)
        x = b.embedding("wte", words, b.input("input_ids", batch, at.new, dtype="int64"))
        ids = positions(b, at.new)
        x = b.emit("add", "add_positions", x, b.embedding("wpe", b.weight("wpe.weight", max_positions, hidden), ids))
        if not at.decode:
            check_packing(b, ids, batch)
    for i in range(layers):
        x = _layer(b, f"h.{i}", x, heads, ffn, at)
    if bare:
        return b.graph([x], **settings)
    logits = b.linear("lm_head", b.layer_norm("ln_f", x), vocab, bias=False, weight=words)
    return b.graph([logits], **settings)


def _layer(b: Builder, name: str, x: Tensor, heads: int, ffn: int, at: Span) -> Tensor:
    batch, new, width = x.shape
    qkv = b.linear(f"{name}.attn.c_attn", b.layer_norm(f"{name}.ln_1", x), 3 * width)
    q = k = v = split_heads(view(qkv, batch, new, width), heads)  # a third of the tensor each
    k, v = extend_cache(b, f"{name}.attn", k, v, at)
    y = b.attention(f"{name}.attn.sdpa", q, k, v, causal=not at.decode)
    x = b.emit("add", f"{name}.attn.add", b.linear(f"{name}.attn.c_proj", y, width), x)
    y = b.linear(f"{name}.mlp.c_fc", b.layer_norm(f"{name}.ln_2", x), ffn)
    y = b.linear(f"{name}.mlp.c_proj", gelu_new(b, f"{name}.mlp.act", y), width)
    return b.emit("add", f"{name}.mlp.add", x, y)


def gelu_new(b: Builder, name: str, x: Tensor) -> Tensor:
    """½x · (1 + tanh(√(2/π) · (x + 0.044715·x³))), in Python's order of evaluation."""
    half = b.emit("scale", f"{name}.half", x)
    y = b.emit("scale", f"{name}.scale_cube", b.emit("cube", f"{name}.cube", x))
    y = b.emit("scale", f"{name}.scale_sum", b.emit("add", f"{name}.add", x, y))
    y = b.emit("shift", f"{name}.one_plus", b.emit("tanh", f"{name}.tanh", y))
    return b.emit("mul", f"{name}.mul", half, y)
