"""What a lab shows of the squeezed nets where there is no NumPy: tables that these functions compute and registry/trained holds.

    python -m ironlaw.measure.compression.tables            computes and writes them all: some minutes

`registry/compression_tables.py` reads them. A test computes a sample of the rows again.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Iterator
from itertools import product
from typing import Any

import numpy as np

from ironlaw.files import replace_text
from ironlaw.measure.compression.changes import prune, rescale, to_half, with_weights
from ironlaw.measure.compression.damage import Damage, damage
from ironlaw.measure.compression.nets import Net, arrays, images, load, logits
from ironlaw.measure.compression.rounding import CLIPS, quantise
from ironlaw.registry.compression_tables import (  # fmt: skip
    BINS,
    BITS,
    BITS_COLUMNS,
    GROUPS,
    KEPT_FLIPS,
    READER_COLUMNS,
    READERS,
    SCALES,
    SHARES,
    SPREADS,
    STORED,
    WIDE,
)
from ironlaw.registry.loader import folder

Row = dict[str, Any]
SEED = 0
LARGEST = {"mlp": 1, "ds_cnn": 4}  # the layer with most weights


def bits_row(net: str, spread: float, bits: int, scale: str = "channel", clip: str = "max", zero: int = 0) -> Row:
    """A net whose channels were spread, then stored in so many bits; against the net as it was trained. 16 is FP16, 32 FP32."""
    wide = rescale(load(net), spread, SEED)
    result = damage(load(net), _stored(wide, bits, scale, clip, zero))
    return {"net": net, "spread": spread, "bits": bits, "scale": scale, "clip": clip, "zero": zero} | _figures(result)


def reader_row(net: str, bits: int, scale: str, share: int) -> Row:
    """A reader of some width, with a share of its weights (in %) taken away; against the full reader."""
    thin = with_weights(load(net), lambda w: prune(w, share / 100))
    result = damage(load("mlp"), _stored(thin, bits, scale))
    return {"net": net, "bits": bits, "scale": scale, "share": share} | _figures(result)


def _stored(net: Net, bits: int, scale: str, clip: str = "max", zero: int = 0) -> Net:
    if bits == 32:
        return net
    if bits == 16:
        return with_weights(net, to_half)
    groups = scale if scale in ("tensor", "channel") else int(scale)
    return with_weights(net, lambda w: quantise(w, bits, groups, clip, not zero))


def _figures(result: Damage) -> Row:
    first = " ".join(f"{image}:{answer}" for image, answer in result.flips[:KEPT_FLIPS])
    return {"hits": int(result.accuracy.hits), "kl": float(f"{result.kl:.5g}"), "flips": len(result.flips), "changed": first}


def bits_rows() -> Iterator[Row]:
    for net, spread in product(WIDE, SPREADS):
        for bits in STORED:
            yield bits_row(net, spread, bits, "none", "none")
        for bits, scale, clip, zero in product(BITS, SCALES, CLIPS, (0, 1)):
            yield bits_row(net, spread, bits, scale, clip, zero)


def reader_rows() -> Iterator[Row]:
    for net, share in product(READERS, SHARES):
        yield reader_row(net, 32, "none", share)
        for bits, scale in product(BITS, ("tensor", "channel", "32")):
            yield reader_row(net, bits, scale, share)


def weights_seen() -> dict[str, Any]:
    """The weights of each net's largest layer, and of one of its channels, as counts over ± the largest; and how far the logits drift."""
    seen: dict[str, Any] = {}
    for net, spread in product(WIDE, SPREADS):
        wide = rescale(load(net), spread, SEED)
        flat = wide.layers[LARGEST[net]].weight.reshape(len(wide.layers[LARGEST[net]].bias), -1)
        tops = np.abs(flat).max(axis=1)
        channel = int(np.argsort(tops)[len(tops) // 2])
        drift = float(np.abs(logits(wide, images()[0]) - logits(load(net), images()[0])).max())
        row = flat[channel]
        seen.setdefault(net, {})[str(spread)] = {
            "layer": _counts(flat.ravel(), tops.max()), "layer_bound": _short(tops.max()), "channel": _counts(row, tops[channel]),
            "channel_bound": _short(tops[channel]), "drift": _short(drift),
            "group_bounds": {str(g): _short(np.abs(row[:g]).max()) for g in GROUPS},
        }  # fmt: skip
    return seen


def _counts(values: Any, bound: Any) -> list[int]:
    return [int(n) for n in np.histogram(values, BINS, (-float(bound), float(bound)))[0]]


def _short(value: Any) -> float:
    return float(f"{float(value):.4g}")


def pixels() -> str:
    """A line for each test image: its digit, and 64 shades from 0 to f."""
    every = arrays()
    shades = np.minimum(every["images"], 15)
    lines = (f"{label} {''.join(f'{shade:x}' for shade in image)}" for image, label in zip(shades, every["labels"], strict=True))
    return "\n".join(lines) + "\n"


def as_csv(rows: Iterable[Row], columns: tuple[str, ...]) -> str:
    text = io.StringIO()
    writer = csv.DictWriter(text, columns, lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()


def main() -> None:
    place = folder("trained")
    replace_text(place / "digits_images.txt", pixels())
    replace_text(place / "digits_weights.json", json.dumps(weights_seen(), indent=0) + "\n")
    replace_text(place / "digits_readers.csv", as_csv(reader_rows(), READER_COLUMNS))
    replace_text(place / "digits_bits.csv", as_csv(bits_rows(), BITS_COLUMNS))


if __name__ == "__main__":
    main()
