"""From a config.json to a decoder's blocks, for every model_type in `traits`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from ironlaw.engine.decoders import blocks
from ironlaw.engine.decoders.parts import Block, Norm, Part, Product, State, Vector
from ironlaw.errors import BadValue
from ironlaw.registry.decoder_types.config_layers import LISTS, is_sparse, layer_count, mixer_kind, window_of
from ironlaw.registry.decoder_types.config_values import NAMES, Values
from ironlaw.registry.decoder_types.traits import ALIASES, TRAITS, Traits

WHOLE = "vocab", "hidden", "layers"  # sizes that no config.json leaves out, but for those inside another
STATES = ("mamba", "linear_attention", "conv", "recurrent")


def language_part(config: Mapping[str, Any]) -> Mapping[str, Any]:
    """The decoder's own configuration in a model that also sees or hears, with what only the outer one says."""
    inner = config.get("text_config") or config.get("llm_config") or config.get("language_config")
    if not isinstance(inner, Mapping):
        return config
    outer = {key: config[key] for key in ("tie_word_embeddings", "quantization_config") if key in config}
    kind = inner.get("model_type") or ALIASES.get(str(config.get("model_type")), "llama")
    return {**outer, **inner, "model_type": kind}


def known(kind: str | None) -> bool:
    return ALIASES.get(str(kind), kind) in TRAITS


def read(config: Mapping[str, Any], file: str) -> tuple[Values, tuple[Block, ...], Block, Block]:
    """The config's values, its blocks, what is before them (beside the embedding) and what is after (beside the head's matrix)."""
    inner = language_part(config)
    missing = [] if inner is not config else [names[0] for names in map(NAMES.get, WHOLE) if names and not any(n in config for n in names)]
    if missing and not (missing == ["num_hidden_layers"] and any(config.get(name) for name in LISTS)):
        raise BadValue(f"{file} has no {', '.join(missing)}; give the whole config.json")
    config = inner
    kind = ALIASES.get(str(config.get("model_type")), str(config.get("model_type")))
    if kind not in TRAITS:
        raise BadValue(f"{file} is of model_type {kind!r}, which can't be read without transformers")
    values, traits = Values(kind, config, file), TRAITS[kind]
    each = tuple(_block(values, traits, i) for i in range(layer_count(values)))
    return values, each, _before(values, traits), _after(values, traits)


def _before(c: Values, t: Traits) -> Block:
    parts: list[Part] = []
    if t.positions >= 0:
        parts.append(Vector((c["positions"] + t.positions) * c["hidden"]))
    width = c.size("word_embed_proj_dim", 0)
    if width and width != c["hidden"]:
        parts += [Product("project_in", width, c["hidden"], split=""), Product("project_out", c["hidden"], width, split="")]
    if t.opening:
        parts.append(Norm(c["hidden"], t.opening))
    return tuple(parts)


def _after(c: Values, t: Traits) -> Block:
    vectors = t.norm if t.final < 0 else t.final
    if c.kind == "opt" and not (c.get("do_layer_norm_before") and not c.get("_remove_final_layer_norm")):
        vectors = 0
    parts: list[Part] = [Norm(c["hidden"], vectors)] if vectors else []
    if c.kind == "modernbert-decoder":
        parts += [Product("dense", c["hidden"], c["hidden"], c.flag("classifier_bias"), ""), Norm(c["hidden"]), Vector(c["vocab"])]
    if c.flag(t.head_bias):
        parts.append(Vector(c["vocab"]))
    return tuple(parts)


def _block(c: Values, t: Traits, i: int) -> Block:
    kind = mixer_kind(c, i)
    parts: list[Part] = []
    if kind in ("moe", "mlp"):  # nemotron_h: a block is one half
        return (Norm(c["hidden"], t.norm), *_feed(c, t, i, kind == "moe"))
    parts += _norms(c, t, i)
    if kind in STATES:
        parts += _state(c, kind)
    elif kind == "both":
        parts += (*_state(c, "mamba"), *_attention(c, t, i))
    elif c.get("kv_lora_rank") and c.kind != "llama":
        parts += _latent(c)
    else:
        parts += _attention(c, t, i)
    if c.kind not in ("mamba", "mamba2", "falcon_mamba", "nemotron_h"):
        parts += _feed(c, t, i, is_sparse(c, i))
    return (*parts, *EXTRAS.get(t.extra, _nothing)(c, i))


