"""A decoder with its cache and without: the same tokens, counts that are the engine's and a hand count's, and rows that say so."""

import json
from itertools import pairwise

import pytest

from ironlaw.measure.experiments import kv_decode, tiny_decoder
from ironlaw.measure.experiments.kv_decode import BYTES, CACHED, FLOPS, SAME, STEP, UNCACHED, WHOLE
from ironlaw.measure.experiments.run_experiment import run
from ironlaw.measure.experiments.tiny_decoder import SIZES, Cache, TinyDecoder
from ironlaw.measure.progress_lines import Cancelled


@pytest.fixture(scope="module")
def measured():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(kv_decode, "CONTEXTS", (8, 24))
        patch.setattr(kv_decode, "LENGTHS", (4, 12))
        return run("kv_decode", seconds=0.0)


def test_counted_is_what_the_engine_says(measured):
    figures = [row for row in measured["rows"] if row["kind"] == "figure"]
    assert len(figures) == 1 + 2 * 2 * 2 and all(row["value"] == row["params"]["expected"] > 0 for row in figures)
    assert next(row for row in figures if row["name"] == SAME)["value"] == 12
    kept = {row["params"]["context"]: row["params"]["cache_bytes"] for row in figures if row["params"].get("way") == CACHED}
    assert kept == {n: 2 * 2 * 2 * 32 * 4 * (n + 1) for n in (8, 24)}  # layers, keys and values, heads, width, bytes, tokens
    cases = [row for row in measured["rows"] if row["kind"] == "case"]
    assert [row["name"] for row in cases] == [STEP] * 4 + [WHOLE] * 4 and all(0 < row["best_s"] <= row["wall_s"] for row in cases)
    json.dumps(measured, allow_nan=False)


def test_by_hand():
    """Two FLOPs for each weight of a matrix and token, and for each of 4 × 32 numbers of a key and a value that a token meets."""
    layer = 128 * (128 + 64 + 64 + 128) + 3 * 128 * 256
    for context in (1, 50):
        meets = 2 * 2 * SIZES["layers"] * 4 * 32
        one = kv_decode.expected(CACHED, context)[FLOPS]
        assert one == 2 * (2 * layer + 128 * 512) + meets * (context + 1)
        again = kv_decode.expected(UNCACHED, context)[FLOPS]
        assert again == (context + 1) * (4 * layer) + 2 * 128 * 512 + meets * (context + 1) ** 2


def test_the_law_that_the_rows_show():
    """A step grows by the same for each token with the cache; without, by ever more: N tokens take N² of the layers' products."""
    for name in (FLOPS, BYTES):
        with_cache, without = ([kv_decode.expected(way, n)[name] for n in (10, 20, 30, 40)] for way in (CACHED, UNCACHED))
        steps = [b - a for a, b in pairwise(with_cache)]
        assert len(set(steps)) == 1 and steps[0] < 0.1 * with_cache[0]
        steps = [b - a for a, b in pairwise(without)]
        assert steps[2] - steps[1] == steps[1] - steps[0] > 0 and steps[0] > 10 * (with_cache[1] - with_cache[0])


def test_a_cache_that_forgets_is_noticed(monkeypatch):
    """Each key written one place too early: the next tokens differ, and the row says how many are still the same."""

    class Shifted(Cache):
        @property
        def length(self):
            return max(0, self._length - 1)

        @length.setter
        def length(self, value):
            self._length = value

    monkeypatch.setattr(tiny_decoder, "Cache", Shifted)
    row = kv_decode._agreement(TinyDecoder(), 32)
    assert row["value"] < row["params"]["expected"] == 32


def test_it_can_be_stopped():
    asked = []

    def stop():
        asked.append(1)
        return len(asked) > 30

    with pytest.raises(Cancelled):
        run("kv_decode", seconds=5.0, stop=stop)
    assert len(asked) == 31
