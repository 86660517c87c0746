"""Causal language models of transformers on the meta device, and the config.json that each of them writes."""

from __future__ import annotations

import json
from typing import Any

from ironlaw.registry.decoder_types.config_blocks import known

SHALLOW = {"num_hidden_layers": 5}
TIED = {"num_hidden_layers": 2, "tie_word_embeddings": True}
# not built from their type's defaults alone by this transformers, or not as a language model alone
ODD = {
    "hunyuan_v1_dense",
    "hunyuan_v1_moe",
    "ministral",
    "nemotron",
    "dots1",
    "lfm2_moe",
    "emu3",
    "gemma3",
    "qwen3_5",
    "qwen3_5_moe",
    "llama4",
}


def readable() -> list[str]:
    """Types with a causal head whose config.json is read without PyTorch."""
    from transformers.models.auto.modeling_auto import MODEL_FOR_CAUSAL_LM_MAPPING_NAMES as CLASSES

    return sorted(kind for kind in CLASSES if known(kind) and kind not in ODD)


def built(kind: str, **changes: Any) -> tuple[Any, str]:
    """The model on the meta device, and its config.json."""
    import torch
    import transformers
    from transformers.models.auto.modeling_auto import MODEL_FOR_CAUSAL_LM_MAPPING_NAMES as CLASSES

    transformers.logging.set_verbosity_error()
    config = transformers.AutoConfig.for_model(kind, **({} if kind == "gpt_neo" else changes))
    with torch.device("meta"):
        model = getattr(transformers, CLASSES[kind])(config)
    return model, json.dumps(json.loads(config.to_json_string(use_diff=False)))


def parameters(model: Any) -> int:
    return sum(one.numel() for one in model.parameters())
