"""Runs of opened models come out as they are stored. (Stored curves are those of the evidence: tests/release/test_refit_curves.py.)"""

import importlib
import sys
from pathlib import Path

import pytest
from how_thorough import RELEASE

import ironlaw as il
from ironlaw.systems.accuracy.held_out import outcomes_of, stored_unseen

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "benchmarks"))
opened = importlib.import_module("opened_runs")


def test_opened_runs_come_out_as_they_are_stored():
    """A few of every fifth set, all before a release: a rule that moved since the intervals were fitted shows."""
    stored = {(o.model, o.mode, o.run): o.error for o in stored_unseen("h200_sxm") if not o.first}
    assert len(stored) > 90
    few = opened.opened_runs() if RELEASE else opened.opened_runs(every=24, sets=5)
    for one in outcomes_of(il.hardware("h200_sxm"), few):
        assert one.error == pytest.approx(stored[one.model, one.mode, one.run], abs=2e-3), "run: python scripts/fit_intervals.py"
