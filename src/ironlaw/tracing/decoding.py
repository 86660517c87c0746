"""A language model of transformers in its two phases: the arguments of a prompt, and of one step after a cache of many tokens."""

from __future__ import annotations

import inspect
from typing import Any

from ironlaw.errors import BadValue
from ironlaw.tracing.target import Target, changed, described, empty, tensors_in

PREFILL, DECODE = "prefill", "decode"
WRITES = "past_key_values"
NEEDS_DECODER = "name a decoder such as hf:LlamaConfig, or leave --prefill and --decode out"


def in_phase(target: Target, phase: str, tokens: int) -> Target:
    """The call of a prompt of so many tokens with the logits of its last, or of one token after so many in the cache."""
    import torch

    names = arguments(target)
    limit = getattr(target.call.config, "max_position_embeddings", None) if has_learned_positions(target.call) else None
    if limit is not None and tokens + (phase == DECODE) > limit:
        raise BadValue(f"{target.name} takes at most {limit:,} tokens; give fewer, or --set max_position_embeddings={tokens + 1}")
    last = {"logits_to_keep": 1} if "logits_to_keep" in names else {}
    if phase == PREFILL:
        target.args, target.kwargs = (empty((1, tokens), torch.long),), {"use_cache": False, **last}
    else:
        target.args = (empty((1, 1), torch.long),)
        target.kwargs = {WRITES: cache_of(target.call, tokens), "use_cache": True, **last}
    return target


def arguments(target: Target) -> Any:
    """The arguments that its forward pass takes; refused where it has no cache."""
    names = inspect.signature(target.call.forward).parameters
    if not {"input_ids", WRITES, "use_cache"} <= set(names) or getattr(target.call.config, "is_encoder_decoder", False):
        raise BadValue(f"{type(target.call).__name__} does not decode token by token from a cache of keys and values: {NEEDS_DECODER}")
    return names


def has_learned_positions(model: Any) -> bool:
    """Whether a table of positions ends somewhere, as GPT-2's does."""
    return any(name.split(".")[-1] in ("wpe", "embed_positions", "position_embeddings") for name, _ in model.named_modules())


def cache_of(model: Any, tokens: int) -> Any:
    """What the model itself keeps of so many tokens, as shapes: one token is run without values, and its keys and values are lengthened."""
    import torch
    import transformers

    cache = transformers.DynamicCache(config=model.config)
    try:
        with torch.no_grad():
            kept = getattr(model(empty((1, 1), torch.long), **{WRITES: cache, "use_cache": True}), WRITES, None)
    except Exception as error:
        raise BadValue(
            f"{type(model).__name__} can't run with a cache: {described(error)}; give the step yourself as FILE.py:NAME"
        ) from error
    if not tensors_in(kept):
        raise BadValue(f"{type(model).__name__} caches no keys and values: {NEEDS_DECODER}")
    return lengthened(kept, tokens)


def lengthened(cache: Any, tokens: int) -> Any:
    """Every key and value [batch, heads, 1, width] `tokens` long, or as long as the window that its layer keeps."""

    def change(window: int | None) -> Any:
        length = tokens if window is None else max(1, min(tokens, window - 1))  # the new token fills the window

        def longer(leaf: Any) -> Any:
            return empty((*leaf.shape[:2], length, leaf.shape[3]), leaf.dtype) if leaf.dim() == 4 and leaf.shape[2] == 1 else leaf

        return longer

    layers = []
    for layer in cache.layers:
        window = getattr(layer, "sliding_window", None)
        longer = changed(layer, change(window))
        if window is not None and hasattr(longer, "cumulative_length"):
            longer.cumulative_length = tokens
        layers.append(longer)
    cache.layers = layers
    return cache


def kept_bytes(target: Target) -> int:
    """Bytes of keys and values of one sequence after the phase: those of the cache, or those that a prompt leaves."""
    held = target.kwargs.get(WRITES)
    if held is None:
        held = cache_of(target.call, target.args[0].shape[1])
    return sum(leaf[0].numel() * leaf.element_size() for leaf in tensors_in(held) if leaf.dim() == 4)
