"""Products of few rows on GPUs that were not measured, against decoding speeds that others published: no constant was fitted to these."""

import pytest

from ironlaw import hardware
from ironlaw.calibration.transfer.chip_traits import chip
from ironlaw.calibration.transfer.product_law import SLOWEST, held_back, rate_of_one
from ironlaw.registry.publications import published
from ironlaw.systems.serving.decode_speeds import speeds

FAR = {"3090-1b", "a100-pcie-8b-2024"}  # as docs/serving.md says


def test_decoding_is_within_a_quarter_of_what_was_published():
    ratios = speeds()
    assert len(ratios) == 26 and {row["machine"] for row in published("decode_speeds").rows} >= {
        "h20",
        "rtx_3090",
        "rtx_5090",
        "mi250x_gcd",
    }
    off = {run for run, ratio in ratios.items() if not 0.75 <= ratio <= 1.255}
    assert off == FAR and all(0.7 <= ratio <= 1.65 for ratio in ratios.values())


def test_small_tiles_take_as_many_steps_where_a_multiprocessor_computes_less():
    a100 = chip(hardware("a100"))
    assert rate_of_one(a100, "bf16") / a100.clock == pytest.approx(SLOWEST, rel=0.01)
    assert held_back(0.25, SLOWEST) == held_back(0.25, 2 * SLOWEST) == 0.25
    assert held_back(0.25, SLOWEST / 2) == 0.5 and held_back(0.25, SLOWEST / 8) == 1.0 and held_back(1.05, SLOWEST / 8) == 1.05
