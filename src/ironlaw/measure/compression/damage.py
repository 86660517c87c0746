"""What became of a net's answers: how many are right, how far its distributions moved, which answers flipped."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np

from ironlaw.engine.numerics.shares import Share, wilson
from ironlaw.measure.compression.nets import Array, Net, images, load, logits
from ironlaw.registry.trained_nets import trained


@dataclass(frozen=True)
class Damage:
    """A net's damage compared with the one it was made from. KL in nats, a mean over the images."""

    accuracy: Share
    kl: float
    flips: tuple[tuple[int, int], ...]  # (image, new answer) where it changed, first those that the net was surest of


def damage(reference: Net, net: Net) -> Damage:
    """What became of the answers to the test images."""
    x, labels = images()
    return compare(_reference(reference), logits(net, x), labels)


def compare(before: Array, after: Array, labels: Array) -> Damage:
    p, q = _log_softmax(before), _log_softmax(after)
    kl = float(np.mean(np.sum(np.exp(p) * (p - q), axis=1)))
    old, new = before.argmax(1), after.argmax(1)
    changed = np.nonzero(old != new)[0]
    surest = changed[np.argsort(-np.exp(p[changed, old[changed]]), kind="stable")]
    return Damage(wilson(int((new == labels).sum()), len(labels)), max(kl, 0.0), tuple((int(i), int(new[i])) for i in surest))


def _reference(net: Net) -> Array:
    stored = net.name in trained("digits").nets and net is load(net.name)
    return _stored_logits(net.name) if stored else logits(net, images()[0])


@cache
def _stored_logits(name: str) -> Array:
    return logits(load(name), images()[0])


def _log_softmax(values: Array) -> Array:
    shifted = values - values.max(axis=1, keepdims=True)
    return shifted - np.log(np.exp(shifted).sum(axis=1, keepdims=True))
