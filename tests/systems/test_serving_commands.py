"""The commands that an answer ends with run what was priced: each engine, with each format of weights, products and cache."""

import json
import shlex
from dataclasses import replace
from functools import lru_cache

import pytest

from ironlaw.engine.serving.llm.policy import Policy, Speculation
from ironlaw.registry.decoders import decoder
from ironlaw.registry.machines import registered
from ironlaw.systems.serving.commands import command, commands
from ironlaw.systems.serving.deployments import deployment

POLICY = Policy(most=128, budget=2048)
ENGINES = ("vllm", "sglang", "trtllm")


@lru_cache
def rig_of(machine="h200_sxm", devices=1, stored="", multiplied="", **formats):
    model = replace(decoder("llama3_8b"), stored=stored, products=multiplied)
    return deployment(model, registered(machine), devices, coarse=True, **formats)


def told(engine, policy=POLICY, **rig):
    """Lines before the command, and its words."""
    *first, last = command(engine, "org/M", rig_of(**rig), policy, 0.9).splitlines()
    return [line for line in first if not line.startswith("echo")], shlex.split(last)


def settings(engine_lines, name="engine.yaml"):
    line = next(line for line in engine_lines.splitlines() if line.endswith(f"> {name}"))
    return json.loads(shlex.split(line)[1])


def test_a_checkpoint_in_16_bits_is_served_as_it_is():
    for engine in ENGINES:
        first, words = told(engine)
        assert not first and "org/M" in words and not {"--quantization", "--dtype", "--kv-cache-dtype"} & set(words)


@pytest.mark.parametrize("engine", ["vllm", "sglang"])
def test_vllm_and_sglang_make_fp8_while_they_load(engine):
    first, words = told(engine, products="fp8", cache="fp8")
    assert not first and words[words.index("--quantization") + 1] == "fp8" and "org/M" in words
    assert words[words.index("--kv-cache-dtype") + 1] == {"vllm": "fp8", "sglang": "fp8_e4m3"}[engine]
    _, alone = told(engine, weights="fp8")  # weights alone: where FP8 could be multiplied, that is switched off
    assert alone[0].endswith("_FORCE_FP8_MARLIN=1") and "--quantization" in alone
    _, old = told(engine, machine="a100_80gb_sxm", weights="fp8")  # and needs no switch where it can't
    assert "MARLIN" not in " ".join(old) and "--quantization" in old


def test_tensorrt_llm_takes_fp8_from_a_checkpoint_that_is_made_first():
    first, words = told("trtllm", products="fp8", cache="fp8")
    assert words[:2] == ["trtllm-serve", "./M-FP8"] and first[0].startswith("# once")
    assert "--pyt_ckpt_path org/M --qformat fp8 --kv_cache_qformat fp8 --export_path ./M-FP8" in first[1]
    assert settings(command("trtllm", "org/M", rig_of(products="fp8", cache="fp8"), POLICY, 0.9))["kv_cache_config"] == {"dtype": "fp8"}
    first, _ = told("trtllm", products="fp8")
    assert "--kv_cache_qformat none" in first[1]


@pytest.mark.parametrize(
    ("weights", "engine", "how"),
    [
        ("int8", "vllm", "W8A16"), ("int8", "sglang", "W8A16"), ("int8", "trtllm", None), ("int4", "vllm", "W4A16"),
        ("int4", "sglang", "W4A16"), ("int4", "trtllm", "--qformat int4_awq"), ("fp4", "vllm", "NVFP4A16"), ("fp4", "sglang", None),
        ("fp4", "trtllm", None), ("fp8", "trtllm", None), ("fp32", "vllm", None),
    ],
)  # fmt: skip
def test_other_weights_are_made_first_or_said_not_to_be_possible(weights, engine, how):
    first, words = told(engine, weights=weights)
    if how is None:
        assert len(first) == 1 and "can't multiply" in first[0] and "not what was priced" in first[0] and "org/M" in words
    else:
        made = f"./M-{weights.upper()}"
        assert how in first[1] and made in first[1] and made in words and "org/M" not in words


def test_a_cache_that_no_engine_keeps_is_said():
    for engine in ENGINES:
        for cache in ("int8", "int4", "fp4", "fp32"):
            assert f"can't keep the KV cache in {cache.upper()}" in told(engine, cache=cache)[0][0]
        assert not told(engine, cache="fp16")[0]  # as many bytes as BF16


def test_a_narrow_checkpoint_says_itself_how_it_is_stored():
    for engine in ENGINES:
        for stored, products in (("fp8", "fp8"), ("int4", ""), ("int8", "")):
            first, words = told(engine, stored=stored, multiplied=products)
            assert not first and "org/M" in words and "--quantization" not in words
        assert "stored in FP8, but BF16 was asked" in told(engine, stored="fp8", multiplied="fp8", weights="bf16")[0][0]
    assert "can't multiply FP8 weights" in told("trtllm", machine="a100_80gb_sxm", stored="fp8", multiplied="fp8")[0][0]
    assert told("vllm", stored="fp8", multiplied="fp8", weights="fp8")[1][0] == "VLLM_TEST_FORCE_FP8_MARLIN=1"
    assert "multiplied in FP4 on this GPU" in told("vllm", machine="b200_sxm", stored="fp4")[0][0]


