"""The digit classifier under attack: one step, one step from a random start, twenty; and what a step costs beside a pass.

The reader is the bundled one, its images are the 797 that it was not trained on. Every pixel may change by ε, and stays a shade.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ironlaw.engine.numerics.shares import clopper_pearson
from ironlaw.measure.clock import halt
from ironlaw.measure.experiments.bench import Bench
from ironlaw.measure.rows import Draft, case_row, figure_row

EPSILONS = (0.0, 0.05, 0.1, 0.2)
ATTACKS = {"FGSM": (1, False), "PGD-1": (1, True), "PGD-20": (20, True)}  # steps, random start
SEED = 14


def rows(bench: Bench) -> Iterator[Draft]:
    from ironlaw.measure.compression.nets import images, load

    x, y = images()
    net = [(layer.weight.astype(float), layer.bias.astype(float)) for layer in load("mlp").layers]
    cases = [(f"{name} at {size:g}", (name, size)) for name in ATTACKS for size in EPSILONS]
    for name, size in bench.each([*cases, ("what a step costs", ("cost", 0.0))]):
        if name == "cost":
            yield from _costs(bench, net, x, y)
            continue
        steps, random = ATTACKS[name]
        hits = int((scores(net, attack(net, x, y, size, steps, random, bench.stop)).argmax(axis=1) == y).sum())
        sure, label = clopper_pearson(hits, len(y)), f"{name}, pixels off by up to {size:g}"
        values = (100 * hits / len(y), 100 * sure.low, 100 * sure.high)
        yield figure_row("attacked", label, *values, "%", len(y), attack=name, steps=steps, epsilon=size)


def _costs(bench: Bench, net: Any, x: Any, y: Any) -> Iterator[Draft]:
    """Times a forward pass, and an attack step, which is forward and back to the image."""
    for name, label, call in (
        ("forward", "a pass forward", lambda: scores(net, x)), ("step", "a step of attack", lambda: gradient(net, x, y)),
    ):  # fmt: skip
        yield case_row(name, label, {"images": len(y)}, bench.time(call).row())


def scores(net: Any, x: Any) -> Any:
    import numpy as np

    for i, (weight, bias) in enumerate(net):
        x = x @ weight.T + bias
        x = np.maximum(x, 0.0) if i < len(net) - 1 else x
    return x


def softmax(scores: Any) -> Any:
    import numpy as np

    powers = np.exp(scores - scores.max(axis=1, keepdims=True))
    return powers / powers.sum(axis=1, keepdims=True)


def gradient(net: Any, x: Any, y: Any) -> Any:
    """The gradient of the loss with respect to the image; weights get none."""
    import numpy as np

    active, values = [], x
    for weight, bias in net[:-1]:
        values = np.maximum(values @ weight.T + bias, 0.0)
        active.append(values > 0)
    error = softmax(values @ net[-1][0].T + net[-1][1])
    error[np.arange(len(y)), y] -= 1
    for (weight, _), on in zip(net[:0:-1], active[::-1], strict=True):
        error = (error @ weight) * on
    return error @ net[0][0]


def attack(net: Any, x: Any, y: Any, epsilon: float, steps: int, random: bool, stop: Any = None) -> Any:
    """Steps along the gradient's sign, held within ε of each pixel and within the shades."""
    import numpy as np

    size = epsilon if steps == 1 else 2.5 * epsilon / steps
    low, high = np.maximum(x - epsilon, 0.0), np.minimum(x + epsilon, 1.0)
    moved = np.clip(x + np.random.default_rng(SEED).uniform(-epsilon, epsilon, x.shape), low, high) if random else x
    for _ in range(steps):
        halt(stop)
        moved = np.clip(moved + size * np.sign(gradient(net, moved, y)), low, high)
    return moved
