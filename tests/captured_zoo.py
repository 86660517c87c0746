"""Captured models beside the H200's measurements of them: nothing was fitted to any, and none is run here."""

from __future__ import annotations

import sys
from pathlib import Path
from statistics import mean

from ironlaw.compare import Comparison

sys.path.insert(0, str(Path(__file__).parents[1] / "benchmarks"))


def compare(models: set[str] | None = None) -> list[Comparison]:
    """Every measured row of these models, or of all, beside its prediction."""
    import accuracy
    import open_set

    return accuracy.compared(list(open_set.captured_models(models)))


def check(comparisons: list[Comparison], count: int, limit: float) -> None:
    assert len(comparisons) >= count, listed(comparisons)
    assert mean(abs(gap.error) for gap in comparisons) < limit, listed(comparisons)
    assert max(abs(gap.error) for gap in comparisons) < 0.25, listed(comparisons)
    assert mean(abs(gap.kernels / gap.measured_kernels - 1) for gap in comparisons) < 0.10, listed(comparisons)


def listed(comparisons: list[Comparison]) -> str:
    worst = sorted(comparisons, key=lambda gap: -abs(gap.error))
    return "\n".join(f"{gap.name:42} {gap.mode:9} {gap.error:+7.1%}  kernels {gap.kernels:,.0f} of {gap.measured_kernels}" for gap in worst)
