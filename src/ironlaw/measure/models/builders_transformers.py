"""Transformers of the registry, built by the library of that name from a configuration, with random weights."""

from __future__ import annotations

from typing import Any

from torch import Tensor, nn

from ironlaw.errors import MissingExtra

try:
    import transformers as library
except ImportError:
    raise MissingExtra("this model is built by transformers, which is not installed; install it with: pip install transformers") from None
transformers: Any = library


class Layers(nn.Module):
    """GPT-2's layers alone: hidden states in, hidden states out."""

    def __init__(self, config: Any, count: int) -> None:
        super().__init__()
        self.layers = nn.ModuleList(transformers.models.gpt2.modeling_gpt2.GPT2Block(config, layer_idx=i) for i in range(count))

    def forward(self, x: Tensor) -> Tensor:
        for layer in self.layers:
            x = layer(x)
        return x


def model(family: str, p: dict[str, Any], classes: int | None) -> nn.Module:
    """vit, bert, gpt2, llama or moe, with a registry file's [params]."""
    transformers.logging.set_verbosity_error()
    module: nn.Module = MAKERS[family](p, classes)
    return module


def vit(p: dict[str, Any], classes: int | None) -> Any:
    config = transformers.ViTConfig(
        hidden_size=p["hidden"], num_hidden_layers=p["layers"], num_attention_heads=p["heads"], intermediate_size=p["ffn"],
        image_size=p["image"], patch_size=p["patch"], num_labels=classes,
    )  # fmt: skip
    return transformers.ViTForImageClassification(config)


def bert(p: dict[str, Any], classes: int | None) -> Any:
    if not p["token_types"]:
        config = transformers.DistilBertConfig(
            vocab_size=p["vocab"], max_position_embeddings=p["positions"], dim=p["hidden"], n_layers=p["layers"], n_heads=p["heads"],
            hidden_dim=p["ffn"],
        )  # fmt: skip
        return transformers.DistilBertModel(config)
    config = transformers.BertConfig(
        vocab_size=p["vocab"], max_position_embeddings=p["positions"], type_vocab_size=p["token_types"], hidden_size=p["hidden"],
        num_hidden_layers=p["layers"], num_attention_heads=p["heads"], intermediate_size=p["ffn"],
    )  # fmt: skip
    return transformers.BertModel(config, add_pooling_layer=p["pooler"])


def gpt2(p: dict[str, Any], classes: int | None) -> Any:
    config = transformers.GPT2Config(
        vocab_size=p["vocab"], n_positions=p["max_positions"], n_embd=p["hidden"], n_layer=p["layers"], n_head=p["heads"],
        n_inner=p["ffn"], attn_implementation="sdpa",
    )  # fmt: skip
    return Layers(config, p["layers"]) if p.get("bare") else transformers.GPT2LMHeadModel(config)


def llama(p: dict[str, Any], classes: int | None) -> Any:
    if p.get("qkv_bias"):
        return transformers.Qwen2ForCausalLM(transformers.Qwen2Config(**_sizes(p)))
    return transformers.LlamaForCausalLM(transformers.LlamaConfig(**_sizes(p)))


def moe(p: dict[str, Any], classes: int | None) -> Any:
    config = transformers.MixtralConfig(**_sizes(p), num_local_experts=p["experts"], num_experts_per_tok=p["top_k"])
    return transformers.MixtralForCausalLM(config)


def _sizes(p: dict[str, Any]) -> dict[str, Any]:
    return {
        "vocab_size": p["vocab"], "hidden_size": p["hidden"], "num_hidden_layers": p["layers"], "num_attention_heads": p["heads"],
        "num_key_value_heads": p["kv_heads"], "head_dim": p["head_dim"], "intermediate_size": p["ffn"], "tie_word_embeddings": p["tied"],
    }  # fmt: skip


MAKERS = {"vit": vit, "bert": bert, "gpt2": gpt2, "llama": llama, "moe": moe}
