"""The sealed set: totals only, and the README says of it what comes out of it."""

import importlib
import json
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "benchmarks"))
sealed = importlib.import_module("sealed")

SETS = sorted(sealed.SETS.glob("seed-*.json"))
TOTALS = {"library", "model", "mode", "dtype", "batch", "kernels", "busy_s", "wall_s", "piped_s", "error"}


@pytest.mark.parametrize("file", SETS, ids=lambda file: file.stem)
def test_a_set_holds_totals_and_nothing_of_its_operators(file):
    kept = json.loads(file.read_text())
    assert kept["status"] in ("sealed", "open") and kept["history"]
    assert all(set(row) <= TOTALS for row in kept["rows"])
    names = {model["model"] for model in kept["models"]}
    assert len(names) == len(kept["models"]) == sealed.COUNT + sealed.LANGUAGE_MODELS
    assert {row["model"] for row in kept["rows"]} <= names
    assert all(("busy_s" in row) != ("error" in row) for row in kept["rows"])
    assert {"torch", "timm", "torchvision", "transformers"} <= set(kept["software"])


def test_no_architecture_of_a_sealed_set_was_looked_at():
    seen = sealed.looked_at()
    for file in SETS:
        kept = json.loads(file.read_text())
        assert kept["status"] == "open" or not {sealed.architecture(model["model"]) for model in kept["models"]} & seen


def test_exactly_one_set_is_sealed():
    assert [json.loads(file.read_text())["status"] for file in SETS].count("sealed") == 1


def test_the_readme_leads_with_what_comes_out_of_the_sealed_set():
    (kept,) = (kept for kept in map(json.loads, (file.read_text() for file in SETS)) if kept["status"] == "sealed")
    told = (ROOT / "README.md").read_text().partition(sealed.BEGIN)[2].partition(sealed.END)[0].strip().strip("`").strip()
    assert told == sealed.table(kept), "python benchmarks/sealed.py judge --write"
