"""DP-SGD on softmax regression, many designs at once: all see the same batches and the same noise, each clips and steps in its own way.

A gradient of one example is the product of its input and its error, so its norm is the product of theirs: clipping needs no loop.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

CLASSES = 10
AT_ONCE = 128  # examples: as many as a cache holds
TINY = 1e-12


@dataclass(frozen=True)
class Design:
    """Noise is σ, a multiple of the clip norm; σ = 0 with a clip norm of infinity is plain SGD."""

    noise: float
    clip: float
    speed: float  # learning rate


@dataclass(frozen=True)
class Stop:
    """After so many steps: weights of (classes, features, designs), and the share of gradients that each design clipped so far."""

    step: int
    weights: Any
    clipped: Any


def train(x: Any, y: Any, designs: Sequence[Design], rate: float, stops: Sequence[int], seed: int) -> Iterator[Stop]:
    """A batch takes each record with probability `rate`; the noisy sum of its clipped gradients is divided by the expected size."""
    noise, clip, speed = (np.array([getattr(one, name) for one in designs], dtype=x.dtype) for name in ("noise", "clip", "speed"))
    deviation = noise * np.where(noise > 0, clip, 0)  # 0 · ∞ is not noise
    pace = speed / (rate * len(x))
    draw = np.random.default_rng(seed)
    weights = np.zeros((CLASSES, x.shape[1], len(designs)), dtype=x.dtype)
    clipped, seen = np.zeros(len(designs)), 0
    for step in range(1, max(stops) + 1):
        batch = np.flatnonzero(draw.random(len(x)) < rate)
        total = deviation * draw.standard_normal((CLASSES, x.shape[1], 1), dtype=np.float32)
        for at in range(0, len(batch), AT_ONCE):
            part = batch[at : at + AT_ONCE]
            gradient, over = clipped_sum(x[part], y[part], weights, clip)
            total += gradient
            clipped += over
        seen += len(batch)
        weights = weights - pace * total
        if step in stops:
            yield Stop(step, weights, clipped / max(1, seen))


def clipped_sum(inputs: Any, labels: Any, weights: Any, clip: Any) -> tuple[Any, Any]:
    """The sum of the examples' clipped gradients, and how many were clipped, of each design."""
    errors = softmax(inputs, weights)
    errors[labels, np.arange(len(labels))] -= 1
    scale = np.minimum(1, clip / np.maximum(norms(inputs, errors), TINY)).astype(errors.dtype)
    errors *= scale
    return np.matmul(inputs.T, errors), (scale < 1).sum(axis=0)


def norms(inputs: Any, errors: Any) -> Any:
    """The norm of each example's gradient, by design: |input| · |error|."""
    return np.linalg.norm(inputs, axis=1)[:, None] * np.sqrt(np.square(errors).sum(axis=0))


def softmax(inputs: Any, weights: Any) -> Any:
    """(classes, examples, designs)"""
    scores = np.matmul(inputs, weights)
    scores -= scores.max(axis=0)
    np.exp(scores, out=scores)
    scores /= scores.sum(axis=0)
    return scores


def hits(x: Any, y: Any, weights: Any) -> Any:
    """How many of the images each design classifies correctly."""
    return (np.matmul(x, weights).argmax(axis=0) == y[:, None]).sum(axis=0)


def signal(x: Any, y: Any, clip: float) -> float:
    """The norm of the mean clipped gradient before the first step, where every class is as likely."""
    errors = np.full((len(x), CLASSES), 1 / CLASSES) - np.eye(CLASSES)[y]
    norms = np.linalg.norm(x, axis=1) * np.linalg.norm(errors, axis=1)
    errors *= np.minimum(1.0, clip / norms)[:, None]
    return float(np.linalg.norm(x.T @ errors) / len(x))
