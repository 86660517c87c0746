"""Models as engineers write them (benchmarks/device/own): the set that was drawn from them, and their capture."""

import json
import sys
import warnings
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")
ROOT = Path(__file__).parents[2]
sys.path[:0] = [str(ROOT / "benchmarks/device"), str(ROOT / "benchmarks")]
import own  # noqa: E402
import sealed  # noqa: E402

import ironlaw as il  # noqa: E402

SETS = sorted(sealed.SETS.glob("own-*.json"))


@pytest.mark.parametrize("file", SETS, ids=lambda file: file.stem)
def test_a_set_has_its_sealed_and_opened_models_and_all_exist(file: Path) -> None:
    kept = json.loads(file.read_text())
    parts = sealed.parts(kept)
    opened = sum(len(names) for title, names in parts.items() if title != sealed.SEALED)
    closed = len(parts.get(sealed.SEALED, ()))
    assert (closed, opened) == {
        "own-1": (20, 60),
        "own-2": (0, 25),
        "own-3": (0, 24),
        "own-4": (0, 28),
        "own-5": (0, 27),
        "own-6": (0, 28),
        "own-7": (0, 28),
        "own-8": (0, 28),
        "own-9": (0, 28),
        "own-10": (28, 0),
        "own-11": (0, 28),
        "own-12": (28, 0),
        "own-13": (28, 0),
        "own-14": (28, 0),
    }[file.stem]
    for model in kept["models"]:
        known = own.MODELS[model["model"]]
        assert (known.kind, known.half) == (model["kind"], model["half"])
        assert model["trained"] or not model["autocast"]


def test_no_model_is_in_two_sets() -> None:
    names = [model["model"] for file in SETS for model in json.loads(file.read_text())["models"]]
    assert len(names) == len(set(names))


def test_a_training_step_is_captured_with_its_optimiser() -> None:
    """Three layers: their products forward, the gradients of weights, and those of inputs for all but the first (which reads data)."""
    warnings.filterwarnings("ignore")
    call, inputs, loss = own.build("mixture_density_ensemble", "training", "fp32", "cpu", small=True)
    graph = il.capture(own.step_of(call, loss, "cpu"), inputs)
    products = sum(op.work.matmul_flops > 0 for op in graph.ops)
    assert products == 3 + 3 + 2
    forward = sum(2.0 * 2 * 6 * a * b for a, b in ((4, 8), (8, 8), (8, 24)))
    assert sum(op.work.matmul_flops for op in graph.ops) == 3 * forward - 2.0 * 2 * 6 * 4 * 8
    plain = il.capture(call, inputs)
    assert len(graph.ops) > 2 * len(plain.ops)
