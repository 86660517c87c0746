"""The experiment `ledger` with PyTorch, as a learner runs it: a processor without BF16 takes minutes for it."""

import pytest

pytest.importorskip("torch")
from ironlaw.measure.experiments import memory_trial
from ironlaw.measure.experiments.run_experiment import run


def test_pytorch_counts_to_the_byte() -> None:
    rows = run("ledger", library="torch", seconds=0.01)["rows"]
    assert len(rows) == len(memory_trial.MODELS) * len(memory_trial.FORMATS) + len(memory_trial.OPTIMISERS)
    assert all(row["value"] == row["params"]["expected"] for row in rows)
