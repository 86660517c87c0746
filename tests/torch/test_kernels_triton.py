"""The Triton kernels, run by Triton's interpreter on a processor: their arithmetic and their random numbers. Times are a GPU's affair."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("triton", reason="Triton has no wheel for this platform")

PROGRAM = Path(__file__).parent / "interpreted.py"


@pytest.fixture(scope="module")
def found() -> dict:
    """One process: the interpreter is chosen when Triton is imported."""
    asked = {**os.environ, "TRITON_INTERPRET": "1"}
    done = subprocess.run([sys.executable, str(PROGRAM)], env=asked, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    return json.loads(done.stdout.splitlines()[-1])


def test_norm_and_relu_are_pytorchs_whatever_the_width(found):
    assert max(found["norm"].values()) < 4e-3  # FP16 has eleven bits
    assert set(found["norm"]) == {"64", "100", "8"}


def test_softmax_is_pytorchs(found):
    assert found["softmax"] < 1e-6


def test_tiled_attention_is_the_naive_one(found):
    assert max(found["attention"].values()) < 4e-3
    assert set(found["attention"]) == {"false", "true"}


def test_dropout_keeps_its_share(found):
    count, deviation = found["count"], (0.1 * 0.9 / found["count"]) ** 0.5
    assert abs(found["kept"] - 0.9) < 4 * deviation, (found["kept"], count)
    assert abs(found["kept_half"] - 0.5) < 4 * (0.25 / count) ** 0.5
    assert found["worst_column"] < 4.5  # deviations of the column that is furthest off, of 512


def test_what_is_kept_is_scaled(found):
    assert found["scaled"] == pytest.approx(1 / 0.9, rel=2e-3)


def test_neighbours_do_not_know_of_each_other(found):
    bound = 4 / found["count"] ** 0.5
    assert all(abs(value) < bound for value in found["correlation"].values()), found["correlation"]


def test_the_seed_decides(found):
    assert found["same"] == 1.0
    assert found["other"] == pytest.approx(0.82, abs=0.01)  # 0.9² + 0.1²


def test_philox_gives_the_published_numbers(found):
    """Philox 2×32 with 7 rounds, computed with Python's integers from Salmon et al.'s definition."""

    def philox(counter: int, key: int) -> list[int]:
        left, right = counter, 0
        for _ in range(7):
            product = 0xD256D193 * left
            left, right = (product >> 32) ^ key ^ right, product & 0xFFFFFFFF
            key = (key + 0x9E3779B9) & 0xFFFFFFFF
        return [left, right]

    assert found["philox"] == [philox(counter, 12345) for counter in range(8)]
