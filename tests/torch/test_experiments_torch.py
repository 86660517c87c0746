"""The labs' experiments with PyTorch: the same rows, the same numbers as the ops say, and the keyword spotter of the registry."""

from functools import partial

import pytest
import torch
from how_thorough import RELEASE
from small_trials import shrink

from ironlaw.measure.devices.thread_blocks import SCALE, SHIFT
from ironlaw.measure.devices.torch_cpu import TorchCpu
from ironlaw.measure.experiments import memory_trial, trials
from ironlaw.measure.experiments.bench import STEP, Bench
from ironlaw.measure.experiments.experiment_list import EXPERIMENTS
from ironlaw.measure.experiments.run_experiment import run


@pytest.fixture
def small(monkeypatch):
    shrink(monkeypatch)
    monkeypatch.setattr(TorchCpu, "fused_modes", lambda self: ("blocked",))  # compiling has a test of its own


# one that needs NumPy is never run with PyTorch; each has a file in tests/measure that runs it for real
WITH_TORCH = [name for name, experiment in EXPERIMENTS.items() if experiment.needs != "numpy"]


@pytest.mark.parametrize("name", WITH_TORCH)
def test_a_real_run_with_pytorch(small, name):
    found = run(name, library="torch", seconds=0.002)
    assert found["library"].startswith("PyTorch ") and found["software"]["torch"]
    timed = [row for row in found["rows"] if "best_s" in row]  # others hold figures that are no times, or a spread
    assert found["rows"] and all(0 < row["best_s"] <= row["wall_s"] for row in timed)


def test_the_spotter_s_rows_are_the_registry_s_workload(small):
    rows = [row for row in run("ds_cnn", library="torch", seconds=0.002)["rows"] if row["mode"] == "eager"]
    assert [row["params"]["batch"] for row in rows] == [1, 2] and {row["workload"] for row in rows} == {"dscnn_kws"}


@pytest.mark.parametrize(("models", "formats"), [({"mlp8_1024": 2}, {"fp32": "FP32", "bf16": "BF16"}), ({"resnet18": 1}, {"fp32": "FP32"})])
def test_the_ledger_counts_to_the_byte(monkeypatch, models, formats):
    """All of them, in both formats: tests/release/torch/test_whole_ledger.py."""
    monkeypatch.setattr(memory_trial, "MODELS", models)
    monkeypatch.setattr(memory_trial, "FORMATS", formats)
    rows = run("ledger", library="torch", seconds=0.002)["rows"]
    assert len(rows) == len(models) * len(formats) + len(memory_trial.OPTIMISERS)
    assert all(row["value"] == row["params"]["expected"] for row in rows)


@pytest.mark.parametrize("mode", ["eager", "blocked"])
def test_one_pass_computes_the_same_as_op_by_op(mode):
    made = TorchCpu()
    torch.manual_seed(3)
    result = made.pointwise_chain(("scale", "shift", "scale"), (4000, 300), mode)()
    torch.manual_seed(3)
    x = torch.randn(4000, 300)
    whole = torch.cat(result) if mode == "blocked" else result
    assert torch.allclose(whole, (x * SCALE + SHIFT) * SCALE, atol=1e-5)
    assert mode == "eager" or len(result) > 1


def test_a_compiled_chain_is_timed_and_its_compiling_too(one_compilation, monkeypatch):
    """Traced by the compiler, and its code generated only before a release: test_measure_models.py generates some every time."""
    if not RELEASE:
        monkeypatch.setattr(torch, "compile", partial(torch.compile, backend="aot_eager"))
    made = TorchCpu()
    if "compiled" not in made.fused_modes():
        pytest.fail("PyTorch finds no compiler here: install g++")
    bench = Bench(made, seconds=0.002)
    params = {"shape": [64, 64], "ops": 2}
    row = trials._function(bench, "pointwise_chain", params, "compiled", lambda: made.pointwise_chain(STEP, (64, 64), "compiled"))
    assert row["compile_s"] > row["wall_s"] > 0
