"""One step of a serving engine: sequences that decode a token each, a chunk of a prompt, or both side by side.

As serving engines run a Llama: q, k and v are one product, gate and up another; a norm takes the residual sum with it, a rotation and
a gated activation are one kernel each; keys and values are written into a cache that is there already; and only tokens that a new one
follows get logits. Products take the tokens of all requests together; attention runs once over the decoding ones, once over the chunk.
"""

from __future__ import annotations

from ironlaw.engine.device.deployment import serving
from ironlaw.engine.device.narrow_products import narrow_products
from ironlaw.engine.device.types import Graph, Tensor
from ironlaw.engine.serving.llm.decoder import Decoder
from ironlaw.errors import BadValue
from ironlaw.registry.families.block_step import block_step, stored_as
from ironlaw.registry.families.family_build import Builder, view
from ironlaw.registry.families.moe_family import served_mixture


def step(
    model: Decoder, *, batch: int = 0, context: int = 0, chunk: int = 0, past: int = 0, dtype: str = "bf16", weights: str = "",
    cache: str = "", layers: int = 0, fused: bool = True, products: str = "",
) -> Graph:  # fmt: skip
    """`batch` sequences decode after `context` tokens each; `chunk` tokens of a prompt come after `past` of it. `layers`: only so many.

    `products`: the format that the layers' products are computed in, where it is another.
    `fused=False`: norm, rotation, activation and cache op by op, as plain PyTorch runs them (`benchmarks/device/serving_steps.py`).
    """
    if batch + chunk < 1 or min(batch, context, chunk, past) < 0:
        raise BadValue(f"a step of {batch} sequences and {chunk} prompt tokens has nothing to do; give at least one of them")
    if model.blocks:
        sizes = (batch, context, chunk, past)
        return block_step(model, sizes, dtype=dtype, weights=weights, cache=cache, layers=layers, products=products)
    b = Builder("served", dtype)
    tokens = batch + chunk
    words = b.weight("embed_tokens.weight", model.vocab, model.hidden)
    residual = b.embedding("embed_tokens", words, b.input("input_ids", tokens, dtype="int64"))
    turn = b.input("rotary", tokens, model.head_dim)
    added: Tensor | None = None
    for i in range(layers or model.layers):
        name = f"layers.{i}"
        y, residual = _norm(b, f"{name}.input_norm", residual, added, fused)
        y = _attention(b, f"{name}.attn", y, turn, model, (batch, context, chunk, past), fused)
        added = b.linear(f"{name}.attn.o_proj", y, model.hidden, bias=False)
        y, residual = _norm(b, f"{name}.post_norm", residual, added, fused)
        if model.experts:
            added = served_mixture(b, f"{name}.mlp", y, model.experts, model.top_k, model.ffn)
        else:
            added = _swiglu(b, f"{name}.mlp", y, model, fused)
    y, _ = _norm(b, "norm", residual, added, fused)
    rows = batch + (1 if chunk else 0)
    logits = b.linear("lm_head", view(y, rows, model.hidden), model.vocab, bias=False, weight=words if model.tied else None)
    graph = b.graph([logits], batch=batch, context=context, chunk=chunk, past=past, dtype=dtype)
    if weights and weights == model.stored:
        return narrow_products(serving(stored_as(graph, weights, False), "", cache), products, model.scaled)
    return narrow_products(serving(graph, weights, cache), products, model.scaled)


def _norm(b: Builder, name: str, residual: Tensor, added: Tensor | None, fused: bool) -> tuple[Tensor, Tensor]:
    """The norm of the residual stream, and the stream with what the part before added."""
    gain = b.weight(f"{name}.weight", residual.shape[-1])
    if added is None:
        return b.emit("rms_norm", name, residual, gain), residual
    if not fused:
        total = b.emit("add", f"{name}.residual", residual, added)
        return b.emit("rms_norm", name, total, gain), total
    total = Tensor(f"{name}.residual", residual.shape, residual.dtype)
    return b.emit("rms_norm", name, residual, added, gain, also=(total,)), total


def _attention(b: Builder, name: str, x: Tensor, turn: Tensor, m: Decoder, sizes: tuple[int, int, int, int], fused: bool) -> Tensor:
    batch, context, chunk, past = sizes
    tokens, kept = batch + chunk, m.kv_heads * m.head_dim
    qkv = b.linear(f"{name}.qkv_proj", x, m.heads * m.head_dim + 2 * kept, bias=m.qkv_bias)
    for part, count in (("q", m.heads), ("k", m.kv_heads)) if m.qk_norm else ():
        gain = b.weight(f"{name}.{part}_norm.weight", m.head_dim)
        b.emit("rms_norm", f"{name}.{part}_norm", view(qkv, tokens, count, m.head_dim), gain, inplace=True)
    q = _rotated(b, f"{name}.rotary", view(qkv, tokens, (m.heads + m.kv_heads) * m.head_dim), turn, fused)
    if fused:
        b.emit("copy", f"{name}.write_cache", view(qkv, tokens, 2 * kept))
    else:
        for part in (part for part, rows in (("batch", batch), ("prompt", chunk)) if rows):
            for kind in "kv":
                b.emit("copy", f"{name}.write_{part}_{kind}", view(qkv, batch if part == "batch" else chunk, kept), strided=True)
    outs = []
    if batch:
        keys, values = (b.cache(f"{name}.cache_{part}", batch, m.kv_heads, context + 1, m.head_dim) for part in "kv")
        outs.append(b.attention(f"{name}.decode", view(q, batch, m.heads, 1, m.head_dim), keys, values, causal=False))
    if chunk:
        # after a past, a token of the chunk sees that and, on average, half of the chunk
        seen = past + -(-chunk // 2) if past and fused else past + chunk
        keys, values = (b.cache(f"{name}.prompt_{part}", 1, m.kv_heads, seen, m.head_dim) for part in "kv")
        outs.append(b.attention(f"{name}.chunk", view(q, 1, m.heads, chunk, m.head_dim), keys, values, causal=not past))
    if len(outs) > 1 and not fused:
        return b.emit("cat", f"{name}.join", *outs, shape=(tokens, m.heads * m.head_dim))
    return view(outs[-1], tokens, m.heads * m.head_dim)


def _rotated(b: Builder, name: str, x: Tensor, turn: Tensor, fused: bool) -> Tensor:
    if fused:
        return b.emit("mul", name, x, turn)
    half = view(x, x.shape[0], x.shape[1] // 2)
    y = b.emit("mul", f"{name}.mul_cos", x, turn, strided=True)
    turned = b.emit("cat", f"{name}.cat", b.emit("neg", f"{name}.neg", half, strided=True), half, shape=x.shape, strided=True)
    return b.emit("add", f"{name}.add", y, b.emit("mul", f"{name}.mul_sin", turned, turn))


def _swiglu(b: Builder, name: str, x: Tensor, m: Decoder, fused: bool) -> Tensor:
    both = b.linear(f"{name}.gate_up_proj", x, 2 * m.ffn, bias=False)
    inner = (*x.shape[:-1], m.ffn)
    if fused:
        y = b.emit("mul", f"{name}.silu_mul", both, shape=inner)
    else:
        y = b.emit("mul", f"{name}.mul", b.emit("silu", f"{name}.silu", view(both, *inner), strided=True), view(both, *inner), strided=True)
    return b.linear(f"{name}.down_proj", y, m.hidden, bias=False)
