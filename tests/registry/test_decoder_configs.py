"""A decoder by its config.json, without PyTorch: published sizes, quantised checkpoints, windows, and what is refused."""

import json
import re
from pathlib import Path

import pytest
from in_groups import in_groups

from ironlaw.engine.decoders.parts import Scores
from ironlaw.errors import BadValue
from ironlaw.registry.decoder_shapes import decoder as shape
from ironlaw.registry.decoder_types.traits import TRAITS
from ironlaw.registry.decoders import decoder, weight_bytes
from ironlaw.registry.families.served import step

DEEPSEEK_V3 = {"model_type": "deepseek_v3", "vocab_size": 129280, "hidden_size": 7168, "num_hidden_layers": 61}
DEEPSEEK_V2_LITE = {
    "model_type": "deepseek_v2", "vocab_size": 102400, "hidden_size": 2048, "num_hidden_layers": 27, "num_attention_heads": 16,
    "num_key_value_heads": 16, "intermediate_size": 10944, "moe_intermediate_size": 1408, "n_routed_experts": 64, "n_shared_experts": 2,
    "num_experts_per_tok": 6, "first_k_dense_replace": 1, "q_lora_rank": None, "kv_lora_rank": 512, "qk_nope_head_dim": 128,
    "qk_rope_head_dim": 64, "v_head_dim": 128,
}  # fmt: skip
GPT_OSS_20B = {
    "model_type": "gpt_oss", "vocab_size": 201088, "hidden_size": 2880, "num_hidden_layers": 24, "num_local_experts": 32,
    "quantization_config": {"quant_method": "mxfp4"},
}  # fmt: skip
LLAMA = {
    "model_type": "llama", "vocab_size": 128256, "hidden_size": 4096, "num_hidden_layers": 32, "num_attention_heads": 32,
    "num_key_value_heads": 8, "intermediate_size": 14336,
}  # fmt: skip
MISTRAL = {**LLAMA, "model_type": "mistral", "sliding_window": 4096}


# further names of a counted type, or those of a model whose language part is one
UNBUILT = {"kimi_k2", "llama4", "qwen3_5", "qwen3_5_moe"}


@pytest.fixture
def given(tmp_path):
    def write(**config):
        (tmp_path / "config.json").write_text(json.dumps(config))
        return str(tmp_path)

    return write


COUNTED = json.loads((Path(__file__).parent / "counted_decoders.json").read_text("utf-8"))


@in_groups("counted", COUNTED, lambda counted: counted[0]["model_type"][0])
def test_every_type_has_as_many_parameters_as_its_model_in_pytorch(given, counted):
    """As transformers 5.22 counts it on the meta device; tests/torch/test_decoder_types.py counts again before a release."""
    config, parameters = counted
    assert decoder(given(**config)).parameters == parameters


def test_every_type_that_can_be_read_is_counted():
    assert {config["model_type"] for config, _ in COUNTED} | UNBUILT == set(TRAITS)


def test_published_sizes_of_queries_that_are_not_compressed(given):
    """DeepSeek-V2-Lite writes null where others have a rank: 15.7 B, of which 2.4 B for a token."""
    model = decoder(given(**DEEPSEEK_V2_LITE))
    assert model.parameters == 15_706_484_224
    assert step(model, chunk=1, layers=0).flops / 2e9 == pytest.approx(2.4, abs=0.1)


def test_a_state_is_read_and_written_whole_however_long_the_text(given):
    """Mamba 130M: its published size, the products of a token by hand, and no byte more for a longer text."""
    config = {"hidden_size": 768, "num_hidden_layers": 24, "vocab_size": 50280, "intermediate_size": 1536, "time_step_rank": 48}
    model = decoder(given(model_type="mamba", tie_word_embeddings=True, **config))
    assert model.parameters == 129_135_360
    short, long, prompt = (step(model, **size) for size in ({"batch": 4, "context": 10}, {"batch": 4, "context": 9000}, {"chunk": 4}))
    products = 24 * (768 * 2 * 1536 + 1536 * (48 + 2 * 16) + 48 * 1536 + 1536 * 768)
    assert short.work.matmul_flops == 2 * 4 * (products + 50280 * 768) and prompt.work.matmul_flops == 2 * (4 * products + 50280 * 768)
    assert short.work.bytes == long.work.bytes > prompt.work.bytes  # four states, and one


def test_latent_attention_reads_one_vector_of_a_token_for_all_heads(given):
    model = decoder(given(**DEEPSEEK_V2_LITE))
    near, far = (step(model, batch=2, context=context).work.bytes for context in (1000, 2000))
    assert far - near == 27 * 2 * 1000 * (512 + 64) * 2


@pytest.mark.parametrize(
    ("config", "windows"),
    [
        ({"model_type": "gpt_neo", "hidden_size": 64, "num_layers": 4, "num_heads": 4, "window_size": 256}, [0, 256, 0, 256]),
        ({**LLAMA, "model_type": "qwen2", "use_sliding_window": True, "sliding_window": 99, "max_window_layers": 2}, [0, 0, 99, 99]),
        ({**LLAMA, "model_type": "gemma2", "sliding_window": 99, "sliding_window_pattern": 3}, [99, 99, 0, 99]),
    ],
    ids=lambda value: value["model_type"] if isinstance(value, dict) else "",
)
def test_which_layers_see_a_window(given, config, windows):
    config = {"vocab_size": 100, **config}
    config |= {name: 4 for name in ("num_hidden_layers", "num_layers") if name in config}
    blocks = decoder(given(**config)).blocks
    assert [part.window for block in blocks for part in block if isinstance(part, Scores)] == windows


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


@pytest.mark.parametrize("place", ["./org/model", "../model", "~/nowhere/model"])
def test_a_path_where_nothing_is(place):
    """It is neither a slug nor an id on the hub."""
    with pytest.raises(BadValue, match=rf"there is no {re.escape(place)}; give a folder"):
        decoder(place)
