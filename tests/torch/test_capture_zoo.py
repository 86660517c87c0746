"""Captured models against the H200's measurements of them; nothing was fitted to any. Built on the meta device, never run."""

import sys
import warnings
from pathlib import Path
from statistics import mean

import pytest

pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")
sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))
import accuracy  # noqa: E402
import open_set  # noqa: E402

from ironlaw.compare import Comparison, comparisons, speedups  # noqa: E402


@pytest.fixture(autouse=True)
def quiet() -> None:
    warnings.filterwarnings("ignore")
    transformers.logging.set_verbosity_error()


@pytest.fixture(scope="module")
def found() -> list[Comparison]:
    warnings.filterwarnings("ignore")
    return accuracy.compared(list(open_set.captured_models()))


def listed(comparisons: list[Comparison]) -> str:
    worst = sorted(comparisons, key=lambda gap: -abs(gap.error))
    return "\n".join(f"{gap.name:42} {gap.mode:9} {gap.error:+7.1%}  kernels {gap.kernels:,.0f} of {gap.measured_kernels}" for gap in worst)


def check(comparisons: list[Comparison], count: int, limit: float) -> None:
    assert len(comparisons) >= count, listed(comparisons)
    assert mean(abs(gap.error) for gap in comparisons) < limit, listed(comparisons)
    assert max(abs(gap.error) for gap in comparisons) < 0.25, listed(comparisons)
    assert mean(abs(gap.kernels / gap.measured_kernels - 1) for gap in comparisons) < 0.10, listed(comparisons)


def test_device_time_and_kernels_of_models_never_fitted_to(found: list[Comparison]) -> None:
    check([gap for gap in found if gap.mode == "eager"], 53, 0.10)
    check([gap for gap in found if gap.mode == "compiled"], 28, 0.10)


def test_what_compiling_brings(found: list[Comparison]) -> None:
    """Over all models that were measured eager and compiled, the registry's and the captured ones."""
    brought = speedups([*found, *comparisons("h200_sxm", "model")])
    told = "\n".join(f"{one.name:42} {one.error:+7.1%} {one.predicted:.2f}× of {one.measured:.2f}×" for one in brought)
    assert len(brought) >= 34, told
    assert mean(abs(one.error) for one in brought) < 0.10, told
    assert sum(abs(one.error) > 0.15 for one in brought) <= 0.2 * len(brought), told


def test_training_steps(found: list[Comparison]) -> None:
    check([gap for gap in found if gap.mode == "training"], 5, 0.10)
