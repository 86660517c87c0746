"""`ironlaw analyze` on a language model of the registry or of a folder: first token, each token, cache, largest batch."""

import json
from math import prod

import pytest

import ironlaw as il
from ironlaw.cli import main
from ironlaw.engine.device.deployment import last_logits

CONFIG = {
    "model_type": "llama", "vocab_size": 1000, "num_hidden_layers": 4, "hidden_size": 256, "num_attention_heads": 8,
    "num_key_value_heads": 2, "intermediate_size": 512,
}  # fmt: skip


H200, GRAPHS = il.hardware("h200_sxm"), il.Plan(mode="graphs")
EIGHT = ("analyze", "llama3_8b", "--prefill", "512", "--decode", "--context", "1024", "--batch", "1,8", "--on", "h200_sxm")


def test_both_phases_at_once(sh):
    told = sh.json(*EIGHT, "--mode", "graphs")
    language = told["language"]
    assert (language["prompt"], language["context"], language["kv_bytes_per_token"]) == (512, 1024, 131_072)
    one, eight = language["rows"]
    for row, batch in ((one, 1), (eight, 8)):
        step = il.predict(il.workload("llama3_8b", phase="decode", context=1024, batch=batch), H200, GRAPHS)
        prompt = il.workload("llama3_8b", phase="prefill", seq=512, batch=batch)
        first = il.predict(last_logits(prompt), H200, GRAPHS)
        assert (row["batch"], row["token_s"], row["ttft_s"]) == (batch, step.seconds, first.seconds)
        assert row["tokens_per_s"] == batch / step.seconds and row["prompt_tokens_per_s"] == batch * 512 / first.seconds
        assert row["kv_bytes"] == batch * 1024 * 131_072 and (row["devices"], row["fits"]) == (1, True)
        assert (row["prefill_bound"], row["decode_bound"]) == ("compute", "memory")
        assert row["token_interval"] == list(step.interval)
    assert told["predictions"][0]["seconds"] == one["token_s"] and language["before"][0]["seconds"] == one["ttft_s"]
    for phase, p in (("decode", told["predictions"][0]), ("prefill", language["before"][0])):
        places = language["operators"][phase]  # the same op of all layers together
        assert sum(place["seconds"] for place in places) == pytest.approx(p["busy_s"]) and places[0]["count"] == 32
        assert sum(place["flops"] for place in places) == pytest.approx(sum(op["flops"] for op in p["ops"]))


def test_only_the_last_token_of_a_prompt_has_logits():
    """The head's share of the work goes, and nothing else: 2 · 4096 · 128,256 for each of the other tokens."""
    prompt = il.workload("llama3_8b", seq=100, batch=2)
    short = last_logits(prompt)
    assert prompt.flops - short.flops == 2 * 99 * 2 * 4096 * 128_256
    assert short.params == prompt.params and prod(short.ops[-1].outputs[0].shape) == 2 * 128_256
    resnet = il.workload("resnet50")
    assert last_logits(resnet) is resnet


def test_the_largest_batch_is_the_last_that_fits(sh):
    argv = ("analyze", "llama3_8b", "--decode", "--context", "2048", "--on", "l4", "--mode", "eager")
    largest = sh.json(*argv)["language"]["rows"][0]["largest_batch"]
    fits = [
        il.predict(il.workload("llama3_8b", phase="decode", context=2048, batch=n), il.hardware("l4")).fits for n in (largest, largest + 1)
    ]
    assert fits == [True, False]


def test_a_model_too_large_for_one_is_answered_for_by_several(sh):
    argv = ("analyze", "llama3_8b", "--prefill", "256", "--decode", "--on", "t4", "--mode", "eager")
    told = sh.json(*argv)
    (row,) = told["language"]["rows"]
    assert (row["devices"], row["fits"]) == (2, True) and row["largest_batch"] > 1
    group, alone = told["too_large"][0]["group"]["seconds"], told["predictions"][0]["seconds"]
    assert row["token_s"] == group and group > 0.999 * alone  # the host launches for one as for two
    assert row["kv_bytes"] == 256 * 131_072  # the context is the prompt, where nothing else is said
    out = " ".join(sh.out(*argv).split())
    assert "2 × t4" in out and "one does not hold batch 1, so its figures are of 2" in out


