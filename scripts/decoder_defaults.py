"""Write the defaults of every causal language model's configuration, as the installed transformers has them:
python scripts/decoder_defaults.py. A config.json leaves out what is at its default, and `ironlaw` reads it without PyTorch."""

from __future__ import annotations

import json
import re
from dataclasses import fields
from pathlib import Path
from typing import Any

TARGET = Path(__file__).parents[1] / "src/ironlaw/registry/decoder_types/defaults.json"
LEFT_OUT = re.compile(
    r"token_|_token|dropout|drop$|pdrop|init|eps|^rope|rotary|^_|label|path|transformers|architectures|output_|return_|use_cache|chunk_size|"
    r"pruned|problem|finetun|summary|activation|hidden_act|dtype|coef|jitter|aux|scal|softcap|theta|norm_topk|is_|cross|lang|"
    r"time_step|audio|vision|image|video|mup|multiplier|floor|max_length|temperature|pretraining|limit|sampl|z_loss|grad"
)
KEPT = ("tie_word_embeddings", "num_experts_per_tok", "num_experts_per_token")
PATTERNS = "layer_types", "layers_block_type", "mlp_layer_types"


def kept(key: str, value: Any) -> bool:
    if key in KEPT:
        return True
    if LEFT_OUT.search(key) or value is None:
        return False
    return isinstance(value, bool | int) or (isinstance(value, str) and len(value) < 24) or key in ("ffn_config", "attn_config")


def period(layers: list[str] | None) -> list[str] | None:
    """What repeats itself in a list that follows from the number of layers; None where nothing does."""
    if not layers or len(set(layers)) < 2:
        return None
    lengths = (n for n in range(2, len(layers) // 2 + 1) if all(kind == layers[i % n] for i, kind in enumerate(layers)))
    return layers[: next(lengths, 0)] or None


def main() -> None:
    from transformers import AutoConfig
    from transformers.models.auto.modeling_auto import MODEL_FOR_CAUSAL_LM_MAPPING_NAMES as CLASSES

    table: dict[str, dict[str, Any]] = {}
    for kind in sorted(CLASSES):
        try:
            config = AutoConfig.for_model(kind)
            text = config.get_text_config() if kind not in ("musicgen", "musicgen_melody") else config
        except Exception:
            continue  # a configuration without defaults has none to write
        kind_of = type(text)
        own = {field.name: getattr(kind_of, field.name, None) for field in fields(kind_of)}
        values = {key: value for key, value in own.items() if kept(key, value)}
        for ours, theirs in getattr(kind_of, "attribute_map", {}).items():
            if theirs in own and kept(ours, own[theirs]):
                values.setdefault(ours, own[theirs])
        for name in PATTERNS:
            if pattern := period(getattr(text, name, None)):
                values[name] = pattern
        table[kind] = dict(sorted(values.items()))
    TARGET.write_text(json.dumps(table, indent=0, sort_keys=True) + "\n", "utf-8")


if __name__ == "__main__":
    main()
