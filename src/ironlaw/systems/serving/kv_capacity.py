"""What a decoder keeps of each token, how many requests that leaves room for, and how much of the room is used."""

from __future__ import annotations

from ironlaw.engine.serving.llm.cache import CacheShape, contiguous, grouped, paged, slots
from ironlaw.engine.serving.llm.policy import refill_gain
from ironlaw.registry.decoders import decoder, weight_bytes
from ironlaw.registry.machines import registered
from ironlaw.registry.traces import trace
from ironlaw.systems.serving.deployments import arithmetic
from ironlaw.systems.serving.served_cases import CHAT

MANY = 4096  # requests that stand for a trace


def cache_shape(model: str, dtype: str = "bf16", heads: int = 0) -> CacheShape:
    """`heads`: key-value heads, where another number than the model's own is asked about."""
    one = decoder(model)
    return grouped(one.layers, one.heads, heads or one.kv_heads, one.head_dim, dtype)


def token_bytes(model: str, dtype: str = "bf16", heads: int = 0) -> float:
    """The bytes of one token's keys and values, on all devices together."""
    return cache_shape(model, dtype, heads).token_bytes


def kv_room(model: str, machine: str, devices: int, *, weights: str = "", memory: float = 1.0) -> float:
    """Bytes that all devices together have left for keys and values; below 0: the weights do not fit."""
    at = registered(machine)
    return devices * memory * float(at.capacity) - weight_bytes(decoder(model), arithmetic(at), weights)


def kv_slots(
    model: str, machine: str, devices: int, tokens: int, *, weights: str = "", cache: str = "", memory: float = 1.0, heads: int = 0
) -> int:
    """Requests of so many tokens at once."""
    shape = cache_shape(model, cache or arithmetic(registered(machine)), heads)
    return slots(max(0.0, kv_room(model, machine, devices, weights=weights, memory=memory)), shape, tokens)


def kv_used(longest: int, block: int = 0, name: str = CHAT) -> float:
    """Share of the cache that holds tokens, of a trace's requests up to `longest`; `block` 0: each has room for the longest."""
    lengths = tuple(min(longest, prompt + output) for prompt, output in trace(name).lengths(MANY))
    return (paged(lengths, block) if block else contiguous(lengths, longest)).share_used


def batch_gain(batch: int, name: str = CHAT) -> float:
    """Steps of a backlog in batches that end with their longest answer, over those with places that are refilled at once."""
    return refill_gain(trace(name).output, batch)


def step_bytes(model: str, machine: str, batch: float, context: float, *, weights: str = "", cache: str = "") -> tuple[float, float]:
    """Bytes that a decode step reads at least: weights (but for the embedding, of which it looks up a row each), and cache."""
    one, dtype = decoder(model), arithmetic(registered(machine))
    embedding = 0.0 if one.tied else one.vocab * one.hidden * (weight_bytes(one, dtype, weights) / one.parameters)
    return weight_bytes(one, dtype, weights) - embedding, batch * context * token_bytes(model, cache or dtype)


def step_floor(model: str, machine: str, devices: int, batch: float, context: float, *, weights: str = "", cache: str = "") -> float:
    """Seconds that no decode step stays under: bytes at the memory's rate or arithmetic at the peak, whichever takes longer."""
    at = registered(machine)
    flops = 2.0 * decoder(model).matrices * batch
    moved = sum(step_bytes(model, machine, batch, context, weights=weights, cache=cache))
    return max(moved / float(at.bandwidth), flops / float(at.peak(arithmetic(at)))) / devices
