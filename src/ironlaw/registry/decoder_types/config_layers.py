"""Which kind of block a layer is: what mixes its tokens, how far it sees, and whether its feed-forward is one of experts."""

from __future__ import annotations

from typing import Any

from ironlaw.registry.decoder_types.config_values import Values

SCANNED = ("granitemoehybrid", "nemotron_h", "bamba", "jamba")  # whose "linear attention" is a state space

LISTS = ("layers_block_type", "hybrid_override_pattern", "layer_types")  # that name each layer's kind


def layer_count(c: Values) -> int:
    """A list of layers says how many there are where no number does."""
    for name in LISTS:
        if c.get("num_hidden_layers", "n_layer", "n_layers", "num_layers", "decoder_layers") is None and c.config.get(name):
            return len(c.config[name])
    return c["layers"]


def mixer_kind(c: Values, i: int) -> str:
    """ "attention", a state's name, "both" side by side, or "mlp" and "moe" where a block is a feed-forward alone."""
    if c.kind in ("mamba", "mamba2", "falcon_mamba"):
        return "mamba"
    if c.kind == "falcon_h1":
        return "both"
    if c.kind == "jamba":
        return "attention" if i % c["attn_layer_period"] == c.size("attn_layer_offset", 0) else "mamba"
    if c.kind == "bamba":
        return "attention" if i in (c.get("attn_layer_indices") or ()) else "mamba"
    if c.kind == "nemotron_h" and isinstance(c.config.get("hybrid_override_pattern"), str):
        return {"M": "mamba", "*": "attention", "-": "mlp", "E": "moe"}[c.config["hybrid_override_pattern"][i]]
    if c.kind == "lfm2" and c.config.get("full_attn_idxs") is not None:
        return "attention" if i in c.config["full_attn_idxs"] else "conv"
    kind = _listed(c, i, "layer_types", "layers_block_type")
    if c.config.get("full_attention_interval") and not c.config.get("layer_types"):
        kind = "full_attention" if (i + 1) % c["full_attention_interval"] == 0 else "linear_attention"
    if kind == "linear_attention" and c.kind in SCANNED:
        return "mamba"
    return {"mamba2": "mamba", "mamba": "mamba", "linear_attention": "linear_attention", "conv": "conv", "moe": "moe", "mlp": "mlp"}.get(
        str(kind), "attention"
    )


def window_of(c: Values, i: int) -> int:
    """Tokens that a layer sees at most; 0: all."""
    window = c.get("sliding_window", "window_size", "attention_window_size", default=0)
    if not isinstance(window, int) or window < 1 or c.config.get("use_sliding_window", c.usual.get("use_sliding_window")) is False:
        return _chunked(c, i)
    kind = _listed(c, i, "layer_types") if "layer_types" in c.config else None
    if kind is None and isinstance(c.get("sliding_window_pattern"), int):
        kind = "sliding_attention" if (i + 1) % c["sliding_window_pattern"] else "full_attention"
    if kind is None and c.kind == "qwen2" and c.config.get("max_window_layers") is not None:
        kind = "sliding_attention" if i >= c.config["max_window_layers"] else "full_attention"
    if kind is None and c.kind == "gpt_neo":
        return window if i % 2 else 0
    kind = kind or _listed(c, i, "layer_types")
    if kind is None:
        return window if c.kind in ("mistral", "mixtral", "phi3", "starcoder2", "phimoe") else 0
    return window if "sliding" in kind else 0


def _chunked(c: Values, i: int) -> int:
    """Llama 4: three layers of four see their own chunk of tokens."""
    if c.kind != "llama4_text":
        return 0
    rotary = c.config.get("no_rope_layers")
    local = bool(rotary[i]) if rotary else bool((i + 1) % c.size("no_rope_layer_interval", 4))
    return c.size("attention_chunk_size", 0) if local else 0


def is_sparse(c: Values, i: int) -> bool:
    """Whether a layer's feed-forward is one of experts."""
    if not c.size("experts", 0):
        return False
    if (kind := _listed(c, i, "mlp_layer_types")) is not None:
        return kind in ("sparse", "moe")
    if c.kind == "llama4_text":
        listed = c.config.get("moe_layers")
        return i in listed if listed is not None else (i + 1) % c.size("interleave_moe_layer_step", 1) == 0
    if c.kind == "jamba":
        return i % c["expert_layer_period"] == c.size("expert_layer_offset", 0)
    if c.kind == "ernie4_5_moe":
        last = c.get("moe_layer_end_index", default=-1)
        last = c["layers"] - 1 if last == -1 else last
        return (i + 1) % c.size("moe_layer_interval", 1) == 0 and c.size("moe_layer_start_index", 0) <= i <= last
    if i < c.size("first_k_dense_replace", 0) or i < c.size("num_dense_layers", 0) or i in (c.get("mlp_only_layers") or ()):
        return False
    step = c.size("decoder_sparse_step", 0)
    return (i + 1) % step == 0 if step else True


def _listed(c: Values, i: int, *names: str) -> Any:
    """What a list of the config says of layer i; a default list is what repeats itself."""
    for name in names:
        if isinstance(listed := c.config.get(name), list) and i < len(listed):
            return listed[i]
    for name in names:
        if isinstance(listed := c.usual.get(name), list):
            return listed[i % len(listed)]
    return None
