"""A decoder that is read from its config.json weighs, computes and keeps what transformers' own model does."""

import random

import pytest
from decoder_models import SHALLOW, TIED, built, parameters, readable
from how_thorough import RELEASE

from ironlaw.registry.decoders import decoder
from ironlaw.registry.families.served import step

TOKENS = 48


@pytest.mark.parametrize("changes", ({}, SHALLOW, TIED) if RELEASE else (SHALLOW,), ids=str)
@pytest.mark.parametrize("kind", readable() if RELEASE else random.Random(44).sample(readable(), 6))
def test_parameters_equal_transformers_own_count(tmp_path, kind, changes):
    model, config = built(kind, **changes)
    (tmp_path / "config.json").write_text(config)
    assert decoder(str(tmp_path)).parameters == parameters(model)


def grouped(a, b, *rest, out_val=None, **more):
    """PyTorch's counter knows no grouped product: rows [m, k] by experts [e, k, n]."""
    return 2 * a[0] * a[1] * b[-1]


# A state's scan is no matrix product in an engine, and transformers pads a short convolution; it runs Llama 4's experts on every token, and
# attention twice for DiffLlama.
OTHER_WORK = {
    "mamba", "mamba2", "falcon_mamba", "falcon_h1", "jamba", "bamba", "granitemoehybrid", "nemotron_h", "qwen3_next", "qwen3_5_text",
    "qwen3_5", "qwen3_5_moe_text", "qwen3_5_moe", "lfm2_moe", "llama4_text", "llama4", "diffllama", "biogpt", "deepseek_v2", "openai-gpt",
}  # fmt: skip
DRAWN = random.Random(44).sample([kind for kind in readable() if kind not in OTHER_WORK], 12)


@pytest.mark.parametrize("kind", [kind for kind in readable() if kind not in OTHER_WORK] if RELEASE else DRAWN)
def test_flops_and_cache_equal_a_step_that_transformers_runs(tmp_path, kind):
    import torch
    from torch.utils.flop_counter import FlopCounterMode

    model, config = built(kind, **SHALLOW)
    (tmp_path / "config.json").write_text(config)
    ours = decoder(str(tmp_path))
    ids = torch.zeros(1, TOKENS, dtype=torch.long, device="meta")
    counter = FlopCounterMode(display=False, custom_mapping={torch.ops.aten._grouped_mm: grouped})
    with torch.no_grad(), counter:
        out = model.to(torch.bfloat16).eval()(input_ids=ids, use_cache=True)
    head = 2 * ours.vocab * ours.hidden  # an engine computes the last token's logits alone
    assert step(ours, chunk=TOKENS).flops - head == counter.get_total_flops() - TOKENS * head
    kept = sum(
        layer.keys.numel() + layer.values.numel() for layer in out.past_key_values.layers if getattr(layer, "keys", None) is not None
    )
    states = sum(part.numbers for block in ours.blocks for part in block if type(part).__name__ == "State")
    assert ours.cache("int8", TOKENS).token_bytes * TOKENS == kept + states
