"""What transformers share: multi-head attention, the two-layer feed-forward, positions, phases and the KV cache.

The bookkeeping ops on positions are tiny, but each is a launch: they are what transformers' models run before a forward
pass without a cache, down to the copy of one boolean to the host, which waits for the device (attr `sync`).
"""

from __future__ import annotations

from dataclasses import dataclass

from ironlaw.engine.arrays import Number
from ironlaw.engine.device.types import Tensor, check_positive
from ironlaw.registry.families.family_build import PHASES, Builder, choose, split_heads


@dataclass(frozen=True)
class Span:
    """`new` tokens go in; attention is over `keys` tokens, `past` of them cached."""

    new: Number
    keys: Number
    past: Number
    decode: bool


def span(family: str, phase: str, seq: Number, context: Number) -> Span:
    """prefill: `seq` tokens and no cache. decode: one token after `context` cached ones."""
    if choose(family, "phase", phase, PHASES) == "decode":
        return Span(1, check_positive(f"{family}: context", context) + 1, context, True)
    return Span(check_positive(f"{family}: seq", seq), seq, 0, False)


def self_attention(b: Builder, name: str, x: Tensor, heads: int) -> Tensor:
    """Bidirectional, with biases: an encoder's."""
    width = x.shape[-1]
    q, k, v = (split_heads(b.linear(f"{name}.{part}", x, width), heads) for part in ("q", "k", "v"))
    return b.linear(f"{name}.out", b.attention(f"{name}.sdpa", q, k, v, causal=False, mask="bidirectional"), width)


def feed_forward(b: Builder, name: str, x: Tensor, inner: int) -> Tensor:
    y = b.emit("gelu", f"{name}.gelu", b.linear(f"{name}.up", x, inner))
    return b.linear(f"{name}.down", y, x.shape[-1])


def positions(b: Builder, count: Number) -> Tensor:
    """arange(count) + tokens already in the cache, as [1, count]."""
    ids = b.emit("fill", "positions.arange", shape=(1, count), dtype="int64")
    return b.emit("shift", "positions.add_past", ids)


def check_packing(b: Builder, ids: Tensor, batch: Number) -> None:
    """Are several sequences packed into one row? transformers asks at every forward pass without a cache."""
    count = ids.shape[1]
    first = b.emit("shift", "mask.before_first", ids, shape=(batch, 1), strided=True)
    joined = b.emit("cat", "mask.prepend", first, ids, shape=(batch, count + 1))
    step = b.emit("sub", "mask.diff", joined, shape=(batch, count), strided=True)
    breaks = b.emit("cumsum", "mask.cumsum", b.emit("compare", "mask.not_one", step, dtype="bool"), dtype="int64", over="row")
    last = b.emit("compare", "mask.unbroken", breaks, shape=(batch,), dtype="bool", strided=True)
    every = b.emit("amax", "mask.all", last, shape=(1,), over="all")
    b.emit("copy", "mask.to_host", every, sync=True)


def extend_cache(b: Builder, name: str, k: Tensor, v: Tensor, at: Span) -> tuple[Tensor, Tensor]:
    """Decoding: the new key and value after the cached ones, as a new tensor each. Prefill: nothing is kept."""
    if not at.decode:
        return k, v
    batch, heads, _, width = k.shape
    joined = []
    for part, new in (("k", k), ("v", v)):
        old = b.cache(f"{name}.cache_{part}", batch, heads, at.past, width)
        joined.append(b.emit("cat", f"{name}.append_{part}", old, new, shape=(batch, heads, at.keys, width)))
    return joined[0], joined[1]
