"""What the code of each architecture fixes and its config.json does not say. A string is the field of the config that decides."""

from __future__ import annotations

from dataclasses import dataclass, replace


@dataclass(frozen=True, slots=True)
class Traits:
    norm: int = 1  # vectors of a norm: gains (1), gains and biases (2), none (0)
    norms: int = 2  # of hidden width, in a block
    final: int = -1  # vectors of the norm at the end; -1: like the others
    opening: int = 0  # vectors of a norm behind the embedding
    bias: bool | str = False  # of queries, keys and values
    out_bias: bool | str = False
    mlp_bias: bool | str = False
    gated: bool | str = True
    qk_norm: str = ""  # "head": each head by itself; "full": all of them as one row
    qk_if: bool | str = True
    qk_vectors: int = 1
    sinks: bool | str = False  # a learned score per head
    gate: str = ""  # a gate on attention's output: "width" (as wide as that) or "head" (a number per head)
    positions: int = -1  # learned positions: so many more than the config says; -1: none
    rotary: bool = True  # queries and keys are turned by their position; False: positions are learned, biases of scores (ALiBi), or none
    head_bias: bool | str = False
    four: bool = False  # a feed-forward of four times the hidden width, where none is given
    shared_gate: bool = False  # the shared expert's share is computed
    expert_biases: bool = False
    router_vector: bool = False  # a parameter per expert beside the router's matrix
    router_bias: bool = False
    ties: bool = True  # whether the head may be the embedding
    extra: str = ""  # the name of what else a block holds (`config_blocks.EXTRAS`)


LLAMA = Traits()
BIASED = Traits(bias="attention_bias", out_bias="attention_bias", mlp_bias="mlp_bias")
BERTLIKE = Traits(norm=2, bias=True, out_bias=True, mlp_bias=True, gated=False)
QK = replace(BIASED, mlp_bias=False, qk_norm="head")
MOE = replace(BIASED, mlp_bias=False)

