"""Training with noise, for real: gradients clipped one by one, noise on their sum; accuracy beside the ε it proves.

On handwritten digits, and on made-up ones where there are more records than those.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

from ironlaw.engine.numerics.shares import wilson
from ironlaw.engine.privacy.accountants import epsilon
from ironlaw.measure.clock import halt
from ironlaw.measure.experiments.bench import Bench
from ironlaw.measure.rows import Draft, figure_row

CASES = ((1_000, 0.0), (1_000, 4.0), (1_000, 1.0), (20_000, 0.0), (20_000, 4.0), (20_000, 2.0))  # records, noise multiplier
STEPS, RATE, CLIP, SPEED, SEED = 200, 0.05, 1.0, 3.0, 13
AT_ONCE = 10  # steps between two looks at whether it was cancelled


def rows(bench: Bench) -> Iterator[Draft]:
    """Few records and many, without noise and with: the same noise costs accuracy only where few share it."""
    from ironlaw.measure.dp_training.images import images
    from ironlaw.measure.dp_training.training import Design, hits, train

    cases = [(f"{records:,} records, noise {noise:g}", (records, noise)) for records, noise in CASES]
    for records, noise in bench.each(cases):
        x, y, test_x, test_y = images(records)
        design, count, tested = Design(noise, CLIP if noise else math.inf, SPEED), 0, len(test_y)
        for stop in train(x, y, [design], RATE, range(AT_ONCE, STEPS + 1, AT_ONCE), SEED):
            halt(bench.stop)
            if stop.step == STEPS:
                count = int(hits(test_x, test_y, stop.weights)[0])
        sure, delta = wilson(count, tested), 1 / (10 * records)
        spent = epsilon(RATE, noise, STEPS, delta) if noise else 0.0
        label = f"{records:,} records, {f'ε = {spent:.2f}' if noise else 'no noise'}"
        more = {"records": records, "noise": noise, "epsilon": spent, "delta": delta}
        yield figure_row("accuracy", label, 100 * count / tested, 100 * sure.low, 100 * sure.high, "%", tested, **more)
