"""More data narrows intervals and moves no ray: a logistic score trained on made-up people with known base rates, few and many of them."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

from ironlaw.engine.numerics.shares import wilson
from ironlaw.engine.parity.rates import ray
from ironlaw.measure.clock import halt
from ironlaw.measure.experiments.bench import Bench
from ironlaw.measure.rows import Draft, figure_row

BASES = {"A": 0.3, "B": 0.1}
SIZES = (1_000, 10_000, 100_000)
FEATURES, STEPS, SEED = 4, 200, 15
SHIFT = 0.7  # of each feature's mean among the true


def rows(bench: Bench) -> Iterator[Draft]:
    """For each number of people: the precision in both groups at one threshold, and the slope of the ray it lies on."""
    for people in bench.each([(f"{people:,} people", people) for people in SIZES]):
        halt(bench.stop)
        yield from trained(people)


def trained(people: int) -> Iterator[Draft]:
    import numpy as np

    draw = np.random.default_rng(SEED)
    group = draw.integers(0, 2, people)
    base = np.where(group == 0, BASES["A"], BASES["B"])
    true = draw.random(people) < base
    features = draw.standard_normal((people, FEATURES)) + SHIFT * true[:, None]
    score = features @ weights(features, true)[1:]
    flagged = score >= np.quantile(score, 0.8)
    for number, name in enumerate(BASES):
        mine = flagged & (group == number)
        hits, of = int((mine & true).sum()), int(mine.sum())
        sure = wilson(hits, of)
        label = f"precision in group {name}, {people:,} people"
        slope = ray(BASES[name], hits / of) if 0 < hits < of else math.inf
        more = {"people": people, "group": name, "ray": slope if math.isfinite(slope) else 0.0}
        yield figure_row("precision", label, 100 * hits / of, 100 * sure.low, 100 * sure.high, "%", of, **more)


def weights(features: Any, true: Any) -> Any:
    """Logistic regression by gradient descent; the first is the constant."""
    import numpy as np

    x = np.column_stack([np.ones(len(features)), features])
    slopes = np.zeros(x.shape[1])
    for _ in range(STEPS):
        slopes -= 0.5 * x.T @ (1 / (1 + np.exp(-(x @ slopes))) - true) / len(x)
    return slopes
