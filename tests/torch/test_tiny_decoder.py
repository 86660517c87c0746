"""The experiments' decoder in NumPy against transformers' Llama with the same weights: logits, tokens, and PyTorch's count of its FLOPs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

from torch.utils.flop_counter import FlopCounterMode  # noqa: E402

from ironlaw.measure.experiments import kv_decode  # noqa: E402
from ironlaw.measure.experiments.tiny_decoder import EPSILON, SIZES, THETA, Cache, TinyDecoder  # noqa: E402

NAMES = {"q": "self_attn.q_proj", "k": "self_attn.k_proj", "v": "self_attn.v_proj", "o": "self_attn.o_proj"}


def llama(**more: Any) -> Any:
    config = transformers.LlamaConfig(
        vocab_size=SIZES["vocab"], num_hidden_layers=SIZES["layers"], hidden_size=SIZES["hidden"], num_attention_heads=SIZES["heads"],
        num_key_value_heads=SIZES["kv_heads"], head_dim=SIZES["head_dim"], intermediate_size=SIZES["ffn"], rms_norm_eps=EPSILON,
        rope_parameters={"rope_type": "default", "rope_theta": THETA}, tie_word_embeddings=False, **more,
    )  # fmt: skip
    return transformers.LlamaForCausalLM(config).eval()


@pytest.fixture(scope="module")
def pair() -> tuple[TinyDecoder, Any]:
    ours, theirs = TinyDecoder(), llama()
    state = {}
    for name, weight in ours.weights.items():
        layer, _, part = name.partition(".")
        place = {"embed": "model.embed_tokens", "head": "lm_head"}.get(
            name
        ) or f"model.layers.{layer}.{NAMES.get(part, f'mlp.{part}_proj')}"
        state[f"{place}.weight"] = torch.from_numpy(weight)
    missing, unexpected = theirs.load_state_dict(state, strict=False)
    assert not unexpected and all("norm" in name for name in missing)  # whose gains are ones
    return ours, theirs


@torch.no_grad()
def test_the_same_logits(pair: Any) -> None:
    ours, theirs = pair
    ids = [(11 * i) % SIZES["vocab"] for i in range(40)]
    real = theirs(torch.tensor([ids])).logits[0, -1].numpy()
    cache = Cache(40)
    ours.logits(ids[:25], cache)  # a prompt, a piece of one, a token
    ours.logits(ids[25:39], cache)
    for logits in (ours.logits(ids), ours.logits(ids[39:], cache)):
        assert np.abs(logits - real).max() < 1e-4 * np.abs(real).max()


@torch.no_grad()
def test_the_same_tokens(pair: Any) -> None:
    ours, theirs = pair
    out = theirs.generate(torch.tensor([kv_decode.PROMPT]), max_new_tokens=24, do_sample=False, use_cache=True, eos_token_id=None)
    assert ours.generate(kv_decode.PROMPT, 24, cached=True) == out[0, len(kv_decode.PROMPT) :].tolist()


@torch.no_grad()
def test_pytorch_counts_the_same_flops(pair: Any) -> None:
    with torch.device("meta"):
        model = llama()
        ids = torch.zeros(1, 31, dtype=torch.long)
    cache = model(ids[:, :30], use_cache=True).past_key_values
    for way, given in (
        (kv_decode.CACHED, (ids[:, :1], cache)),
        (kv_decode.UNCACHED, (ids, transformers.DynamicCache(config=model.config))),
    ):
        with FlopCounterMode(display=False) as counter:
            model(given[0], past_key_values=given[1], use_cache=True, logits_to_keep=1)
        assert counter.get_total_flops() == kv_decode.expected(way, 30)[kv_decode.FLOPS]
