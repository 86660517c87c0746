"""The engine's ledger of a training step against what PyTorch allocated on the H200."""

import pytest

from ironlaw.engine.training.autograd import kept
from ironlaw.engine.training.loss import with_loss
from ironlaw.engine.training.recipes import RECIPES
from ironlaw.engine.training.rewrites import autocast
from ironlaw.engine.training.training_layers import layers
from ironlaw.engine.training.training_ledger import training_ledger
from ironlaw.registry import evidence
from ironlaw.registry.workloads import workload

ROWS = evidence.file("h200_sxm/training_memory").rows
WORKSPACES = 2 * 32 * 2**20  # that cuBLAS keeps once it has run: 32 MiB for each of its two handles on a Hopper
# PyTorch 2.11 has no fused kernel for FP32 with fewer key heads than query heads: the scores are stored, twice
STORED_SCORES = ("llama3_2_1b", "fp32")


def name(row):
    return "-".join(str(row.get(key)) for key in ("workload", "batch", "recipe", "optimiser", "checkpoint"))


def graph_of(row):
    return workload(row.workload, batch=row.get("batch"), seq=row.get("seq"), dtype=RECIPES[row.get("recipe")].dtype)


def ledger_of(row):
    graph = graph_of(row)
    return training_ledger(
        graph, row.get("recipe"), row.get("optimiser").split("_")[0], checkpoint=len(layers(graph)) * row.get("checkpoint")
    )


def fused(row):
    return (row.workload, row.get("recipe")) != STORED_SCORES


PLAIN = [row for row in ROWS if row.get("saved_bytes") and fused(row)]


@pytest.mark.parametrize("row", PLAIN, ids=name)
def test_kept_is_what_autograd_saved_on_the_gpu(row):
    """To a few numbers: random states of attention, cuDNN's reserve."""
    graph = autocast(graph_of(row)) if row.get("recipe") == "autocast" else graph_of(row)
    assert kept(with_loss(graph)).bytes == pytest.approx(row.value("saved_bytes"), rel=2e-3)


@pytest.mark.parametrize("row", [row for row in PLAIN if row.value("allocated_peak_bytes") > 4e9], ids=name)
def test_large_peaks_are_within_one_percent(row):
    assert ledger_of(row).peak + WORKSPACES == pytest.approx(row.value("allocated_peak_bytes"), rel=0.01)


CHECKPOINTED = [row for row in ROWS if row.get("checkpoint") and row.workload != "resnet50"]


@pytest.mark.parametrize("row", CHECKPOINTED, ids=name)
def test_peaks_with_every_layer_recomputed(row):
    large = row.value("allocated_peak_bytes") > 4e9
    assert ledger_of(row).peak + WORKSPACES == pytest.approx(row.value("allocated_peak_bytes"), rel=0.005 if large else 0.04)


@pytest.mark.parametrize("row", [row for row in CHECKPOINTED if row.workload == "llama3_2_1b"], ids=name)
def test_a_segment_keeps_what_comes_in_whatever_autograd_would(row):
    """A Llama's norms cast to FP32 first, and no gradient needs what they cast."""
    assert ledger_of(row).kept == pytest.approx(row.value("kept_bytes"), rel=2e-3)


def test_small_models_are_off_by_what_the_libraries_take():
    """cuDNN's and cuBLAS's scratch and a gradient that is copied: never more than 0.15 GB."""
    rows = [row for row in ROWS if fused(row) and not row.get("error")]
    missing = {name(row): row.value("allocated_peak_bytes") - WORKSPACES - ledger_of(row).peak for row in rows}
    assert max(missing.values()) < 0.6e9
    assert max(missing[name(row)] for row in rows if row.workload != "llama3_2_1b") < 0.15e9
    assert min(missing.values()) > -0.05e9


@pytest.mark.parametrize("row", [row for row in PLAIN if row.get("optimiser") in ("adamw", "sgd", "momentum")], ids=name)
def test_the_update_is_the_second_peak(row):
    """AdamW's foreach path takes every square root at once: a copy of the parameters."""
    measured = row.value("update_peak_bytes") - row.value("static_bytes")
    ledger = ledger_of(row)
    held = ledger.static
    before = held.weights + held.master + held.optimiser + (held.gradients if RECIPES[row.get("recipe")].buffers else 0.0)
    assert ledger.profile[-1].total - before == pytest.approx(measured, rel=0.03, abs=4e7)


def test_without_a_fused_kernel_the_scores_are_stored():
    row = next(
        row for row in ROWS if (row.workload, row.get("recipe")) == STORED_SCORES and row.get("batch") == 4 and not row.get("checkpoint")
    )
    scores = 16 * 4 * 32 * 2048**2 * 4  # layers × batch × heads × s² × four bytes
    assert row.value("kept_bytes") - ledger_of(row).kept == pytest.approx(scores, rel=0.06)
