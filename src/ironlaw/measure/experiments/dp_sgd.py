"""Training with noise, for real: softmax regression, gradients clipped one by one, noise on their sum; accuracy beside the ε it proves.

A layer's gradient of one example is the product of its error and its input, so its norm is the product of theirs: clipping costs no loop.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

from ironlaw.engine.numerics.shares import wilson
from ironlaw.engine.privacy.accountants import epsilon
from ironlaw.measure.clock import halt
from ironlaw.measure.experiments.bench import Bench
from ironlaw.measure.rows import Draft, figure_row

CLASSES, FEATURES, TEST = 10, 32, 2_000
APART = 1.1  # spread of the classes' centres, in deviations of the noise around them
CASES = ((1_000, 0.0), (1_000, 4.0), (1_000, 1.0), (20_000, 0.0), (20_000, 4.0), (20_000, 2.0))  # records, noise multiplier
STEPS, RATE, CLIP, SPEED, SEED = 200, 0.05, 1.0, 2.0, 13


def rows(bench: Bench) -> Iterator[Draft]:
    """Few records and many, without noise and with: the same noise costs accuracy only where few share it."""
    cases = [(f"{records:,} records, noise {noise:g}", (records, noise)) for records, noise in CASES]
    for records, noise in bench.each(cases):
        x, y = mixture(records + TEST)
        weights = train(x[:records], y[:records], noise, CLIP if noise else math.inf, stop=bench.stop)
        hits = int(((x[records:] @ weights).argmax(axis=1) == y[records:]).sum())
        sure, delta = wilson(hits, TEST), 1 / (10 * records)
        spent = epsilon(RATE, noise, STEPS, delta) if noise else 0.0
        label = f"{records:,} records, {f'ε = {spent:.2f}' if noise else 'no noise'}"
        more = {"records": records, "noise": noise, "epsilon": spent, "delta": delta}
        yield figure_row("accuracy", label, 100 * hits / TEST, 100 * sure.low, 100 * sure.high, "%", TEST, **more)


def mixture(count: int) -> tuple[Any, Any]:
    """Made-up records of ten classes, with a constant as their last feature; the same whatever their number."""
    import numpy as np

    centres = APART * np.random.default_rng(SEED).standard_normal((CLASSES, FEATURES))
    draw = np.random.default_rng(SEED + 1)
    y = draw.integers(0, CLASSES, count)
    x = centres[y] + draw.standard_normal((count, FEATURES))
    return np.column_stack([x / math.sqrt(FEATURES), np.ones(count)]), y


def train(x: Any, y: Any, noise: float, clip: float, steps: int = STEPS, rate: float = RATE, stop: Any = None) -> Any:
    """Batches drawn record by record; with noise 0 and an infinite clip norm it is plain SGD."""
    import numpy as np

    draw, ground = np.random.default_rng(SEED + 2), np.random.default_rng(SEED + 3)
    weights, expected = np.zeros((x.shape[1], CLASSES)), rate * len(x)
    for _ in range(steps):
        halt(stop)
        batch = draw.random(len(x)) < rate
        inputs, errors = x[batch], softmax(x[batch] @ weights)
        errors[np.arange(len(errors)), y[batch]] -= 1
        if clip < math.inf:
            errors *= np.minimum(1.0, clip / np.maximum(norms(inputs, errors), 1e-12))[:, None]
        total = inputs.T @ errors
        if noise:
            total += noise * clip * ground.standard_normal(weights.shape)
        weights -= SPEED * total / expected
    return weights


def norms(inputs: Any, errors: Any) -> Any:
    """Of each example's gradient: |input| · |error|."""
    import numpy as np

    return np.linalg.norm(inputs, axis=1) * np.linalg.norm(errors, axis=1)


def softmax(scores: Any) -> Any:
    import numpy as np

    powers = np.exp(scores - scores.max(axis=1, keepdims=True))
    return powers / powers.sum(axis=1, keepdims=True)
