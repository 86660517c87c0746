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
