"""A training step as a case of the registry: against a ledger that is built from its graph, and by hand."""

import pytest

from ironlaw.engine.training.setup import Setup
from ironlaw.engine.training.training_ledger import training_ledger
from ironlaw.registry.workloads import workload
from ironlaw.systems.training.ledger_cases import LedgerCase

GPT2 = LedgerCase("gpt2", 1024, Setup(batch=8, recipe="fp32"))


@pytest.mark.parametrize("batch", [1, 3, 8])
def test_its_peak_is_the_ledgers_own(batch):
    case = GPT2.with_(batch=batch)
    ledger = training_ledger(workload("gpt2", batch=batch, seq=1024, dtype="fp32"))
    assert case.peak == pytest.approx(ledger.peak) and case.ledger.peak == pytest.approx(ledger.peak)


def test_twenty_bytes_a_parameter_while_the_optimiser_steps():
    """Weight, gradient, two moments, and what the step itself makes: four bytes each."""
    assert GPT2.update == pytest.approx(5 * 4 * 124_439_808, rel=1e-3)


def test_the_largest_micro_batch_fits_and_one_more_does_not():
    capacity = 24e9
    most = GPT2.largest(capacity)
    assert GPT2.with_(batch=most).peak <= capacity < GPT2.with_(batch=most + 1).peak


def test_several_micro_batches_are_alike_whatever_their_number():
    two, many = (GPT2.with_(accumulate=count) for count in (2, 64))
    assert two.peak == many.peak and GPT2.sizes == "batch 8 × 1,024 tokens" and LedgerCase("resnet50", 0, Setup(batch=4)).sizes == "batch 4"