TRAITS: dict[str, Traits] = {
    "llama": BIASED,
    "mistral": LLAMA,
    "ministral": LLAMA,
    "ministral3": LLAMA,
    "mixtral": LLAMA,
    "cwm": BIASED,
    "emu3": BIASED,
    "granite": BIASED,
    "helium": replace(BIASED, out_bias=False),
    "smollm3": BIASED,
    "ernie4_5": replace(LLAMA, bias="use_bias", out_bias="use_bias", mlp_bias="use_bias"),
    "gemma": replace(BIASED, mlp_bias=False),
    "qwen2": replace(LLAMA, bias=True),
    "qwen3": QK,
    "seed_oss": replace(LLAMA, bias="attention_bias", out_bias="attention_out_bias", mlp_bias="mlp_bias"),
    "granite_swa": replace(BIASED, sinks=True),
    "exaone4": replace(LLAMA, qk_norm="head"),
    "olmo2": replace(BIASED, mlp_bias=False, qk_norm="full"),
    "olmo3": replace(BIASED, mlp_bias=False, qk_norm="full"),
    "gemma2": replace(MOE, norms=4),
    "gemma3_text": replace(QK, norms=4),
    "vaultgemma": MOE,
    "phi3": LLAMA,
    "glm": replace(LLAMA, bias="attention_bias"),
    "glm4": replace(LLAMA, bias="attention_bias", norms=4),
    "cohere": replace(MOE, norms=1),
    "cohere2": replace(MOE, norms=1),
    "arcee": replace(BIASED, gated=False),
    "nemotron": replace(BIASED, gated=False, norm=2),
    "jais2": replace(BIASED, gated=False, norm=2),
    "apertus": replace(QK, gated=False, extra="apertus"),
    "hyperclovax": replace(BIASED, norms=2, extra="hyperclovax"),
    "bitnet": replace(MOE, extra="bitnet"),
    "diffllama": replace(MOE, extra="diffllama"),
    "olmo": replace(MOE, norm=0),
    "nanochat": replace(MOE, norm=0, gated=False),
    "stablelm": replace(LLAMA, norm=2, bias="use_qkv_bias"),
    "starcoder2": replace(BERTLIKE, bias="use_bias", out_bias="use_bias", mlp_bias="use_bias"),
    "hunyuan_v1_dense": replace(QK),
    "modernbert-decoder": replace(LLAMA, bias="attention_bias", out_bias="attention_bias", mlp_bias="mlp_bias", opening=1),
    "phi": replace(BERTLIKE, norms=1, head_bias=True),
    "persimmon": replace(BERTLIKE, qk_norm="head", qk_if="qk_layernorm", qk_vectors=2),
    # GPT-2 and what came before Llama
    "gpt2": replace(BERTLIKE, positions=0, four=True, rotary=False),
    "gpt-sw3": replace(BERTLIKE, positions=0, four=True, rotary=False),
    "gpt_bigcode": replace(BERTLIKE, positions=0, four=True, rotary=False),
    "openai-gpt": replace(BERTLIKE, positions=0, four=True, final=0, rotary=False),
    "gpt_neo": replace(BERTLIKE, bias=False, positions=0, four=True, rotary=False),
    "gptj": replace(BERTLIKE, bias=False, out_bias=False, norms=1, four=True, head_bias=True),
    "codegen": replace(BERTLIKE, bias=False, out_bias=False, norms=1, four=True, head_bias=True),
    "gpt_neox": replace(BERTLIKE, bias="attention_bias", out_bias="attention_bias"),
    "bloom": replace(BERTLIKE, opening=2, four=True, rotary=False),
    "falcon": replace(BERTLIKE, bias="bias", out_bias="bias", mlp_bias="bias", four=True, extra="falcon"),
    "mpt": replace(LLAMA, gated=False, four=True, rotary=False),
    "opt": replace(BERTLIKE, bias="enable_bias", out_bias="enable_bias", mlp_bias="enable_bias", positions=2, rotary=False),
    "biogpt": replace(BERTLIKE, positions=2, rotary=False),
    "xglm": replace(BERTLIKE, rotary=False),
    "ctrl": replace(BERTLIKE, head_bias=True, rotary=False),
    # experts
    "qwen2_moe": replace(LLAMA, bias="qkv_bias", shared_gate=True),
    "qwen3_moe": QK,
    "mellum": QK,
    "olmoe": replace(MOE, qk_norm="full"),
    "flex_olmo": replace(MOE, qk_norm="full"),
    "minimax_m2": replace(LLAMA, qk_norm="full"),
    "phimoe": replace(BIASED, norm=2, head_bias="lm_head_bias"),
    "granitemoe": MOE,
    "granitemoeshared": MOE,
    "granitemoe_swa": replace(MOE, sinks=True),
    "cohere2_moe": replace(MOE, norms=1),
    "gpt_oss": replace(MOE, sinks=True, expert_biases=True, router_bias=True),
    "llama4_text": BIASED,
    "llama4": BIASED,
    "aria_text": BIASED,
    "glm4_moe": replace(LLAMA, bias="attention_bias", qk_norm="head", qk_if="use_qk_norm"),
    "dots1": QK,
    "solar_open": MOE,
    "hy_v3": QK,
    "exaone_moe": replace(LLAMA, qk_norm="head"),
    "ernie4_5_moe": replace(LLAMA, bias="use_bias", out_bias="use_bias", mlp_bias="use_bias", router_vector=True),
    "hunyuan_v1_moe": QK,
    "afmoe": replace(QK, norms=4, gate="width", router_vector=True),
    # latent attention
    "deepseek_v2": MOE,
    "deepseek_v3": MOE,
    "kimi_k2": MOE,
    "glm4_moe_lite": MOE,
    "minicpm3": BIASED,
    "youtu": BIASED,
    # states and hybrids
    "mamba": LLAMA,
    "falcon_mamba": LLAMA,
    "mamba2": LLAMA,
    "jamba": replace(LLAMA, rotary=False),
    "bamba": BIASED,
    "granitemoehybrid": MOE,
    "nemotron_h": replace(BIASED, gated=False, norms=1, ties=False, rotary=False),
    "falcon_h1": BIASED,
    "qwen3_next": replace(QK, gate="width", shared_gate=True),
    "qwen3_5_text": replace(QK, gate="width"),
    "qwen3_5": replace(QK, gate="width"),
    "qwen3_5_moe_text": replace(QK, gate="width", shared_gate=True),
    "qwen3_5_moe": replace(QK, gate="width", shared_gate=True),
    "lfm2": replace(LLAMA, qk_norm="head"),
    "lfm2_moe": replace(LLAMA, qk_norm="head"),
}

# Types whose language part is another's, field by field.
ALIASES = {
    "emu3_text_model": "emu3",
    "kimi_k2": "deepseek_v3",
    "kimi_k25": "deepseek_v3",
    "qwen2_vl": "qwen2",
    "qwen2_vl_text": "qwen2",
    "qwen2_5_vl": "qwen2",
    "qwen2_5_vl_text": "qwen2",
    "qwen3_vl_text": "qwen3",
    "qwen3_vl_moe_text": "qwen3_moe",
    "llama4": "llama4_text",
    "qwen3_5": "qwen3_5_text",
    "qwen3_5_moe": "qwen3_5_moe_text",
    "glm4v_text": "glm4",
    "glm4v_moe_text": "glm4_moe",
    "smolvlm": "llama",
    "mistral3": "mistral",
    "gemma3": "gemma3_text",
    "phi4": "phi3",
}
