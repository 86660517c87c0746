"""The experiment `ledger`: counted bytes are the expected ones, but for the headers of arrays."""

from ironlaw.measure.experiments import memory_trial
from ironlaw.measure.experiments.run_experiment import run


def test_numpy_counts_every_row_of_a_step():
    rows = run("ledger", library="numpy", seconds=0.01)["rows"]
    by_name = {(row["name"], row["params"]["batch"]): row for row in rows}
    assert set(by_name) == {
        (name, batch)
        for name in (memory_trial.WEIGHTS, memory_trial.KEPT, memory_trial.GRADIENTS, memory_trial.STATE)
        for batch in (32, 64)
    }
    for row in rows:
        assert row["params"]["expected"] <= row["value"] <= 1.02 * row["params"]["expected"], row["label"]
    static = sum(by_name[name, 32]["params"]["expected"] for name in (memory_trial.WEIGHTS, memory_trial.GRADIENTS, memory_trial.STATE))
    assert static == 16 * 109_386
    assert static + by_name[memory_trial.KEPT, 32]["params"]["expected"] == 1_876_384  # as a course's plan counts it
    assert static + by_name[memory_trial.KEPT, 64]["params"]["expected"] == 2_002_592
