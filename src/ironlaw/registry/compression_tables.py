"""The digit classifier squeezed, as stored tables: what each setting of a lab's dials does to its answers. Read without NumPy.

`python -m ironlaw.measure.compression.tables` computes them with the functions of `measure/compression`,
from the weights in registry/trained.
"""

from __future__ import annotations

import csv
import json
from dataclasses import dataclass
from functools import cache
from typing import Any

from ironlaw.engine.numerics.shares import Share, wilson
from ironlaw.errors import BadRegistry
from ironlaw.registry.loader import folder
from ironlaw.registry.trained_nets import trained

WIDE = ("mlp", "ds_cnn")  # the nets whose channels can be spread
READERS = ("mlp", "half", "quarter", "eighth", "half_distilled", "quarter_distilled", "eighth_distilled")
BITS = (2, 3, 4, 5, 6, 7, 8)
STORED = (16, 32)  # FP16, FP32
GROUPS = (16, 32, 64)
SCALES = ("tensor", "channel", *map(str, GROUPS))
SPREADS = (1, 3, 10, 30, 100)
SHARES = (0, 50, 80, 90, 95)  # of the weights that are pruned, in %
BINS = 41
KEPT_FLIPS = 8  # images that are named in a row
BITS_COLUMNS = ("net", "spread", "bits", "scale", "clip", "zero", "hits", "kl", "flips", "changed")
READER_COLUMNS = ("net", "bits", "scale", "share", "hits", "kl", "flips", "changed")


@dataclass(frozen=True, slots=True)
class Squeezed:
    """What became of the answers to the test images. KL in nats."""

    hits: int
    kl: float
    flips: int
    changed: tuple[tuple[int, int], ...]  # the first images whose answer changed, surest before, and what they are taken for now

    @property
    def accuracy(self) -> Share:
        return wilson(self.hits, trained("digits").tested)


def at_bits(net: str, spread: int, bits: int, scale: str = "channel", clip: str = "max", zero: bool = False) -> Squeezed:
    """A net whose channels were spread, stored in so many bits; against the net as it was trained."""
    plain = bits in STORED
    key = (net, str(spread), str(bits), "none" if plain else scale, "none" if plain else clip, str(int(zero and not plain)))
    return _found("bits", key)


def reader(net: str, bits: int, scale: str = "channel", share: int = 0) -> Squeezed:
    """A reader of some width, pruned by a share in %, stored in so many bits; against the full reader."""
    return _found("readers", (net, str(bits), "none" if bits == 32 else scale, str(share)))


def _found(table: str, key: tuple[str, ...]) -> Squeezed:
    rows = _table(table)
    if key not in rows:
        raise BadRegistry(f"registry/trained/digits_{table}.csv has no row {', '.join(key)}; choose a setting that was computed")
    return rows[key]


@cache
def _table(name: str) -> dict[tuple[str, ...], Squeezed]:
    columns = BITS_COLUMNS if name == "bits" else READER_COLUMNS
    path = folder("trained") / f"digits_{name}.csv"
    with path.open(encoding="utf-8", newline="") as file:
        header, *lines = csv.reader(file)
    if tuple(header) != columns:
        raise BadRegistry(f"registry/trained/{path.name} has the columns {', '.join(header)}; compute it again (measure/squeeze/tables.py)")
    return {tuple(line[:-4]): Squeezed(int(line[-4]), float(line[-3]), int(line[-2]), _pairs(line[-1])) for line in lines}


def _pairs(text: str) -> tuple[tuple[int, int], ...]:
    return tuple((int(image), int(answer)) for image, _, answer in (pair.partition(":") for pair in text.split()))


@cache
def weights_seen(net: str, spread: int) -> dict[str, Any]:
    """Counts of the largest layer's weights and of one channel's, the bounds of each, and by how much the logits moved in FP32."""
    seen: dict[str, Any] = json.loads((folder("trained") / "digits_weights.json").read_text(encoding="utf-8"))
    return dict(seen[net][str(spread)])


@cache
def _images() -> tuple[tuple[int, str], ...]:
    lines = (folder("trained") / "digits_images.txt").read_text(encoding="utf-8").split("\n")
    return tuple((int(label), shades) for label, _, shades in (line.partition(" ") for line in lines if line))


def image(number: int) -> tuple[int, tuple[int, ...]]:
    """A test image: its digit, and 64 shades from 0 to 15."""
    label, shades = _images()[number]
    return label, tuple(int(shade, 16) for shade in shades)