def _norms(c: Values, t: Traits, i: int) -> list[Part]:
    count = 1 if c.kind in ("mamba", "mamba2", "falcon_mamba", "nemotron_h") else t.norms
    if c.kind == "modernbert-decoder" and i == 0:
        count = 1  # the embedding's norm is the first block's
    if c.kind == "stablelm" and c.get("use_parallel_residual"):
        count = 1
    if (
        c.kind == "falcon"
        and c.get("parallel_attn")
        and not (c.get("new_decoder_architecture") and c.get("num_ln_in_parallel_attn", default=2) == 2)
    ):
        count = 1
    return [Norm(c["hidden"], t.norm)] * count if t.norm else []


def _attention(c: Values, t: Traits, i: int) -> Block:
    heads, kv_heads, width = c["heads"], c.kv_heads, c.head_dim
    if c.kind == "falcon":
        kv_heads = kv_heads if c.get("new_decoder_architecture") else 1 if c.get("multi_query") else heads
    elif c.kind == "gpt_bigcode":
        kv_heads = 1 if c.get("multi_query") else heads
    elif c.kind == "mpt":
        kv_heads = int((c.get("attn_config") or {}).get("kv_n_heads") or heads)
    norm, vectors = (t.qk_norm if c.flag(t.qk_if) else ""), t.qk_vectors
    if c.kind in ("cohere", "cohere2") and c.get("use_qk_norm"):
        return (
            *blocks.attention(
                c["hidden"], heads, kv_heads, width, bias=c.flag(t.bias), out_bias=c.flag(t.out_bias), window=window_of(c, i)
            ),
            Vector((heads + kv_heads) * width),
        )
    if c.kind == "stablelm" and c.get("qk_layernorm"):
        return (*blocks.attention(c["hidden"], heads, kv_heads, width, bias=c.flag(t.bias)), Vector((heads + kv_heads) * width))
    gate = {"width": heads * width, "head": heads}.get(t.gate, 0)
    if c.kind == "llama4_text":
        norm = ""
    if norm == "head" and c.kind in ("lfm2", "lfm2_moe"):
        width = c["hidden"] // heads
    return blocks.attention(
        c["hidden"], heads, kv_heads, width, window=window_of(c, i), bias=c.flag(t.bias), out_bias=c.flag(t.out_bias), qk_norm=norm,
        norm_vectors=vectors, gate=gate, sinks=c.flag(t.sinks), rotary=t.rotary and not (c.kind == "falcon" and c.get("alibi")),
    )  # fmt: skip


