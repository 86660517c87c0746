"""Ends of intervals that rounding must not move."""

import pytest

from ironlaw.engine.numerics.shares import wilson


def test_an_interval_of_no_hits_begins_at_nothing():
    """It began at 1.4e-17, which a page wrote out; Wilson's other end is z²/(n + z²)."""
    for trials in range(1, 60):
        assert wilson(0, trials).low == 0.0 and wilson(trials, trials).high == 1.0
    assert wilson(0, 20).high == pytest.approx(1.959964**2 / (20 + 1.959964**2))
