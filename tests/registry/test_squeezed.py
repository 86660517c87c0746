"""The stored tables of the squeezed reader: whole, and a sample of their rows computed again."""

import pytest

from ironlaw.errors import BadRegistry
from ironlaw.measure.compression import tables
from ironlaw.measure.compression.nets import arrays
from ironlaw.registry.compression_tables import (
    BITS,
    GROUPS,
    READERS,
    SCALES,
    SHARES,
    SPREADS,
    WIDE,
    Squeezed,
    at_bits,
    image,
    reader,
    weights_seen,
)
from ironlaw.registry.loader import folder
from ironlaw.registry.trained_nets import trained

SAMPLE = [
    ("mlp", 1, 8, "channel", "max", 0),
    ("mlp", 30, 3, "32", "best", 1),
    ("mlp", 100, 8, "tensor", "percentile", 0),
    ("mlp", 10, 16, "none", "none", 0),
    ("ds_cnn", 3, 4, "16", "max", 1),
    ("ds_cnn", 1, 6, "tensor", "best", 0),
]


@pytest.mark.parametrize("setting", SAMPLE, ids=str)
def test_a_row_is_what_the_weights_give_today(setting):
    net, spread, bits, scale, clip, zero = setting
    row, stored = tables.bits_row(*setting), at_bits(net, spread, bits, scale, clip, bool(zero))
    assert (row["hits"], row["flips"], row["kl"]) == (stored.hits, stored.flips, pytest.approx(stored.kl, rel=1e-3))
    assert row["changed"] == " ".join(f"{i}:{answer}" for i, answer in stored.changed)


@pytest.mark.parametrize(
    ("net", "bits", "scale", "share"), [("mlp", 4, "32", 90), ("eighth_distilled", 8, "tensor", 50), ("half", 32, "none", 95)]
)
def test_a_reader_is_what_its_weights_give_today(net, bits, scale, share):
    row, stored = tables.reader_row(net, bits, scale, share), reader(net, bits, scale, share)
    assert (row["hits"], row["flips"], row["kl"]) == (stored.hits, stored.flips, pytest.approx(stored.kl, rel=1e-3))


def test_every_setting_of_the_dials_is_there():
    every = [
        at_bits(net, spread, bits, scale, clip, zero)
        for net in WIDE
        for spread in SPREADS
        for bits in BITS
        for scale in SCALES
        for clip in ("max", "best", "percentile")
        for zero in (False, True)
    ]
    every += [at_bits(net, spread, bits) for net in WIDE for spread in SPREADS for bits in (16, 32)]
    every += [
        reader(net, bits, scale, share) for net in READERS for bits in BITS for scale in ("tensor", "channel", "32") for share in SHARES
    ]
    assert all(isinstance(row, Squeezed) and 0 <= row.hits <= 797 and row.kl >= 0 and row.flips >= len(row.changed) for row in every)
    for net in READERS:
        assert reader(net, 32).hits == trained("digits").nets[net]["hits"]
    with pytest.raises(BadRegistry, match="was computed"):
        at_bits("mlp", 7, 8)


def test_weights_and_images_are_the_trained_ones():
    for net in WIDE:
        for spread in SPREADS:
            seen = weights_seen(net, spread)
            assert sum(seen["layer"]) == {"mlp": 256 * 128, "ds_cnn": 32 * 64}[net] and seen["drift"] < 1e-4
            assert max(seen["group_bounds"][str(g)] for g in GROUPS) <= seen["channel_bound"] <= seen["layer_bound"]
    label, shades = image(796)
    assert label == arrays()["labels"][796] and [min(v, 15) for v in arrays()["images"][796]] == list(shades)
    assert tables.pixels() == (folder("trained") / "digits_images.txt").read_text()
