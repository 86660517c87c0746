"""Kernels that torch.compile writes, function by function, against an H200 (evidence h200_sxm/written)."""

import random
import sys
from pathlib import Path
from statistics import mean, median

import torch
from how_thorough import RELEASE

import ironlaw as il
from ironlaw.registry.evidence import file

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks" / "device"))
import written_kernels

SAMPLE = 24


def test_predicted_times_of_written_kernels():
    """The mean and the median error over a sample; over all of them before a release."""
    seen = {row.name: row.busy_s for row in file("h200_sxm/written").rows if row.busy_s}
    machine, errors = il.hardware("h200_sxm"), {}
    with torch.device("meta"):
        cases = list(written_kernels.cases())
    for name, function, inputs in cases if RELEASE else random.Random(1).sample(cases, SAMPLE):
        told = il.predict(il.capture(function, inputs), machine, il.Plan(mode="compiled"))
        errors[name] = told.busy_s / seen[name] - 1.0
    assert len(errors) == (len(seen) if RELEASE else SAMPLE)
    assert median(map(abs, errors.values())) < 0.15, errors
    assert mean(map(abs, errors.values())) < 0.25, errors
    assert abs(mean(errors.values())) < 0.15, errors
