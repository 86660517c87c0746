"""`ironlaw memory`: a training step row by row, what fits, what each change frees."""

import pytest

from ironlaw import hardware
from ironlaw.engine.training.training_ledger import training_ledger
from ironlaw.registry.workloads import workload

GPT2 = ("memory", "gpt2", "--batch", "8", "--seq", "1024")


def test_rows_add_up_to_the_peak(sh):
    told = sh.json(*GPT2, "--on", "rtx_4090")
    assert sum(row["at_peak_bytes"] for row in told["rows"]) == pytest.approx(told["peak_bytes"])
    assert told["parameters"] == 124_439_808 and told["static_bytes"] == 16 * 124_439_808
    assert (told["peak_phase"], told["peak_op"]) == ("backward", "loss.log_softmax")
    assert told["peak_bytes"] == training_ledger(workload("gpt2", batch=8, seq=1024, dtype="fp32")).peak
    assert max(told["phases"].values()) == told["peak_bytes"]
    out = " ".join(sh.out(*GPT2).split())
    assert "30× the weights, in the backward pass, at loss.log_softmax" in " ".join(out.split()) and "saved for backward" in out


def test_what_fits(sh):
    told = sh.json(*GPT2, "--on", "rtx_4090,t4")["machines"]
    for one in told:
        usable = hardware(one["hardware"]).usable
        largest = one["largest_batch"]
        fits, bursts = (training_ledger(workload("gpt2", batch=n, seq=1024, dtype="fp32")).peak for n in (largest, largest + 1))
        assert fits <= usable < bursts
        assert one["fits"] == (one["headroom_bytes"] >= 0)
    assert "fits, " in sh.out(*GPT2, "--on", "rtx_4090")


def test_where_no_batch_helps(sh):
    told = sh.json("memory", "llama3_8b", "--recipe", "mixed", "--batch", "1", "--seq", "512", "--on", "rtx_4090")["machines"][0]
    assert not told["static_fits"] and told["largest_batch"] == 0 and not told["fits"]
    assert "don't fit at any batch size" in sh.out(
        "memory", "llama3_8b", "--recipe", "mixed", "--batch", "1", "--seq", "512", "--on", "rtx_4090"
    )


def test_levers_are_what_the_same_command_would_say(sh):
    told = sh.json(*GPT2)
    freed = {one["lever"]: one["peak_bytes"] for one in told["levers"]}
    assert freed["checkpoint"] == sh.json(*GPT2, "--checkpoint", "all")["peak_bytes"]
    assert freed["loss_chunks"] == sh.json(*GPT2, "--loss-chunks", "8")["peak_bytes"]
    assert freed["adam8bit"] == sh.json(*GPT2, "--optimiser", "adam8bit")["peak_bytes"]
    assert freed["mixed"] == sh.json(*GPT2, "--recipe", "mixed")["peak_bytes"]
    assert freed["half_batch"] == sh.json("memory", "gpt2", "--batch", "4", "--seq", "1024", "--accumulate", "2")["peak_bytes"]
    assert [one["frees_bytes"] for one in told["levers"]] == sorted((one["frees_bytes"] for one in told["levers"]), reverse=True)
    stored = sh.json(*GPT2, "--attention", "three_kernels")
    assert next(one for one in stored["levers"] if one["lever"] == "fused_attention")["peak_bytes"] == told["peak_bytes"]
    assert "checkpoint" not in {one["lever"] for one in sh.json(*GPT2, "--checkpoint", "all")["levers"]}


def test_zero_and_offload(sh):
    shared = sh.json(*GPT2, "--recipe", "mixed", "--zero", "1", "--devices", "8")
    assert shared["static_bytes"] == pytest.approx(124_439_808 * (4 + 12 / 8), rel=1e-4)
    assert sh.json(*GPT2, "--recipe", "mixed", "--offload")["static_bytes"] == pytest.approx(4 * 124_439_808, rel=1e-4)


@pytest.mark.parametrize(
    ("argv", "says"),
    [
        (("gpt2", "--recipe", "fp23"), "did you mean fp32"),
        (("gpt2", "--optimiser", "adam"), "adamw"),
        (("gpt2", "--checkpoint", "99"), "12 layers"),
        (("gpt2", "--checkpoint", "some"), "all for every layer"),
        (("gpt2", "--zero", "4", "--devices", "2"), "0, 1, 2 or 3"),
        (("gpt2", "--devices", "2"), "add --zero"),
        (("bert_base", "--loss-chunks", "2"), "no logits"),
        (("gpt2", "--input", "8x3"), "FILE.py:NAME"),
        (("gtp2",), "gpt2"),
    ],
)
def test_refusals(sh, argv, says):
    code, _, told = sh("memory", *argv)
    assert code == 2 and says in told