def _latent(c: Values) -> Block:
    q_rank = 0 if c.config.get("q_lora_rank", 0) is None else c.size("q_lora_rank", 0)  # null: queries are not compressed
    return blocks.latent(
        c["hidden"], c["heads"], q_rank=q_rank, kv_rank=c["kv_lora_rank"], nope=c["qk_nope_head_dim"], rope=c["qk_rope_head_dim"],
        value=c.size("v_head_dim", c["hidden"] // c["heads"]), bias=bool(c.get("attention_bias")),
    )  # fmt: skip


def _feed(c: Values, t: Traits, i: int, sparse: bool) -> Block:
    gated, bias = c.flag(t.gated), c.flag(t.mlp_bias)
    if not sparse:
        return blocks.feed_forward(c["hidden"], _dense_width(c, t), gated=gated, bias=bias)
    each = c.size("expert_ffn", 0) or c["ffn"]
    shared = c.size("shared_experts", 0) * each or c.size("shared_ffn", 0)
    if c.kind == "llama4_text":
        shared = each
    if c.kind == "hunyuan_v1_moe":  # its experts, and the one that all tokens pass, are as wide as a dense layer
        each = shared = c["ffn"]
    if c.kind == "nemotron_h":
        shared = c.size("shared_experts", 0) * c.size("shared_ffn", 0)
    count = c["experts"]
    router = c["hidden"] * count + count * (t.router_vector + t.router_bias) if t.router_vector or t.router_bias else 0
    return blocks.experts(
        c["hidden"], count, _active(c), each, shared=shared, gated=gated, biases=t.expert_biases, router=router, shared_gate=t.shared_gate,
        shared_gated=gated,
    )  # fmt: skip


def _active(c: Values) -> int:
    value = c.get("num_experts_per_tok", "moe_k", "moe_topk", "num_experts_per_token", default=1)
    return int(value[0] if isinstance(value, list) else value)


def _dense_width(c: Values, t: Traits) -> int:
    if c.kind == "llama4_text":
        return c["intermediate_size_mlp"]
    if c.kind == "mpt":
        return int(c.get("expansion_ratio", default=4)) * c["hidden"]
    if c.kind == "granitemoehybrid":
        return c["shared_intermediate_size"]
    if c.kind in ("lfm2",) and c.get("block_auto_adjust_ff_dim"):
        size = int(2 * c["ffn"] / 3 * float(c.get("block_ffn_dim_multiplier", default=1.0)))
        step = c.size("block_multiple_of", 256)
        return step * -(-size // step)
    return c.size("ffn", 4 * c["hidden"]) if t.four else c["ffn"]


def _state(c: Values, kind: str) -> Block:
    h = c["hidden"]
    if kind == "conv":
        taps = c.size("conv_L_cache", 3)
        bias = bool(c.get("conv_bias"))
        return (Product("in_proj", h, 3 * h, bias), *_short_conv(h, taps, bias), Product("out_proj", h, h, bias, "in"))
    if kind == "linear_attention":
        return blocks.delta(
            h, c["linear_num_key_heads"], c["linear_num_value_heads"], c["linear_key_head_dim"], c["linear_value_head_dim"],
            c["linear_conv_kernel_dim"],
        )  # fmt: skip
    if c.kind in ("mamba", "falcon_mamba", "jamba"):
        inner = (
            c.size("intermediate_size", 0)
            if c.kind != "jamba" and c.config.get("intermediate_size")
            else int(c.get("expand", "mamba_expand", default=2)) * h
        )
        rank = c.get("time_step_rank", "mamba_dt_rank", default="auto")
        return blocks.mamba1(
            h, inner, c.get("state_size", "mamba_d_state"), c.get("conv_kernel", "mamba_d_conv"),
            -(-h // 16) if rank == "auto" else int(rank), conv_bias=bool(c.get("use_conv_bias", "mamba_conv_bias")),
            bias=bool(c.get("use_bias", "mamba_proj_bias")), norms=c.kind == "jamba",
        )  # fmt: skip
    heads, width = c.get("mamba_n_heads", "mamba_num_heads", "num_heads"), c.get("mamba_d_head", "mamba_head_dim", "head_dim")
    inner = c.size("mamba_d_ssm", 0) if c.kind == "falcon_h1" else int(c.get("mamba_expand", "expand", default=2)) * h
    inner = int(heads) * int(width) if c.kind == "nemotron_h" or not inner else inner
    return blocks.mamba2(
        h, inner, int(heads), c.get("mamba_d_state", "ssm_state_size", "state_size"), c.get("mamba_n_groups", "n_groups"),
        c.get("mamba_d_conv", "conv_kernel"), conv_bias=bool(c.get("mamba_conv_bias", "use_conv_bias")),
        bias=bool(c.get("mamba_proj_bias", "use_bias")), norm=c.kind != "falcon_h1" or bool(c.get("mamba_rms_norm")),
    )  # fmt: skip


def _short_conv(width: int, taps: int, bias: bool) -> Block:
    return (State(width * (taps - 1), width, 2 * width * taps, width * taps + (width if bias else 0)),)


def _nothing(c: Values, i: int) -> Block:
    return ()


EXTRAS: dict[str, Callable[[Values, int], Block]] = {
    "apertus": lambda c, i: (Vector(2),),
    "bitnet": lambda c, i: (Norm(c["hidden"]), Norm(c["ffn"])),
    "diffllama": lambda c, i: (Vector(4 * c.head_dim),),
    "hyperclovax": lambda c, i: (Norm(c["hidden"]), Norm(c["hidden"])) if c.get("use_post_norm") else (),
}
