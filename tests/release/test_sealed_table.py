"""The README and docs/accuracy.md lead with what comes out of the sealed sets today."""

import importlib
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "benchmarks"))
sealed = importlib.import_module("sealed")


def test_the_pages_lead_with_what_comes_out_of_the_sealed_models():
    sets = list(sealed.newest())
    for name, text in sealed.PAGES.items():
        shown = (ROOT / name).read_text().partition(sealed.BEGIN)[2].partition(sealed.END)[0].strip()
        assert shown == text(sets), "python benchmarks/sealed.py judge --set none --write"
