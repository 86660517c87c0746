"""`ironlaw memory` of a file of one's own: captured, and counted as PyTorch saves it."""

import json

import pytest

torch = pytest.importorskip("torch")

from ironlaw.cli import main  # noqa: E402

FILE = """
from torch import nn

model = nn.Sequential(nn.Linear(64, 128), nn.GELU(), nn.Linear(128, 10))
"""


def test_a_file_of_ones_own(tmp_path, capsys):
    path = tmp_path / "net.py"
    path.write_text(FILE)
    assert main(["memory", f"{path}:model", "--input", "32x64", "--on", "t4", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    parameters = 64 * 128 + 128 + 128 * 10 + 10
    kept = 32 * 4 * (64 + 128 + 128 + 10) + 32 * 8 + 4  # the input, GELU's input and output, log-probabilities; labels and a weight
    assert (told["parameters"], told["static_bytes"], told["batch"]) == (parameters, 16 * parameters, 32)
    assert told["kept_bytes"] == kept
    assert told["machines"][0]["fits"] and told["machines"][0]["largest_batch"] > 32
    assert {one["lever"] for one in told["levers"]} >= {"half_batch", "adam8bit", "loss_chunks"}
    assert main(["memory", f"{path}:model", "--recipe", "mixed"]) == 2
    assert "--input" in capsys.readouterr().err


FLAT = """
from torch import nn

model = nn.Sequential(nn.Flatten(0, 1), nn.Linear(64, 4096), nn.GELU(), nn.Linear(4096, 64))
"""


def test_the_batch_is_the_inputs_own_even_where_the_first_op_reads_it_flattened(tmp_path, capsys):
    path = tmp_path / "flat.py"
    path.write_text(FLAT)
    assert main(["memory", f"{path}:model", "--input", "8x128x64", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    half = next(one for one in told["levers"] if one["lever"] == "half_batch")
    assert told["batch"] == 8
    assert told["phases"]["backward"] == told["peak_bytes"]  # activations, not the optimiser, are most of it
    assert 0.4 < half["frees_bytes"] / told["peak_bytes"] < 0.5


FROZEN = """
import torch
from torch import nn


class Adapted(nn.Module):
    def __init__(self):
        super().__init__()
        self.base, self.down, self.up = (nn.Linear(a, b, bias=False) for a, b in ((256, 256), (256, 4), (4, 256)))
        self.base.weight.requires_grad_(False)

    def forward(self, x):
        return self.base(x) + self.up(self.down(x))


adapters = nn.Sequential(*(Adapted() for _ in range(4))).to(torch.bfloat16)
head = nn.Sequential(nn.Linear(256, 512), nn.ReLU(), nn.Linear(512, 10))
head[0].requires_grad_(False)
"""


def test_frozen_weights_have_no_gradient_and_no_state_and_keep_their_format(tmp_path, capsys):
    path = tmp_path / "frozen.py"
    path.write_text(FROZEN)
    assert main(["memory", f"{path}:adapters", "--input", "8x256:bf16", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    base, adapters = 4 * 256 * 256, 4 * 2 * 256 * 4
    assert (told["recipe"], told["weight_bytes"]) == ("pure", 2 * (base + adapters))
    assert told["static_bytes"] == 2 * base + (2 + 2 + 4) * adapters
    freed = {one["lever"]: one["frees_bytes"] for one in told["levers"]}
    assert freed["offload"] >= 4 * adapters and freed["zero"] > 2 * base / 2


def test_as_analyze_counts_the_same_step(tmp_path, capsys):
    path = tmp_path / "frozen.py"
    path.write_text(FROZEN)
    assert main(["memory", f"{path}:head", "--input", "64x256", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert main(["analyze", f"{path}:head", "--input", "64x256", "--training", "--on", "t4", "--mode", "eager", "--json"]) == 0
    memory = json.loads(capsys.readouterr().out)["predictions"][0]["memory"]
    labels = 64 * 8  # of the loss that `memory` adds; `analyze` sums what comes out
    assert told["peak_bytes"] - labels == memory["weights"] + memory["activations"]


FALCON = {
    "model_type": "falcon", "hidden_size": 64, "num_attention_heads": 8, "num_kv_heads": 2, "num_hidden_layers": 2, "vocab_size": 128,
    "new_decoder_architecture": True, "multi_query": True, "parallel_attn": True, "bias": False, "alibi": False,
}  # fmt: skip
KIMI = {
    "model_type": "kimi_k2", "hidden_size": 64, "intermediate_size": 96, "moe_intermediate_size": 32, "num_hidden_layers": 2,
    "num_attention_heads": 4, "num_key_value_heads": 4, "q_lora_rank": 32, "kv_lora_rank": 16, "qk_nope_head_dim": 16,
    "qk_rope_head_dim": 8, "v_head_dim": 16, "n_routed_experts": 8, "num_experts_per_tok": 2, "n_shared_experts": 1, "n_group": 1,
    "topk_group": 1, "first_k_dense_replace": 1, "vocab_size": 128, "max_position_embeddings": 64,
}  # fmt: skip


@pytest.mark.parametrize("given", [FALCON, KIMI], ids=lambda given: given["model_type"])
def test_any_decoder_by_its_config(given, tmp_path, capsys):
    """Falcon's keys are copied for each query head, and their gradient is a part of what they were made with; Kimi K2 is transformers'
    DeepSeek-V3 by another name. Parameters as a config is read without PyTorch."""
    from ironlaw.registry.decoder_shapes import decoder

    (tmp_path / "config.json").write_text(json.dumps(given))
    assert main(["memory", str(tmp_path), "--batch", "2", "--seq", "16", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["parameters"] == decoder(str(tmp_path)).parameters and told["peak_bytes"] > told["static_bytes"] > 0
