"""All captured models against the H200's measurements of them; tests/torch/test_capture_zoo.py takes a few."""

import warnings
from statistics import mean

import pytest

pytest.importorskip("torch")
pytest.importorskip("transformers")
from captured_zoo import check, compare

from ironlaw.compare import Comparison, comparisons, speedups


@pytest.fixture(scope="module")
def found() -> list[Comparison]:
    with warnings.catch_warnings():
        return compare()


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
