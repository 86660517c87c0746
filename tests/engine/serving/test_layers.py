"""Layers of services on a calm day: against the gamma law, draws, and the fixed point that retries have to meet."""

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from ironlaw.engine.serving.retries import attempts
from ironlaw.engine.serving.service_layers import Layers
from ironlaw.errors import BadValue

PLAIN = Layers(5, 0.5, 0.010)


def test_without_copies_and_retries_it_is_a_gamma_law():
    assert PLAIN.quantile(0.999) == pytest.approx(stats.gamma(5, scale=0.020).ppf(0.999), rel=1e-4)
    assert PLAIN.quantile(0.999) == pytest.approx(0.2959, abs=1e-4) and PLAIN.busy == 0.5 and PLAIN.attempts == 1
    assert replace(PLAIN, count=1).quantile(0.99) == pytest.approx(0.020 * math.log(100))


def test_copies_are_load_and_the_first_answer_counts():
    """Against draws of lines that are busier by the copies."""
    hedged = replace(PLAIN, hedge=0.9)
    assert hedged.busy == pytest.approx(0.55) and hedged.copies == pytest.approx(0.1)
    random, mean = np.random.default_rng(3), 0.010 / 0.45
    first, copy = random.exponential(mean, (400_000, 5)), random.exponential(mean, (400_000, 5))
    after = mean * math.log(10)
    taken = np.where(first > after, np.minimum(first, after + copy), first).sum(axis=1)
    assert hedged.quantile(0.999) == pytest.approx(np.quantile(taken, 0.999), rel=0.02) and hedged.quantile(0.999) < PLAIN.quantile(0.999)
    crowded = replace(PLAIN, load=0.8)
    assert replace(crowded, hedge=0.9).quantile(0.999) > 1.2 * crowded.quantile(0.999)


@pytest.mark.parametrize("load", [0.3, 0.5, 0.55])
def test_retries_make_the_load_that_makes_them(load):
    layers = replace(PLAIN, load=load, timeout=0.05, retries=2)
    late = math.exp(-0.05 * (1 - layers.busy) / 0.010)
    assert layers.attempts == pytest.approx(attempts(late, 2), rel=1e-6) and layers.busy == pytest.approx(load * layers.attempts)
    assert layers.whole is not None and layers.whole.fails == pytest.approx(late**3, rel=1e-4)


def test_a_line_that_never_ends():
    drowned = replace(PLAIN, load=0.95, timeout=0.02, retries=3)
    assert drowned.attempts == math.inf and drowned.whole is None and drowned.quantile(0.5) == math.inf
    assert replace(drowned, budget=0.01).attempts == 1.01 and replace(PLAIN, load=1.0).quantile(0.5) == math.inf
    assert replace(PLAIN, load=0.6, timeout=0.05, retries=2).attempts == math.inf  # retries alone take the rest
    assert replace(PLAIN, load=0.96, hedge=0.9).quantile(0.5) == math.inf


@pytest.mark.parametrize(
    ("change", "words"), [({"count": 0}, "1 to 100"), ({"load": 0.0}, "load"), ({"hedge": 1.0}, "0.95"), ({"timeout": -1.0}, "timeout")]
)
def test_bad_input_says_what_to_give(change, words):
    with pytest.raises(BadValue, match=words):
        replace(PLAIN, **change)
