"""Attacks within ε of each pixel: one step, many, several starts; along the loss, or along the margin to the next class.

The loss's gradient vanishes where the answer is sure beyond what the format holds; the margin's does not, since it is not squeezed
through a softmax. AutoAttack has attacks of both kinds (Croce and Hein 2020).
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ironlaw.measure.adversarial.readers import Array, Reader
from ironlaw.registry.adversarial_tables import FGSM, MARGIN, PGD

SEED = 14
REACH = 2.5  # how far all steps together could go, in ε


def loss_error(y: Array) -> Callable[[Array], Array]:
    """The gradient of the cross-entropy: the shares, less one for the right class."""

    def error(scores: Array) -> Array:
        shares = np.exp(scores - scores.max(axis=1, keepdims=True))
        shares /= shares.sum(axis=1, keepdims=True)
        shares[np.arange(len(y)), y] -= 1
        return shares

    return error


def margin_error(y: Array) -> Callable[[Array], Array]:
    """The gradient of the margin: the best other class's score less the right one's."""

    def error(scores: Array) -> Array:
        rows, others = np.arange(len(y)), scores.copy()
        others[rows, y] = -np.inf
        slope = np.zeros_like(scores)
        slope[rows, others.argmax(axis=1)] = 1
        slope[rows, y] = -1
        return slope

    return error


def attack(reader: Reader, x: Array, y: Array, epsilon: float, kind: str, steps: int, start: int = 0) -> Array:
    """The images after `steps` steps, each pixel within ε of where it was and within the shades. `start` numbers the random start."""
    x = x.astype(np.float32)
    size = np.float32(epsilon if steps == 1 else REACH * epsilon / steps)
    low, high = np.maximum(x - np.float32(epsilon), 0), np.minimum(x + np.float32(epsilon), 1)
    moved = x if kind == FGSM else np.clip(x + np.float32(epsilon) * noise(start, x.shape), low, high)
    error = margin_error(y) if kind == MARGIN else loss_error(y)
    assert kind in (FGSM, PGD, MARGIN)
    for _ in range(steps):
        moved = np.clip(moved + size * np.sign(reader.back(moved, error)), low, high)
    return moved


def noise(start: int, shape: tuple[int, ...]) -> Array:
    """Noise from −1 to 1, another for each start."""
    return np.random.default_rng((SEED, start)).uniform(-1, 1, shape).astype(np.float32)


def withstood(reader: Reader, x: Array, y: Array, epsilon: float, kind: str, steps: int, restarts: int) -> tuple[int, ...]:
    """How many images are still read right after one start, after two, …: an image falls when any start fells it."""
    standing = np.ones(len(y), bool)
    counts = []
    for start in range(restarts):  # what fell before is not attacked again
        left = np.flatnonzero(standing)
        moved = attack(reader, x[left], y[left], epsilon, kind, steps, start)
        standing[left] = reader.scores(moved).argmax(axis=1) == y[left]
        counts.append(int(standing.sum()))
    return tuple(counts)
