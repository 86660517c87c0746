"""The gap between a roof and a measured matrix product, against counts by hand."""

from dataclasses import replace

import pytest

from ironlaw import hardware
from ironlaw.calibration.roofline_gap import Tiling, gemm_gap, tiling, tilings
from ironlaw.errors import BadValue, UnsupportedPrecision

H200 = hardware("h200_sxm")


def test_tiles_and_waves_by_hand():
    """512 × 512 on 132 multiprocessors: 64 tiles of 64 × 64 are one wave, 48% full; 8 of 256 × 128 would be 6%."""
    assert tiling(512, 512, 132) == Tiling((64, 64), 64, 1, pytest.approx(64 / 132))
    by_tile = {t.tile: t for t in tilings(512, 512, 132)}
    assert by_tile[(256, 128)].tiles == 8 and by_tile[(256, 128)].filled == pytest.approx(8 / 132)
    assert by_tile[(192, 128)].tiles == 3 * 4  # the last tile of a row is not full
    assert by_tile[(192, 128)].filled == pytest.approx(512 * 512 / (132 * 192 * 128))


def test_a_large_output_takes_the_largest_tile_that_is_nearly_as_full():
    """8192 × 8192 in 256 × 128: 2,048 tiles, 16 waves of 132, 97% full; the smallest tile would fill 99%."""
    found = tiling(8192, 8192, 132)
    assert (found.tile, found.tiles, found.waves) == ((256, 128), 2048, 16) and found.filled == pytest.approx(2048 / (16 * 132))
    assert max(t.filled for t in tilings(8192, 8192, 132)) > found.filled


def test_tiles_come_either_way_up():
    found = {t.tile: t.tiles for t in tilings(1024, 256, 132)}
    assert found == {
        (256, 128): 8, (128, 256): 8, (192, 128): 12, (128, 192): 16, (128, 128): 16, (128, 64): 32, (64, 128): 32, (64, 64): 64,
    }  # fmt: skip
    assert tiling(128, 256, 1).tile == (128, 256)  # exactly one; eight of 64 × 64 would be as full
    assert tiling(1, 1, 1) == Tiling((64, 64), 1, 1, 1 / 4096)


def test_nineteen_twentieths_of_the_best_filling_are_enough():
    """1216 × 128 on one multiprocessor is 38 full tiles of 64 × 64, or 5 of 256 × 128 of which the last is three quarters full."""
    assert max(t.filled for t in tilings(1216, 128, 1)) == 1.0
    assert tiling(1216, 128, 1) == Tiling((256, 128), 5, 5, 4.75 / 5)
    assert tiling(1152, 128, 1).tile == (192, 128)  # 4.5 of 5 are not


def test_one_more_row_of_tiles_costs_a_wave():
    assert tiling(128 * 132, 64, 132).waves == 1
    assert min(t.waves for t in tilings(256 * 132 + 1, 128, 132)) > 1


def test_parts_add_up_and_each_is_what_it_says():
    """N = 512 in FP16: 1.57 MB at 4.8 TB/s, 0.268 GFLOP at 989 TFLOP/s; a floor from the fitted curve; the launch by difference."""
    gap = gemm_gap(512, 512, 512, "fp16", H200, 33.6e-6, 4.0e-6)
    assert sum(gap.parts.values()) == pytest.approx(gap.measured)
    assert gap.roof == pytest.approx(3 * 512**2 * 2 / 4.8e12)
    assert gap.launch == pytest.approx(29.6e-6)
    assert gap.floor == H200.calibration.curves["gemm"].floor
    ideal = 2 * 512**3 / 989e12
    assert gap.quantisation == pytest.approx(ideal * 132 / 64 - gap.roof)
    assert abs(gap.rest) < 512 * H200.calibration.curves["gemm"].step  # the walk along the inner loop is not told apart
    assert list(gap.parts) == ["roof", "quantisation", "rate", "power", "floor", "launch", "rest"]
    assert gap.parts["roof"] == gap.roof and gap.parts["quantisation"] == gap.quantisation and gap.parts["rate"] == gap.rate
    assert gap.parts["floor"] == gap.floor and gap.parts["launch"] == gap.launch and gap.parts["rest"] == gap.rest
    assert gap.tiling == Tiling((64, 64), 64, 1, pytest.approx(64 / 132))


@pytest.mark.parametrize(("fmt", "curve"), [("fp16", "gemm"), ("bf16", "gemm"), ("fp32", "gemm_fp32")])
def test_each_format_has_the_curve_that_was_measured_for_it(fmt, curve):
    gap = gemm_gap(4096, 4096, 4096, fmt, H200, 1e-2)
    found = H200.calibration.curves[curve]
    assert gap.floor == found.floor
    assert gap.rate == pytest.approx(2 * 4096**3 * ((1 + found.knee / 4096) / found.rate - 1 / H200.peak(fmt)))
    with pytest.raises(UnsupportedPrecision, match=rf"no measured curve for {curve} \(matmul\)"):
        gemm_gap(4096, 4096, 4096, fmt, replace(H200, calibration=replace(H200.calibration, curves={})), 1e-2)


def test_without_a_replay_the_launch_is_in_the_rest():
    gap = gemm_gap(4096, 4096, 4096, "fp16", H200, 203e-6)
    assert gap.launch is None and "launch" not in gap.parts and sum(gap.parts.values()) == pytest.approx(203e-6)
    curve = H200.calibration.curves["gemm"]
    assert gap.rate == pytest.approx(2 * 4096**3 * ((1 + curve.knee / 4096) / curve.rate - 1 / 989e12))


def test_power_is_what_a_long_run_loses_against_a_smaller_one():
    best = 743e12
    flops = 2 * 16384**3
    gap = gemm_gap(16384, 16384, 16384, "fp16", H200, 13.4e-3, best=best)
    assert gap.power == gap.parts["power"] == pytest.approx(13.4e-3 - flops / best)
    assert sum(gap.parts.values()) == pytest.approx(13.4e-3)
    short = gemm_gap(2048, 2048, 2048, "fp16", H200, 45e-6, best=best)  # too short for the clock to fall
    assert short.power == 0
    # two calls must last more than 10 ms
    assert [gemm_gap(2048, 2048, 2048, "fp16", H200, s, best=best).power > 0 for s in (4e-3, 5e-3, 5.1e-3)] == [False, False, True]
    assert gemm_gap(1, 1, 1, "fp16", H200, 3.0).power == 0  # no smaller product to compare with


def test_memory_bound_quantisation_counts_only_beyond_the_roof():
    """One row: the memory roof is far above the arithmetic, so neither tiles nor the matrix units' rate add to it."""
    gap = gemm_gap(64, 8192, 8192, "bf16", H200, 40e-6)
    assert gap.rate == 0 and gap.quantisation == 0


def test_a_machine_without_curves_says_so():
    with pytest.raises(BadValue, match="h100_sxm has no measured curves"):
        gemm_gap(512, 512, 512, "fp16", hardware("h100_sxm"), 1e-5)
    with pytest.raises(BadValue, match="multiprocessors"):
        gemm_gap(512, 512, 512, "fp16", replace(H200, units={}), 1e-5)
    with pytest.raises(BadValue, match="can't be tiled"):
        tiling(0, 4, 132)