def test_machines_without_bf16():
    for engine in ENGINES[:2]:
        _, words = told(engine, machine="v100")
        assert words[words.index("--dtype") + 1] == "float16"
    assert settings(command("trtllm", "org/M", rig_of(machine="v100"), POLICY, 0.9))["dtype"] == "float16"


def test_layout_scheduler_and_memory():
    rig = rig_of(devices=2)
    assert command("vllm", "llama3_8b", rig, POLICY, 0.9) == (
        "vllm serve meta-llama/Meta-Llama-3-8B-Instruct --tensor-parallel-size 2 --max-num-batched-tokens 2048 --max-num-seqs 128"
        " --gpu-memory-utilization 0.9"
    )
    assert "--tp-size 2 --chunked-prefill-size 2048 --enable-mixed-chunk" in command("sglang", "M", rig, POLICY, 0.86)
    whole = replace(POLICY, chunked=False)
    assert "--chunked-prefill-size -1 --max-prefill-tokens 2048 --max" in command("sglang", "M", rig, whole, 0.86)
    assert "--no-enable-chunked-prefill" in command("vllm", "M", rig, whole, 0.9)
    text = command("trtllm", "M", rig, POLICY, 0.9)
    assert text.splitlines()[-1].startswith("trtllm-serve M --tp_size 2 --max_num_tokens 2048") and settings(text)["enable_chunked_prefill"]
    share = float(shlex.split(text.splitlines()[-1])[-3])  # of what weights and activations leave, not of the whole device
    free = float(rig.hardware.usable) - rig.weight_bytes - rig.activation_bytes
    assert share * free == pytest.approx(rig.cache_bytes, rel=0.02) and share * free <= rig.cache_bytes
    for engine in ENGINES:
        assert "no static batches" in command(engine, "M", rig, Policy(scheduling="static", most=64), 0.9)
        assert "recomputes what it stops" in command(engine, "M", rig, replace(POLICY, preemption="swap"), 0.9)
    assert command("plain", "M", rig, POLICY, 0.9) == ""


def test_proposed_tokens():
    rig, policy = rig_of(), replace(POLICY, speculation=Speculation(4, 0.7))
    drafted = {engine: command(engine, "M", rig, policy, 0.9, "llama3_2_1b") for engine in ENGINES}
    assert '{"model":"meta-llama/Llama-3.2-1B-Instruct","num_speculative_tokens":4}' in drafted["vllm"]
    assert "--speculative-draft-model-path meta-llama/Llama-3.2-1B-Instruct --speculative-num-steps 4" in drafted["sglang"]
    guess = settings(drafted["trtllm"])["speculative_config"]
    assert guess == {"decoding_type": "DraftTarget", "speculative_model_dir": "meta-llama/Llama-3.2-1B-Instruct", "max_draft_len": 4}
    assert '"method":"ngram"' in command("vllm", "M", rig, policy, 0.9) and "NGRAM" in command("sglang", "M", rig, policy, 0.9)


def test_pools_are_started_one_by_one_and_something_before_them():
    rig = rig_of(devices=2)
    lines = {name: commands(name, "M", rig, POLICY, 0.9, 2, 1).splitlines() for name in ENGINES}
    for name in ENGINES[:2]:
        first, one, second, other, third, _ = lines[name]
        assert (first, second) == ("# each of the 2 replicas for prefill", "# the replica for decode") and third.startswith("# before both")
        assert one.startswith(command(name, "M", rig, POLICY, 0.9)) and other.startswith(command(name, "M", rig, POLICY, 0.9))
    assert '{"kv_connector":"NixlConnector","kv_role":"kv_both"}' in lines["vllm"][1]
    assert lines["vllm"][-1].endswith("--prefiller-hosts PREFILL_1 PREFILL_2 --decoder-hosts DECODE_1")
    assert lines["sglang"][1].endswith("--disaggregation-mode prefill") and lines["sglang"][3].endswith("--disaggregation-mode decode")
    assert lines["sglang"][-1].endswith("--prefill http://PREFILL_1:30000 --prefill http://PREFILL_2:30000 --decode http://DECODE_1:30000")
    text = "\n".join(lines["trtllm"])
    assert settings(text, "prefill.yaml")["disable_overlap_scheduler"] and not settings(text, "decode.yaml")["disable_overlap_scheduler"]
    assert settings(text, "pools.yaml")["context_servers"] == {"num_instances": 2, "urls": ["PREFILL_1:8000", "PREFILL_2:8000"]}
    narrow = commands("trtllm", "org/M", rig_of(products="fp8"), POLICY, 0.9, 2, 1)
    assert narrow.count("hf_ptq.py") == 1 and narrow.count("trtllm-serve ./M-FP8") == 2  # a checkpoint is made once
    assert commands("vllm", "M", rig, POLICY, 0.9, 0, 3) == command("vllm", "M", rig, POLICY, 0.9)
    assert commands("plain", "M", rig, POLICY, 0.9, 2, 1) == ""
