"""What compares a browser's predictions with this Python's notices a difference; tests/release/test_site_figures.py compares them."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "benchmarks"))
import site_figures


def test_a_difference_is_seen():
    ours = {"gpt2 on t4, eager": [1.0, 0.5], "gpt2 on t4, compiled": "no rate in FP16"}
    assert site_figures.different(ours, {**ours, "gpt2 on t4, eager": [1.0 + 1e-9, 0.5]}) == ["gpt2 on t4, eager"]
    assert site_figures.different(ours, {**ours, "gpt2 on t4, compiled": "no rate"}) == ["gpt2 on t4, compiled"]
    assert site_figures.different(ours, {}) == sorted(ours)
