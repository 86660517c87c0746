"""Fits curves and families to the evidence again, some twenty seconds for the H200, and holds the stored file to the result."""

import importlib
import sys
from dataclasses import fields
from itertools import chain, islice
from pathlib import Path

import pytest

import ironlaw as il
from ironlaw.calibration.curve import Curve
from ironlaw.registry.calibrations import calibration
from ironlaw.systems.accuracy.held_out import outcomes_of, stored_unseen
from ironlaw.systems.accuracy.refit import refit

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "benchmarks"))
opened = importlib.import_module("opened_runs")


def test_opened_runs_come_out_as_they_are_stored():
    """One in nine of them: a rule that moved since the intervals were fitted shows."""
    stored = {(o.model, o.mode, o.run): o.error for o in stored_unseen("h200_sxm") if not o.first}
    assert len(stored) > 90
    for one in outcomes_of(il.hardware("h200_sxm"), islice(opened.opened_runs(), 0, None, 9)):
        assert one.error == pytest.approx(stored[one.model, one.mode, one.run], abs=2e-3), "run: python scripts/fit_intervals.py"


@pytest.mark.parametrize("slug", ["h200_sxm", "neoverse_n1_2core"])
def test_the_stored_curves_are_those_of_the_evidence(slug):
    stored, (fitted, _) = calibration(slug), refit(slug, ())  # how whole models came out is held by tests/registry/test_refit.py
    assert set(stored.curves) == set(fitted.curves)
    for name, curve in fitted.curves.items():
        for field in fields(Curve):
            found, kept = getattr(curve, field.name), getattr(stored.curves[name], field.name)
            # abs: a knee of 1e-13 steps is none
            assert found == pytest.approx(kept, rel=0.01, abs=1e-12), f"{name}.{field.name}; run: python scripts/calibrate.py {slug}"
    assert set(stored.families) == set(fitted.families)
    for name, family in fitted.families.items():
        kept = stored.families[name]
        assert (*family.scales, family.noise, family.signal, family.widen) == pytest.approx(
            (*kept.scales, kept.noise, kept.signal, kept.widen), rel=0.01
        ), f"{name}; run: python scripts/calibrate.py {slug}"
        assert family.extras == kept.extras and family.residuals == pytest.approx(kept.residuals, abs=0.01)
        assert [*chain(*family.places)] == pytest.approx([*chain(*kept.places)], abs=1e-3)
    assert fitted.host.launches == pytest.approx(stored.host.launches)
    assert fitted.stand_in == pytest.approx(stored.stand_in, rel=0.01)
    assert (fitted.cache_bytes, fitted.sources) == (stored.cache_bytes, stored.sources)
    assert (fitted.graph_gap, fitted.host.graph_start, fitted.host.entry, fitted.slower) == pytest.approx(
        (stored.graph_gap, stored.host.graph_start, stored.host.entry, stored.slower), rel=0.01
    )