def test_terminal_and_page_say_the_same(sh, tmp_path):
    page = tmp_path / "page.html"
    argv = ("analyze", "llama3_2_1b", "--prefill", "128", "--decode", "--batch", "1,4", "--on", "h200_sxm", "--mode", "eager,graphs")
    out = sh.out(*argv, "--html", page)
    assert "a prompt of 128 tokens, one token after 128" in out and "32.8 kB per token" in out
    assert "layers.*.mlp.down_proj" in out and "prefill: h200_sxm, eager" in out and "decode: h200_sxm, eager" in out
    html = page.read_text("utf-8").replace("\u202f", " ")
    assert "As a language model" in html and "32.8 kB per token" in html and "h200_sxm/graphs/prefill" in html
    row = next(line for line in out.splitlines() if line.startswith(" h200_sxm") and " 4 " in line)
    assert all(cell.strip() in html for cell in row.split("  ") if cell.strip() and "," not in cell)


def test_a_folder_with_a_config(sh, tmp_path):
    (tmp_path / "config.json").write_text(json.dumps(CONFIG))
    for target in (tmp_path, tmp_path / "config.json"):
        told = sh.json("analyze", target, "--decode", "--context", "64", "--on", "h200_sxm", "--mode", "eager", "--dtype", "bf16")
        assert told["language"]["kv_bytes_per_token"] == 4 * 2 * 2 * 32 * 2 and told["language"]["rows"][0]["ttft_s"] is None
    head = next(line for line in sh.out("analyze", tmp_path, "--decode", "--on", "h200_sxm").splitlines() if "per token" in line)
    assert "TTFT" not in head and "tokens/s" in head


def test_any_model_of_the_registry(sh):
    told = sh.json("analyze", "resnet50", "--on", "h200_sxm", "--mode", "eager", "--batch", "8")
    assert told["predictions"][0]["seconds"] == il.predict(il.workload("resnet50", batch=8), H200).seconds
    assert "language" not in told and told["largest"][0]["what"] == "batch"


@pytest.mark.parametrize(
    ("words", "argv"),
    [
        ("add --decode", ("llama3_8b", "--context", "10")),
        ("--seq does not go with", ("llama3_8b", "--decode", "--seq", "10")),
        ("--training does not go with", ("llama3_8b", "--decode", "--training")),
        ("defines its own inputs", ("model.py:net", "--prefill", "10")),
        ("takes no --set", ("llama3_8b", "--set", "a=1")),
        ("takes no 'phase'", ("resnet50", "--decode")),
        ("at most that", ("gpt2", "--decode", "--context", "5000")),
    ],
)
def test_what_does_not_go_together(sh, words, argv):
    code, out, err = sh("analyze", *argv, "--on", "h200_sxm")
    assert (code, out) == (2, "") and words in " ".join(err.split()), err


LLAMA = {
    "model_type": "llama", "hidden_size": 256, "intermediate_size": 512, "num_hidden_layers": 2, "num_attention_heads": 4,
    "num_key_value_heads": 2, "vocab_size": 1024, "torch_dtype": "bfloat16", "tie_word_embeddings": False,
}  # fmt: skip


def test_a_quantised_checkpoint_is_read_as_it_is_stored(tmp_path, capsys):
    """AWQ's four bits are INT4; what `analyze` can't store so is said."""
    found = {}
    for method, more in (("", {}), ("awq", {"bits": 4}), ("fp8", {})):
        quantised = {"quantization_config": {"quant_method": method, **more}} if method else {}
        (tmp_path / "config.json").write_text(json.dumps(LLAMA | quantised))
        assert main(["analyze", str(tmp_path), "--prefill", "64", "--on", "h200", "--mode", "eager", "--json"]) == 0
        found[method] = json.loads(capsys.readouterr().out)
    assert found[""]["weights"] is None and not found[""]["notes"]
    assert found["awq"]["weights"]["format"] == "int4" and not found["awq"]["notes"]
    assert "FP8" in found["fp8"]["notes"][0] and "capacity" in found["fp8"]["notes"][0]
