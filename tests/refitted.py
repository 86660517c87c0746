"""Fits curves and families to the evidence again, and holds the stored file to the result."""

from dataclasses import fields
from itertools import chain

import pytest

from ironlaw.calibration.curve import Curve
from ironlaw.registry.calibrations import calibration
from ironlaw.systems.accuracy.refit import refit


def check_refit(slug: str) -> None:
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
