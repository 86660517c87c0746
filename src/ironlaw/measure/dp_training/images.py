"""What is trained on: 1,000 handwritten digits of 8 × 8 pixels, and made-up ones in any number, drawn around the real ones' means."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from ironlaw.registry.loader import folder

REAL, TESTED = 1_000, 2_000  # real images that train; made-up ones that test
CLASSES = 10
SEED = 13


@cache
def real() -> tuple[Any, Any, Any, Any]:
    """(inputs, labels) that train and (inputs, labels) that test: those of Lab 10's digit classifier."""
    return (*_read("digits_training.txt"), *_read("digits_images.txt"))


@cache
def drawn(count: int) -> tuple[Any, Any, Any, Any]:
    """The same of made-up digits: normal around the mean of each class, with the spread that the real ones have within theirs."""
    x, y, _, _ = real()
    pixels = x[:, :-1].astype(np.float64)
    means = np.stack([pixels[y == digit].mean(axis=0) for digit in range(CLASSES)])
    values, vectors = np.linalg.eigh(np.cov((pixels - means[y]).T))
    return (*_draw(means, values, vectors, count, SEED), *_draw(means, values, vectors, TESTED, SEED + 1))


def _draw(means: Any, values: Any, vectors: Any, count: int, seed: int) -> tuple[Any, Any]:
    draw = np.random.default_rng(seed)
    labels = draw.integers(0, CLASSES, count)
    spread = draw.standard_normal((count, len(values))) * np.sqrt(np.maximum(values, 0.0)) @ vectors.T
    return _with_constant(means[labels] + spread), labels


def images(count: int) -> tuple[Any, Any, Any, Any]:
    """Real ones as far as there are any."""
    return real() if count <= REAL else drawn(count)


def _read(name: str) -> tuple[Any, Any]:
    lines = (folder("trained") / name).read_text(encoding="utf-8").split()
    shades = np.array([[int(shade, 16) for shade in line] for line in lines[1::2]])
    return _with_constant((shades / 15 - 0.5) / 4), np.array(lines[::2], dtype=np.int64)


def _with_constant(inputs: Any) -> Any:
    """A constant as the last feature; an input then has a norm of about 1."""
    return np.column_stack([inputs, np.full(len(inputs), 0.5)]).astype(np.float32)
