"""The reader squeezed and a matrix in many formats, on the learner's machine: the rows, and that each product is the matrix's own."""

import numpy as np
import pytest

from ironlaw.measure.experiments import compression
from ironlaw.measure.experiments.run_experiment import run
from ironlaw.registry.compression_tables import at_bits


@pytest.fixture(scope="module")
def squeezed():
    return run("bits", library="numpy", seconds=0.0)


def test_the_reader_here_answers_as_in_the_stored_table(squeezed):
    rows = squeezed["rows"]
    assert len(rows) == len(compression.BITS) * len(compression.SCALES)
    for row in rows:
        stored, p = at_bits("mlp", 1, row["params"]["bits"], row["params"]["scale"]), row["params"]
        assert (row["value"], p["flips"]) == (pytest.approx(100 * stored.hits / 797), stored.flips)
        assert p["kl"] == pytest.approx(stored.kl, rel=1e-3)
        assert (row["low"], row["high"]) == pytest.approx((100 * stored.accuracy.low, 100 * stored.accuracy.high))


def test_every_way_to_hold_the_matrix_is_that_matrix():
    ways = {way.name: way for way in compression.ways()}
    plain = ways["fp32"].product(1)()
    assert ways["fp64"].product(1)().ravel() == pytest.approx(plain.ravel(), abs=1e-3)
    assert ways["fp16"].product(1)().ravel() == pytest.approx(plain.ravel(), rel=0.1, abs=2.0)
    dense = ways["zeros_90"].product(64)()
    assert ways["csr_90"].product(1)() == pytest.approx(dense[:, 0], abs=1e-3)
    assert ways["csr_90"].product(64)() == pytest.approx(dense, abs=1e-3)
    assert ways["int8"].product(1)().dtype == np.int8  # NumPy sums in INT8, which overflows: a format without a kernel
    sizes = {name: way.bytes / 2**20 for name, way in ways.items()}
    assert (sizes["fp64"], sizes["fp32"], sizes["fp16"], sizes["int8"], sizes["half_width"], sizes["low_rank"]) == (8, 4, 2, 1, 1, 0.5)
    assert sizes["csr_50"] > 4 > sizes["csr_80"]  # four bytes of value, four of column, and where rows begin


def test_the_formats_run_in_a_blink(monkeypatch):
    monkeypatch.setattr(compression, "SIDE", 256)
    result = run("formats", library="numpy", seconds=0.0)
    names = {(row["name"], row["params"]["batch"]) for row in result["rows"]}
    assert {("fp32", 1), ("fp32", 64), ("csr_99", 64), ("csr_50", 1)} <= names and ("csr_50", 64) not in names
    assert all(row["wall_s"] > 0 and row["params"]["bytes"] > 0 for row in result["rows"])
