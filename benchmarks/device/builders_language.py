"""Language and speech models of transformers, from their configurations."""

import torch
import transformers as tf
from builders import Builders, tokens
from torch import nn

BUILDERS = Builders()
model = BUILDERS.model


@model("distilbert", batch=(1, 32), compiled=(32,), seq=128, hidden=768, layers=6,
       heads=12, ffn=3072)  # fmt: skip
def distilbert(p):
    config = tf.DistilBertConfig()
    return tf.DistilBertModel(config), (tokens(p["batch"], p["seq"], 30522),), {}


@model("roberta_base", batch=(8,), seq=512, hidden=768, layers=12, heads=12, ffn=3072)
def roberta_base(p):
    config = tf.RobertaConfig(vocab_size=50265, max_position_embeddings=514)
    return tf.RobertaModel(config), (tokens(p["batch"], p["seq"], 50265),), {}


@model("gpt2_medium", batch=(1, 4), compiled=(4,), seq=1024, hidden=1024, layers=24,
       heads=16, vocab=50257)  # fmt: skip
def gpt2_medium(p):
    config = tf.GPT2Config(n_embd=1024, n_layer=24, n_head=16)
    ids = tokens(p["batch"], p["seq"], 50257)
    return tf.GPT2LMHeadModel(config), (ids,), {"use_cache": False}


def causal(kind, p, **extra):
    """A causal language model from the parameters of its row."""
    config = getattr(tf, kind + "Config")(
        hidden_size=p["hidden"],
        num_hidden_layers=p["layers"],
        num_attention_heads=p["heads"],
        num_key_value_heads=p["kv_heads"],
        intermediate_size=p["ffn"],
        vocab_size=p["vocab"],
        **extra,
    )
    return getattr(tf, kind + "ForCausalLM")(config)


LLAMA = dict(hidden=2048, layers=16, heads=32, kv_heads=8, ffn=8192, vocab=128256)


def llama_1b(p):
    """Llama-3.2-1B's shape."""
    return causal("Llama", p, tie_word_embeddings=True, max_position_embeddings=131072)


@model("llama_1b_prefill", "bf16", batch=(1, 4), compiled=(4,), seq=512, **LLAMA)
def llama_prefill(p):
    ids = tokens(p["batch"], p["seq"], p["vocab"])
    return llama_1b(p), (ids,), {"use_cache": False}


class Decode(nn.Module):
    """One decoding step on a cache that is put back before every call."""

    def __init__(self, inner, batch, context):
        super().__init__()
        self.inner = inner
        heads = inner.config.num_key_value_heads
        width = inner.config.hidden_size // inner.config.num_attention_heads
        dtype = torch.get_default_dtype()
        self.saved = [torch.randn(2, batch, heads, context, width, dtype=dtype) for _ in range(inner.config.num_hidden_layers)]

    def forward(self, ids):
        cache = tf.DynamicCache(config=self.inner.config)
        for layer, (keys, values) in zip(cache.layers, self.saved):
            layer.keys, layer.values = keys, values
            layer.is_initialized = True
            layer.dtype, layer.device = keys.dtype, keys.device
        return self.inner(ids, past_key_values=cache, use_cache=True).logits


@model("llama_1b_decode", "bf16", batch=(1, 16), seq=1, context=1024, **LLAMA)
def llama_decode(p):
    step = Decode(llama_1b(p), p["batch"], p["context"])
    return step, (tokens(p["batch"], 1, p["vocab"]),), {}


@model("qwen2_0.5b", "bf16", batch=(4,), seq=512, hidden=896, layers=24, heads=14,
       kv_heads=2, ffn=4864, vocab=151936)  # fmt: skip
def qwen2(p):
    built = causal("Qwen2", p, tie_word_embeddings=True)
    return built, (tokens(p["batch"], p["seq"], p["vocab"]),), {"use_cache": False}


@model("mistral_small", "bf16", batch=(1, 8), seq=512, hidden=1024, layers=12,
       heads=16, kv_heads=4, ffn=3584, vocab=32000)  # fmt: skip
def mistral_small(p):
    built = causal("Mistral", p)
    return built, (tokens(p["batch"], p["seq"], p["vocab"]),), {"use_cache": False}


@model("mixtral_small", "bf16", batch=(1,), seq=256, hidden=1024, layers=8, heads=16,
       kv_heads=4, ffn=3584, vocab=32000, experts=8, top_k=2)  # fmt: skip
def mixtral_small(p):
    built = causal("Mixtral", p, num_local_experts=8, num_experts_per_tok=2)
    return built, (tokens(p["batch"], p["seq"], p["vocab"]),), {"use_cache": False}


@model("t5_small_encoder", batch=(8,), seq=512, hidden=512, layers=6, heads=8, ffn=2048)
def t5_small_encoder(p):
    return tf.T5EncoderModel(tf.T5Config()), (tokens(p["batch"], p["seq"], 32128),), {}


@model("whisper_tiny_encoder", batch=(1, 8), frames=3000, hidden=384, layers=4, heads=6,
       ffn=1536)  # fmt: skip
def whisper_tiny_encoder(p):
    from transformers.models.whisper.modeling_whisper import WhisperEncoder

    config = tf.WhisperConfig(
        d_model=384,
        encoder_layers=4,
        encoder_attention_heads=6,
        encoder_ffn_dim=1536,
    )
    return WhisperEncoder(config), (torch.randn(p["batch"], 80, 3000),), {}
