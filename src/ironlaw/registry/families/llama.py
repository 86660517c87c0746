"""Llama and its kin (Qwen2 adds biases to q, k and v, Qwen3 norms to q and k): RMS norm, rotary positions, grouped-query attention, SwiGLU.

As transformers runs it eagerly: RMS norm goes through FP32 and is eight ops, a rotation is five for q and five for k.
The decoder takes its feed-forward as a function, so that `moe` can put experts there.
"""

from __future__ import annotations

from collections.abc import Callable

from ironlaw.engine.arrays import Number
from ironlaw.engine.device.types import Graph, Tensor
from ironlaw.errors import BadValue
from ironlaw.registry.families.family_build import Builder, split_heads, view
from ironlaw.registry.families.transformer import Span, check_packing, extend_cache, positions, span

WIDE = ("fp32", "tf32")  # already in 4 bytes: `.float()` copies nothing


def build(
    *,
    vocab: int,
    layers: int,
    hidden: int,
    heads: int,
    kv_heads: int,
    head_dim: int,
    ffn: int,
    tied: bool,
    qkv_bias: bool = False,
    qk_norm: bool = False,
    batch: Number = 1,
    seq: Number = 512,
    context: Number = 512,
    phase: str = "prefill",
    dtype: str = "fp16",
) -> Graph:
    def swiglu(b: Builder, name: str, x: Tensor) -> Tensor:
        gate = b.emit("silu", f"{name}.silu", b.linear(f"{name}.gate_proj", x, ffn, bias=False))
        y = b.emit("mul", f"{name}.mul", gate, b.linear(f"{name}.up_proj", x, ffn, bias=False))
        return b.linear(f"{name}.down_proj", y, hidden, bias=False)

    b = Builder("llama", dtype, layers=layers, hidden=hidden, heads=heads, batch=batch)
    at = span("llama", phase, seq, context)
    logits = decoder(b, at, swiglu, batch, vocab, layers, hidden, heads, kv_heads, head_dim, tied, qkv_bias, qk_norm)
    return b.graph([logits], batch=batch, seq=seq, context=context, phase=phase, dtype=dtype)


def decoder(
    b: Builder,
    at: Span,
    feed_forward: Callable[[Builder, str, Tensor], Tensor],
    batch: Number,
    vocab: int,
    layers: int,
    hidden: int,
    heads: int,
    kv_heads: int,
    head_dim: int,
    tied: bool,
    qkv_bias: bool = False,
    qk_norm: bool = False,
) -> Tensor:
    """Token ids to logits of every position that goes in, as HF computes them."""
    if heads % kv_heads:
        raise BadValue(f"{b.family}: {heads} heads can't share {kv_heads} key-value heads evenly; give a divisor of {heads}")
    words = b.weight("embed_tokens.weight", vocab, hidden)
    x = b.embedding("embed_tokens", words, b.input("input_ids", batch, at.new, dtype="int64"))
    ids = positions(b, at.new)
    if not at.decode:
        check_packing(b, ids, batch)
    cos, sin = rotary_tables(b, ids, head_dim)

    for i in range(layers):
        name = f"layers.{i}"
        y = rms_norm(b, f"{name}.input_norm", x)
        q, k, v = (
            _heads(b, f"{name}.attn.{part}", y, count, head_dim, qkv_bias, qk_norm and part != "v")
            for part, count in (("q", heads), ("k", kv_heads), ("v", kv_heads))
        )
        q = rotate(b, f"{name}.attn.rotary_q", q, cos, sin, at)
        k = rotate(b, f"{name}.attn.rotary_k", k, cos, sin, at)
        k, v = extend_cache(b, f"{name}.attn", k, v, at)
        y = b.attention(f"{name}.attn.sdpa", q, k, v, causal=not at.decode)
        x = b.emit("add", f"{name}.attn.add", x, b.linear(f"{name}.attn.o_proj", y, hidden, bias=False))
        y = feed_forward(b, f"{name}.mlp", rms_norm(b, f"{name}.post_norm", x))
        x = b.emit("add", f"{name}.mlp.add", x, y)
    x = rms_norm(b, "norm", x)
    return b.linear("lm_head", x, vocab, bias=False, weight=words if tied else None)


def _heads(b: Builder, name: str, x: Tensor, count: int, head_dim: int, bias: bool, normalised: bool) -> Tensor:
    """Queries, keys or values of every head: [b, h, s, d]."""
    y = b.linear(f"{name}_proj", x, count * head_dim, bias=bias)
    if normalised:
        y = view(rms_norm(b, f"{name}_norm", view(y, *y.shape[:-1], count, head_dim)), *y.shape)
    return split_heads(y, count)


def cast(b: Builder, name: str, x: Tensor, dtype: str) -> Tensor:
    """Nothing is copied where the format is the same already."""
    same = x.dtype == dtype or (x.dtype in WIDE and dtype in WIDE)
    return x if same else b.emit("cast", name, x, dtype=dtype)


def rms_norm(b: Builder, name: str, x: Tensor) -> Tensor:
    """x · rsqrt(mean(x²) + ε) in FP32, then the gain in the model's format."""
    wide = cast(b, f"{name}.to_fp32", x, "fp32")
    mean = b.emit("mean", f"{name}.mean", b.emit("square", f"{name}.square", wide), shape=(*x.shape[:-1], 1), over="row")
    scale = b.emit("rsqrt", f"{name}.rsqrt", b.emit("shift", f"{name}.add_eps", mean))
    y = cast(b, f"{name}.from_fp32", b.emit("mul", f"{name}.normalise", wide, scale), b.dtype)
    return b.emit("mul", f"{name}.gain", b.weight(f"{name}.weight", x.shape[-1]), y, shape=x.shape)


def rotary_tables(b: Builder, ids: Tensor, head_dim: int) -> tuple[Tensor, Tensor]:
    """Cosines and sines of position × frequency, once per forward pass."""
    count = ids.shape[1]
    place = cast(b, "rotary.positions", view(ids, 1, count, 1), "fp32")
    frequency = cast(b, "rotary.inv_freq", b.buffer("rotary.frequencies", head_dim // 2), "fp32")
    angle = b.emit("mul", "rotary.angles", place, frequency, shape=(1, count, head_dim // 2))
    angle = b.emit("cat", "rotary.cat", angle, angle, shape=(1, count, head_dim))
    cos = b.emit("scale", "rotary.scale_cos", b.emit("cos", "rotary.cos", angle))
    sin = b.emit("scale", "rotary.scale_sin", b.emit("sin", "rotary.sin", angle))
    return cast(b, "rotary.cast_cos", cos, b.dtype), cast(b, "rotary.cast_sin", sin, b.dtype)


def rotate(b: Builder, name: str, x: Tensor, cos: Tensor, sin: Tensor, at: Span) -> Tensor:
    """x·cos + rotate_half(x)·sin on the [b, h, s, d] view of [b, s, h, d].

    `strided`: reads a tensor that is not contiguous. With one token the view is contiguous; a half of it never is.
    """
    half = view(x, *x.shape[:-1], x.shape[-1] // 2)
    y = b.emit("mul", f"{name}.mul_cos", x, cos, strided=not at.decode)
    turned = b.emit("neg", f"{name}.neg", half, strided=True)
    turned = b.emit("cat", f"{name}.cat", turned, half, shape=x.shape, strided=True)
    turned = b.emit("mul", f"{name}.mul_sin", turned, sin)
    return b.emit("add", f"{name}.add", y, turned, strided=not at.decode)
