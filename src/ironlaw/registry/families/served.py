"""One step of a serving engine: sequences that decode a token each, a chunk of a prompt, or both side by side.

As serving engines run a Llama: q, k and v are one product, gate and up another; a norm takes the residual sum with it, a rotation and
a gated activation are one kernel each; keys and values are written into a cache that is there already; and only tokens that a new one
follows get logits. Products take the tokens of all requests together; attention runs once over the decoding ones, once over the chunk.
"""

from __future__ import annotations

from ironlaw.engine.device.deployment import serving
from ironlaw.engine.device.types import Graph, Tensor
from ironlaw.engine.serving.llm.decoder import Decoder
from ironlaw.errors import BadValue
from ironlaw.registry.families.build import Builder, view
from ironlaw.registry.families.moe import mixture


def step(
    model: Decoder, *, batch: int = 0, context: int = 0, chunk: int = 0, past: int = 0, dtype: str = "bf16", weights: str = "",
    cache: str = "", layers: int = 0,
) -> Graph:  # fmt: skip
    """`batch` sequences decode after `context` tokens each; `chunk` tokens of a prompt come after `past` of it. `layers`: only so many."""
    if batch + chunk < 1 or min(batch, context, chunk, past) < 0:
        raise BadValue(f"a step of {batch} sequences and {chunk} prompt tokens has nothing to do; give at least one of them")
    b = Builder("served", dtype)
    tokens = batch + chunk
    words = b.weight("embed_tokens.weight", model.vocab, model.hidden)
    residual = b.embedding("embed_tokens", words, b.input("input_ids", tokens, dtype="int64"))
    turn = b.input("rotary", tokens, model.head_dim)
    added: Tensor | None = None
    for i in range(layers or model.layers):
        name = f"layers.{i}"
        y, residual = _norm(b, f"{name}.input_norm", residual, added)
        y = _attention(b, f"{name}.attn", y, turn, model, batch, context, chunk, past)
        added = b.linear(f"{name}.attn.o_proj", y, model.hidden, bias=False)
        y, residual = _norm(b, f"{name}.post_norm", residual, added)
        added = (
            mixture(b, f"{name}.mlp", y, model.experts, model.top_k, model.ffn) if model.experts else _swiglu(b, f"{name}.mlp", y, model)
        )
    y, _ = _norm(b, "norm", view(residual, tokens, model.hidden), added)
    rows = batch + (1 if chunk else 0)
    logits = b.linear("lm_head", view(y, rows, model.hidden), model.vocab, bias=False, weight=words if model.tied else None)
    graph = b.graph([logits], batch=batch, context=context, chunk=chunk, past=past, dtype=dtype)
    return serving(graph, weights, cache)


def _norm(b: Builder, name: str, residual: Tensor, added: Tensor | None) -> tuple[Tensor, Tensor]:
    """The norm of the residual stream, and the stream with what the part before added."""
    gain = b.weight(f"{name}.weight", residual.shape[-1])
    if added is None:
        return b.emit("rms_norm", name, residual, gain), residual
    total = Tensor(f"{name}.residual", residual.shape, residual.dtype)
    return b.emit("rms_norm", name, residual, added, gain, also=(total,)), total


def _attention(
    b: Builder, name: str, x: Tensor, turn: Tensor, m: Decoder, batch: int, context: int, chunk: int, past: int
) -> Tensor:  # fmt: skip
    tokens, kept = batch + chunk, 2 * m.kv_heads * m.head_dim
    qkv = b.linear(f"{name}.qkv_proj", x, m.heads * m.head_dim + kept, bias=m.qkv_bias)
    turned = (tokens, (m.heads + m.kv_heads) * m.head_dim)
    q = b.emit("mul", f"{name}.rotary", view(qkv, *turned), turn, shape=turned)
    new = view(qkv, tokens, kept)
    b.emit("copy", f"{name}.write_cache", new)
    out = Tensor(f"{name}.values", (tokens, m.heads * m.head_dim), b.dtype)
    if batch:
        keys, values = (b.cache(f"{name}.cache_{part}", batch, m.kv_heads, context + 1, m.head_dim) for part in "kv")
        out = b.attention(f"{name}.decode", view(q, batch, m.heads, 1, m.head_dim), keys, values, causal=False)
    if chunk:
        # after a past, a token of the chunk sees that and, on average, half of the chunk
        seen = past + -(-chunk // 2) if past else chunk
        keys, values = (b.cache(f"{name}.prompt_{part}", 1, m.kv_heads, seen, m.head_dim) for part in "kv")
        out = b.attention(f"{name}.chunk", view(q, 1, m.heads, chunk, m.head_dim), keys, values, causal=not past)
    return view(out, tokens, m.heads * m.head_dim)


def _swiglu(b: Builder, name: str, x: Tensor, m: Decoder) -> Tensor:
    both = b.linear(f"{name}.gate_up_proj", x, 2 * m.ffn, bias=False)
    y = b.emit("mul", f"{name}.silu_mul", both, shape=(*x.shape[:-1], m.ffn))
    return b.linear(f"{name}.down_proj", y, m.hidden, bias=False)
