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
