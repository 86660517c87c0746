"""A decoder by its config.json, without PyTorch: published sizes, quantised checkpoints, windows, and what is refused."""

import json

import pytest

from ironlaw.errors import BadValue
from ironlaw.registry.decoder_shapes import decoder as shape
from ironlaw.registry.decoders import decoder, weight_bytes
from ironlaw.registry.families.served import step

DEEPSEEK_V3 = {"model_type": "deepseek_v3", "vocab_size": 129280, "hidden_size": 7168, "num_hidden_layers": 61}
GPT_OSS_20B = {
    "model_type": "gpt_oss", "vocab_size": 201088, "hidden_size": 2880, "num_hidden_layers": 24, "num_local_experts": 32,
    "quantization_config": {"quant_method": "mxfp4"},
}  # fmt: skip
LLAMA = {
    "model_type": "llama", "vocab_size": 128256, "hidden_size": 4096, "num_hidden_layers": 32, "num_attention_heads": 32,
    "num_key_value_heads": 8, "intermediate_size": 14336,
}  # fmt: skip
MISTRAL = {**LLAMA, "model_type": "mistral", "sliding_window": 4096}


@pytest.fixture
def given(tmp_path):
    def write(**config):
        (tmp_path / "config.json").write_text(json.dumps(config))
        return str(tmp_path)

    return write


def test_published_sizes_of_latent_attention_and_experts(given):
    model = decoder(given(**DEEPSEEK_V3))
    assert round(model.parameters / 1e9) == 671  # DeepSeek-V3's report: 671 B
    assert model.cache("bf16").token_bytes == 61 * (512 + 64) * 2  # one vector for all heads
    assert model.cache("bf16").shard(8).token_bytes == model.cache("bf16").token_bytes  # every device has it whole
    active = step(model, chunk=1, layers=0).flops / 2
    assert active / 1e9 == pytest.approx(37, rel=0.03)  # 37 B of a token
    spread = shape(given(**DEEPSEEK_V3))
    assert spread.parameters == model.parameters and spread.experts == 256


@pytest.mark.parametrize(
    ("how", "stored", "products"),
    [
        ({"quant_method": "awq", "bits": 4}, "int4", ""), ({"quant_method": "gptq", "bits": 8}, "int8", ""),
        ({"quant_method": "fp8"}, "fp8", "fp8"), ({"quant_method": "modelopt", "quant_algo": "NVFP4"}, "fp4", ""),
        ({"quant_method": "bitsandbytes", "load_in_4bit": True}, "int4", ""),
        ({"quant_method": "compressed-tensors", "config_groups": {"a": {"weights": {"num_bits": 8, "type": "float"}}}}, "fp8", ""),
    ],
    ids=lambda value: str(value)[:40],
)  # fmt: skip
def test_a_quantised_checkpoint_weighs_what_it_stores(given, how, stored, products):
    model = decoder(given(**LLAMA, quantization_config=how))
    assert (model.stored, model.products) == (stored, products)
    size = {"int4": 0.5, "fp4": 0.5, "int8": 1.0, "fp8": 1.0}[stored]
    layers = 32 * (4096 * (2 * 4096 + 2 * 1024) + 3 * 4096 * 14336)
    assert weight_bytes(model, "bf16", stored) == layers * size + (model.parameters - layers) * 2  # embedding, head and norms stay


def test_only_experts_are_stored_in_mxfp4(given):
    model = decoder(given(**GPT_OSS_20B))
    experts = 24 * 32 * 3 * 2880 * 2880
    assert round(model.parameters / 1e9, 1) == 20.9 and model.narrow_matrices == experts
    graph = step(model, batch=1, context=8, weights="fp4", layers=1)
    narrow = {op.kind for op in graph.ops if any(t.dtype == "fp4" for t in op.inputs)}
    assert narrow == {"grouped_matmul"}


def test_a_window_bounds_what_is_kept_and_read(given):
    model = decoder(given(**MISTRAL))
    each = 32 * 2 * 8 * 128 * 2
    assert model.cache("bf16", 1000).sequence_bytes(30_000) == each * 4096 and model.cache("bf16", 1000).token_bytes == each
    long, longer = (step(model, batch=1, context=n).work.bytes for n in (8000, 30_000))
    assert long == longer > step(model, batch=1, context=2000).work.bytes


def test_the_language_part_of_a_model_that_sees(given):
    assert decoder(given(model_type="llava", text_config=LLAMA, vision_config={})).parameters == decoder(given(**LLAMA)).parameters


def test_an_id_of_the_hub_is_read_from_the_local_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path))
    folder = tmp_path / "models--org--Name-8B" / "snapshots" / "abc"
    folder.mkdir(parents=True)
    (folder / "config.json").write_text(json.dumps(LLAMA))
    assert decoder("org/Name-8B").name == "Name-8B" and shape("org/Name-8B").layers == 32
    with pytest.raises(BadValue, match=r"org/Other.*hf download org/Other config.json"):
        decoder("org/Other")


@pytest.mark.parametrize(
    ("config", "words"),
    [
        ({"model_type": "t5"}, "'t5'.*analyze"), ({"model_type": "llama"}, "no vocab_size"),
        ({**LLAMA, "quantization_config": {"quant_method": "hqq"}}, "'hqq'.*knows awq"),
        ({**LLAMA, "hidden_size": "wide"}, "hidden_size is 'wide'"),
    ],
    ids=str,
)  # fmt: skip
def test_what_is_not_known_is_refused_by_name(given, config, words):
    with pytest.raises(BadValue, match=words):
        decoder(given(**config))
