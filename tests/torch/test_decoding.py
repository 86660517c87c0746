"""A decoder of transformers that decodes after a cache: the registry's graph of the same shape, PyTorch's counter, and real runs."""

from __future__ import annotations

from typing import Any

import pytest

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

from torch.utils.flop_counter import FlopCounterMode  # noqa: E402

from ironlaw.engine.device.deployment import last_logits  # noqa: E402
from ironlaw.engine.device.types import Graph  # noqa: E402
from ironlaw.errors import BadValue  # noqa: E402
from ironlaw.registry.families import FAMILIES  # noqa: E402
from ironlaw.tracing.capture import capture  # noqa: E402
from ironlaw.tracing.decoding import kept_bytes  # noqa: E402
from ironlaw.tracing.load_target import load  # noqa: E402
from ironlaw.tracing.target import tensors_in  # noqa: E402

SIZES = {"vocab": 1000, "layers": 2, "hidden": 256, "heads": 8, "kv_heads": 2, "head_dim": 32, "ffn": 512}
NAMES = {
    "vocab": "vocab_size", "layers": "num_hidden_layers", "hidden": "hidden_size", "heads": "num_attention_heads",
    "kv_heads": "num_key_value_heads", "head_dim": "head_dim", "ffn": "intermediate_size",
}  # fmt: skip
SMALL = {NAMES[key]: value for key, value in SIZES.items()}


def captured(phase: str, tokens: int, batch: int = 1, config: str = "LlamaConfig", **settings: Any) -> tuple[Graph, Any]:
    target = load(f"hf:{config}", settings=SMALL | settings, dtype="bf16", batch=batch, phase=(phase, tokens))
    return capture(target.call, target.args, target.kwargs), target


def built(phase: str, tokens: int, batch: int, **more: Any) -> Graph:
    length = "seq" if phase == "prefill" else "context"
    graph = FAMILIES["llama"](**SIZES, **more, tied=False, phase=phase, batch=batch, dtype="bf16", **{length: tokens})
    return last_logits(graph) if phase == "prefill" else graph


KINDS: dict[str, dict[str, Any]] = {"LlamaConfig": {}, "Qwen3Config": {"qk_norm": True}}


@pytest.mark.parametrize(("config", "batch"), [("LlamaConfig", 1), ("LlamaConfig", 3), ("Qwen3Config", 2)])
@pytest.mark.parametrize(("phase", "tokens"), [("decode", 100), ("prefill", 48)])
def test_captured_and_registry_agree(phase: str, tokens: int, config: str, batch: int) -> None:
    ours, (graph, target) = built(phase, tokens, batch, **KINDS[config]), captured(phase, tokens, batch, config)
    assert graph.params == ours.params and [op.kind for op in graph.ops].count("rsqrt") == [op.kind for op in ours.ops].count("rsqrt")
    assert graph.flops == ours.flops and graph.cache_bytes == ours.cache_bytes and graph.weight_bytes == ours.weight_bytes
    kinds = [[op.kind for op in each.ops if op.work.matmul_flops or op.kind == "cat"] for each in (graph, ours)]
    assert kinds[0] == kinds[1]
    assert graph.bytes == (ours.bytes if phase == "decode" else pytest.approx(ours.bytes, rel=1e-4))  # a few positions more
    with torch.no_grad(), FlopCounterMode(display=False) as counter:  # without values attention falls into products, which it counts
        ids = target.args[0]
        held = target.kwargs.get("past_key_values") or transformers.DynamicCache(config=target.call.config)
        target.call(ids, past_key_values=held, use_cache=True, logits_to_keep=1)
    assert counter.get_total_flops() == graph.flops


def test_a_step_after_a_cache_is_the_pass_over_all_tokens() -> None:
    """For real: the cache that is made of shapes has the sizes of one that a prompt leaves, and both ways give the same logits."""
    torch.manual_seed(0)
    model = transformers.LlamaForCausalLM(transformers.LlamaConfig(**SMALL)).eval()
    ids = torch.randint(1000, (2, 21))
    with torch.no_grad():
        cache = model(ids[:, :20], use_cache=True).past_key_values
        _, target = captured("decode", 20, 2)
        real = [tuple(t.shape) for t in tensors_in(cache) if t.dim() == 4]
        assert [tuple(t.shape) for t in tensors_in(target.kwargs["past_key_values"]) if t.dim() == 4] == real and len(real) == 4
        step, whole = model(ids[:, 20:], past_key_values=cache).logits[:, -1], model(ids).logits[:, -1]
    assert torch.allclose(step, whole, atol=1e-4)
    assert kept_bytes(target) == 2 * 2 * 2 * 32 * 20 * 2  # layers, keys and values, heads, width, tokens, bytes


def test_layers_with_a_window_keep_no_more_than_it() -> None:
    """Mistral's window of 16: a real cache of 40 tokens holds 15, and so does ours."""
    model = transformers.MistralForCausalLM(transformers.MistralConfig(**SMALL, sliding_window=16)).eval()
    with torch.no_grad():
        real = model(torch.zeros(1, 40, dtype=torch.long), use_cache=True).past_key_values
    graph, target = captured("decode", 40, config="MistralConfig", sliding_window=16)
    ours = target.kwargs["past_key_values"]
    assert [layer.keys.shape for layer in ours.layers] == [layer.keys.shape for layer in real.layers]
    assert ours.get_seq_length() == real.get_seq_length() == 40
    assert graph.cache_bytes == kept_bytes(target) == 2 * 2 * 2 * 32 * 15 * 2


def test_what_can_not_decode() -> None:
    for config, words in (("T5Config", "does not decode token by token"), ("BertConfig", "caches no keys and values")):
        with pytest.raises(BadValue, match=words):
            load(f"hf:{config}", phase=("decode", 8))
    with pytest.raises(BadValue, match="at most 64 tokens"):
        load("hf:GPT2Config", settings={"n_layer": 1, "n_positions": 64}, phase=("decode", 64))
    assert load("hf:GPT2Config", settings={"n_layer": 1, "n_positions": 64}, phase=("decode", 63)).kwargs["use_cache"]
