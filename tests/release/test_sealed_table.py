"""The README leads with what comes out of the sealed sets today."""

import importlib
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "benchmarks"))
sealed = importlib.import_module("sealed")


def test_the_readme_leads_with_what_comes_out_of_the_sealed_models():
    text = (ROOT / "README.md").read_text().partition(sealed.BEGIN)[2].partition(sealed.END)[0].strip().strip("`").strip()
    assert text == sealed.leading(), "python benchmarks/sealed.py judge --write"
