"""Causal language models of transformers on the meta device, and the config.json that each of them writes."""

from __future__ import annotations

import json
from typing import Any

from ironlaw.registry.decoder_types.config_blocks import known

SHALLOW = {"num_hidden_layers": 5}
TIED = {"num_hidden_layers": 2, "tie_word_embeddings": True}
# fields without which this transformers can't build a type's defaults
GIVEN: dict[str, dict[str, Any]] = {
    "hunyuan_v1_dense": {"head_dim": 128},
    "hunyuan_v1_moe": {"head_dim": 128, "num_experts": 8, "moe_topk": 2},
    "ministral": {"head_dim": 128},
    "nemotron": {"num_key_value_heads": 8, "head_dim": 128},
    "dots1": {
        "n_routed_experts": 8,
        "n_shared_experts": 2,
        "num_experts_per_tok": 2,
        "num_key_value_heads": 8,
        "n_group": 1,
        "topk_group": 1,
    },
}
LAYERS = 32  # of lfm2_moe, which must say what each of them is


def readable() -> list[str]:
    """Types with a causal head whose config.json is read without PyTorch."""
    from transformers.models.auto.modeling_auto import MODEL_FOR_CAUSAL_LM_MAPPING_NAMES as CLASSES

    return sorted(kind for kind in CLASSES if known(kind))


def built(kind: str, **changes: Any) -> tuple[Any, str]:
    """The model on the meta device, and its config.json."""
    import torch
    import transformers
    from transformers.models.auto.modeling_auto import MODEL_FOR_CAUSAL_LM_MAPPING_NAMES as CLASSES

    transformers.logging.set_verbosity_error()
    given = GIVEN.get(kind, {}) | ({} if kind == "gpt_neo" else changes)
    if kind == "lfm2_moe":
        kinds = ("conv", "conv", "full_attention")
        given["layer_types"] = [kinds[i % len(kinds)] for i in range(given.get("num_hidden_layers", LAYERS))]
    config = transformers.AutoConfig.for_model(kind)
    if config.get_text_config() is config:
        config = transformers.AutoConfig.for_model(kind, **given)
    else:  # a model that sees, too: its language part
        config = transformers.AutoConfig.for_model(kind, text_config=given)
    part = config.get_text_config()
    with torch.device("meta"):
        model = getattr(transformers, CLASSES.get(part.model_type) or CLASSES[kind])(part)
    return model, json.dumps(json.loads(config.to_json_string(use_diff=False)))


def parameters(model: Any) -> int:
    return sum(one.numel() for one in model.parameters())
