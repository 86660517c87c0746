"""The programs that write the labs' stored tables, on results that are stored already: the same files come out, byte for byte.

What a single row computes is tried elsewhere (tests/registry); here it is looked up, so that all rows, their order and their form are.
"""

import csv
import json
import math
import sys

from ironlaw.measure.adversarial import tables as attacked
from ironlaw.measure.compression import tables as squeezed
from ironlaw.measure.dp_training import tables as private
from ironlaw.registry.compression_tables import BITS_COLUMNS, READER_COLUMNS
from ironlaw.registry.loader import folder

STORED = folder("trained")


def rows_of(name):
    with (STORED / name).open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def text_of(name, place=STORED):
    return (place / name).read_text("utf-8")


def test_squeezed_nets(monkeypatch, tmp_path):
    def looked_up(rows, count):
        found = {tuple(row.values())[:count]: row for row in rows}
        return lambda *key: found[tuple(map(str, (*key, *("channel", "max", 0)[len(key) - 3 :])[:count]))]

    monkeypatch.setattr(squeezed, "folder", lambda name: tmp_path)
    monkeypatch.setattr(squeezed, "bits_row", looked_up(rows_of("digits_bits.csv"), BITS_COLUMNS.index("hits")))
    monkeypatch.setattr(squeezed, "reader_row", looked_up(rows_of("digits_readers.csv"), READER_COLUMNS.index("hits")))
    x, y = squeezed.images()
    monkeypatch.setattr(squeezed, "images", lambda: (x[:40], y[:40]))
    squeezed.main()
    for name in ("digits_bits.csv", "digits_readers.csv", "digits_images.txt"):
        assert text_of(name, tmp_path) == text_of(name), name
    ours, theirs = (json.loads(text_of("digits_weights.json", place)) for place in (tmp_path, STORED))
    for key in ((net, spread) for net in theirs for spread in theirs[net]):
        one, other = (seen[key[0]][key[1]] for seen in (ours, theirs))
        assert 0 <= one.pop("drift") <= 1.2 * other.pop("drift") + 1e-4  # of some images; FP32 rounds in another order elsewhere
        assert one == other
    assert ours.keys() == theirs.keys()


def test_attacked_readers(monkeypatch, tmp_path):
    counts = {tuple(row.values())[:5]: int(row["hits"]) for row in rows_of("digits_attacked.csv")}

    def hits(net, kind, steps, epsilon, restarts):
        keys = ((net, kind, str(steps), str(many), f"{epsilon:g}") for many in range(1, restarts + 1))
        return tuple(counts.get(key, -1) for key in keys)

    monkeypatch.setattr(attacked, "folder", lambda name: tmp_path)
    monkeypatch.setattr(attacked, "hits", hits)
    lines = attacked.drawn
    monkeypatch.setattr(attacked, "drawn", lambda: iter(["drawn"]))
    attacked.main()
    assert (
        text_of("digits_attacked.csv", tmp_path) == text_of("digits_attacked.csv") and text_of("digits_attacked.txt", tmp_path) == "drawn\n"
    )

    monkeypatch.setattr(attacked, "EPSILONS", (0.0, 0.1))
    monkeypatch.setattr(attacked, "DRAWN_STEPS", 1)
    monkeypatch.setattr(attacked, "ATTACKS", attacked.ATTACKS[:1])  # one step, as stored
    stored = [line.split() for line in text_of("digits_attacked.txt").splitlines()]
    stored = [line for line in stored if line[1] == attacked.FGSM and line[2] in ("0", "0.1")]
    drawn = [line.split() for line in lines()]
    assert [line[:5] for line in drawn] == [line[:5] for line in stored] and len(drawn) == 3 * 2 * 4
    for one, other in zip(drawn, stored, strict=True):
        assert max(abs(a - b) for a, b in zip(bytes.fromhex(one[5]), bytes.fromhex(other[5]), strict=True)) <= 1


class Pool:
    """As many processes as there are jobs: none."""

    def __enter__(self):
        return self

    def __exit__(self, *error):
        return None

    def map(self, function, *arguments):
        return map(function, *arguments)


def test_private_training_of_one_size_keeps_the_rows_of_the_others(monkeypatch, tmp_path):
    rows = rows_of(private.FILE)
    signals = {(row["records"], row["clip"]): float(row["signal"]) for row in rows_of(private.SIGNALS)}
    asked = []

    def outcomes(records, rate, seed):
        asked.append((records, rate, seed))
        at = private.SEEDS.index(seed)
        mine = [row for row in rows if (float(row["records"]), float(row["rate"])) == (records, rate)]
        designs = ((private.Design(*(float(row[name]) for name in ("noise", "clip", "speed"))), row) for row in mine)
        return {(one, int(row["epochs"])): (int(row["hits"].split()[at]), float(row["clipped"])) for one, row in designs}

    monkeypatch.setattr(private, "ProcessPoolExecutor", Pool)
    monkeypatch.setattr(private, "outcomes", outcomes)
    monkeypatch.setattr(private, "images", lambda count: (count, count))
    monkeypatch.setattr(private, "signal", lambda count, _, clip: signals[f"{count:g}", f"{clip:g}"])
    monkeypatch.setattr(sys, "argv", ["tables", "--records", "4000", "--out", str(tmp_path)])
    private.main()
    for name in (private.FILE, private.SIGNALS):
        assert text_of(name, tmp_path) == text_of(name), name
    assert asked == [(4000, rate, seed) for rate in private.RATES for seed in private.SEEDS]
    assert {one.clip for one in private.PLAIN} == {math.inf}
