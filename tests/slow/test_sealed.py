"""The sealed set: totals only, and docs/accuracy.md says of it what comes out of it."""

import importlib
import json
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "benchmarks"))
sealed = importlib.import_module("sealed")

SETS = sorted(sealed.SETS.glob("seed-*.json"))
TOTALS = {"library", "model", "mode", "dtype", "batch", "kernels", "busy_s", "wall_s", "piped_s", "error", "host", "turns", "calls"}


@pytest.mark.parametrize("file", SETS, ids=lambda file: file.stem)
def test_a_set_holds_totals_and_nothing_of_its_operators(file):
    kept = json.loads(file.read_text())
    assert kept["history"]
    assert all(set(row) <= TOTALS for row in kept["rows"])
    names = {model["model"] for model in kept["models"]}
    assert len(names) == len(kept["models"]) == sealed.COUNT + sealed.LANGUAGE_MODELS
    assert {row["model"] for row in kept["rows"]} <= names
    assert all(("busy_s" in row) != ("error" in row) for row in kept["rows"])
    assert all(row == sealed.possible(row) for row in kept["rows"])
    assert {"torch", "timm", "torchvision", "transformers"} <= set(kept["software"])


def test_no_gpu_is_busy_for_longer_than_the_call_lasts():
    row = {"model": "x", "kernels": 5, "busy_s": 1.0, "wall_s": 1.1, "piped_s": 0.99}
    assert sealed.possible(row) == row
    shared = sealed.possible(row | {"piped_s": 0.9})
    assert set(shared) == {"model", "error"} and "1.000000 s of a call of 0.900000 s" in shared["error"]


def test_no_architecture_of_a_sealed_model_was_looked_at():
    seen = sealed.looked_at()
    for file in SETS:
        assert not {sealed.architecture(name) for name in sealed.parts(json.loads(file.read_text())).get(sealed.SEALED, ())} & seen


def test_every_model_of_a_set_is_either_sealed_or_opened():
    for file in SETS:
        kept = json.loads(file.read_text())
        parts = sealed.parts(kept)
        assert sum(map(len, parts.values())) == len(kept["models"]) and set.union(*parts.values()) == {m["model"] for m in kept["models"]}
