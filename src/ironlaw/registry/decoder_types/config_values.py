"""The values of a config.json under the names that architectures give them; what it leaves out has its type's default."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from ironlaw.errors import BadValue

DEFAULTS = Path(__file__).with_name("defaults.json")
NAMES = {
    "hidden": ("hidden_size", "n_embd", "d_model", "dim"),
    "layers": ("num_hidden_layers", "n_layer", "n_layers", "num_layers", "decoder_layers"),
    "heads": ("num_attention_heads", "n_head", "n_heads", "num_heads", "decoder_attention_heads"),
    "kv_heads": ("num_key_value_heads", "num_kv_heads", "n_head_kv"),
    "ffn": ("intermediate_size", "n_inner", "ffn_dim", "decoder_ffn_dim", "ffn_hidden_size", "dff"),
    "vocab": ("vocab_size",),
    "positions": ("max_position_embeddings", "n_positions", "max_seq_len", "max_sequence_length", "seq_length"),
    "experts": ("num_local_experts", "num_experts", "n_routed_experts", "moe_num_experts"),
    "top_k": ("num_experts_per_tok", "moe_k", "moe_topk", "num_experts_per_token"),
    "expert_ffn": ("moe_intermediate_size", "expert_ffn_hidden_size"),
    "shared_experts": ("n_shared_experts", "num_shared_experts", "moe_num_shared_experts"),
    "shared_ffn": ("shared_expert_intermediate_size", "shared_intermediate_size", "moe_shared_expert_intermediate_size"),
}


@cache
def defaults() -> dict[str, dict[str, Any]]:
    """Default values by model_type; `scripts/decoder_defaults.py` writes them."""
    read: dict[str, dict[str, Any]] = json.loads(DEFAULTS.read_text("utf-8"))
    return read


class Values:
    """`values["hidden"]` is a size; `values.get("attention_bias")` whatever the file or its type's defaults say."""

    def __init__(self, kind: str, config: Mapping[str, Any], file: str) -> None:
        self.kind, self.config, self.file = kind, config, file
        self.usual = defaults().get(kind, {})

    def get(self, *names: str, default: Any = None) -> Any:
        """The first of these names that the file has, or else the first that has a default."""
        for source in (self.config, self.usual):
            for name in names:
                if source.get(name) is not None:
                    return source[name]
        return default

    def flag(self, trait: bool | str) -> bool:
        """A trait of the architecture: so always, or as a field of the config says (`!field`: the other way round)."""
        if isinstance(trait, bool):
            return trait
        return not self.get(trait[1:]) if trait.startswith("!") else bool(self.get(trait))

    def size(self, name: str, default: int | None = None) -> int:
        names = NAMES.get(name, (name,))
        value = self.get(*names, default=default)
        if default is None and self.config.get(names[0], 0) is None and not any(self.config.get(n) is not None for n in names):
            raise BadValue(f"{self.file}: {names[0]} is None; give a whole number of at least 1")
        if value is None:
            raise BadValue(f"{self.file} has no {names[0]}; give the whole config.json")
        if isinstance(value, bool) or not isinstance(value, int) or value < 0 or (value < 1 and default is None):
            raise BadValue(f"{self.file}: {names[0]} is {value!r}; give a whole number of at least 1")
        return value

    def __getitem__(self, name: str) -> int:
        return self.size(name)

    @property
    def head_dim(self) -> int:
        return int(self.get("head_dim", "attention_head_dim", "kv_channels") or self["hidden"] // self["heads"])

    @property
    def kv_heads(self) -> int:
        return self.size("kv_heads", 0) or self["heads"]
