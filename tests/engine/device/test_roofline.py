"""attainable = min(peak, BW·I), by hand for known machines and point by point for arrays."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ironlaw.engine.device.machine import Hardware, Level
from ironlaw.engine.device.roofline import gemm_intensity, mfu, roofline
from ironlaw.errors import BadValue, UnknownName, UnsupportedPrecision

H100 = Hardware(
    "h100",
    "H100",
    {"fp16": 989e12, "int8": 1979e12, "fp32": 67e12},
    3.35e12,
    80e9,
    700.0,
    10e-6,
    sparse={"fp16": 1979e12},
    levels=(Level("l2", "L2", 50e6, 5.5e12),),
)


def test_left_of_the_ridge():
    point = roofline(1e12, 1e11, H100, "fp16")  # 10 FLOP/byte
    assert point.intensity == 10.0
    assert point.attainable == 33.5e12
    assert point.peak == 989e12
    assert point.ridge == pytest.approx(295.22, abs=0.01)
    assert point.regime == "memory"
    assert point.mfu == pytest.approx(0.03387, abs=1e-5)
    assert point.seconds == pytest.approx(1 / 33.5)


def test_right_of_the_ridge():
    point = roofline(1e15, 1e12, H100, "fp16")  # 1000 FLOP/byte
    assert point.attainable == 989e12
    assert point.regime == "compute"
    assert point.mfu == 1.0
    assert point.seconds == pytest.approx(1.01112, abs=1e-5)


def test_at_the_ridge_both_roofs_meet():
    machine = replace(H100, peaks={"fp16": 800.0}, bandwidth=8.0)
    point = roofline(100.0, 1.0, machine, "fp16")
    assert point.ridge == 100.0 == point.intensity
    assert point.attainable == 800.0
    assert point.regime == "compute"
    assert roofline(99.999, 1.0, machine, "fp16").regime == "memory"


@pytest.mark.parametrize(("fmt", "ridge"), [("fp16", 295.2239), ("int8", 590.7463), ("fp32", 20.0)])
def test_ridge_per_precision(fmt, ridge):
    assert roofline(1.0, 1.0, H100, fmt).ridge == pytest.approx(ridge, abs=1e-4)


def test_ridge_per_level():
    point = roofline(1e12, 1e11, H100, "fp16", "l2")
    assert point.attainable == 55e12
    assert point.ridge == pytest.approx(179.818, abs=1e-3)
    assert roofline(1e12, 1e11, H100, "fp16", "main") == roofline(1e12, 1e11, H100, "fp16")


def test_ten_thousand_points_equal_the_scalars():
    rng = np.random.default_rng(1)
    flops, size = 10.0 ** rng.uniform(3, 15, 10_000), 10.0 ** rng.uniform(3, 12, 10_000)
    many = roofline(flops, size, H100, "fp16")
    ones = [roofline(f, b, H100, "fp16") for f, b in zip(flops.tolist(), size.tolist(), strict=True)]
    assert np.array_equal(many.attainable, [one.attainable for one in ones])
    assert np.array_equal(many.seconds, [one.seconds for one in ones])
    assert np.array_equal(many.mfu, [one.mfu for one in ones])
    assert many.regime.tolist() == [one.regime for one in ones]
    assert set(many.regime.tolist()) == {"memory", "compute"}


def test_swept_bandwidth_equals_the_scalars():
    bandwidths = np.array([1e12, 3.35e12, 8e12])
    many = roofline(1e12, 1e10, replace(H100, bandwidth=bandwidths), "fp16")
    ones = [roofline(1e12, 1e10, replace(H100, bandwidth=b), "fp16") for b in bandwidths.tolist()]
    assert many.attainable.tolist() == [one.attainable for one in ones]
    assert many.ridge.tolist() == [one.ridge for one in ones]


@given(st.floats(1.0, 1e15), st.floats(1.0, 1e12), st.floats(1.0, 10.0))
def test_the_roof_only_rises(flops, size, factor):
    here = roofline(flops, size, H100, "fp16")
    assert roofline(flops * factor, size, H100, "fp16").attainable >= here.attainable * (1 - 1e-12)
    assert roofline(flops, size, replace(H100, bandwidth=3.35e12 * factor), "fp16").seconds <= here.seconds
    # the roofline time is never under what either resource needs alone
    assert here.seconds >= max(flops / 989e12, size / 3.35e12) * (1 - 1e-12)


def test_errors():
    with pytest.raises(BadValue, match=r"^flops is 0; give"):
        roofline(0, 1, H100, "fp16")
    with pytest.raises(BadValue, match=r"^bytes is -1; give"):
        roofline(1, -1, H100, "fp16")
    with pytest.raises(UnsupportedPrecision, match="h100 has no fp64"):
        roofline(1, 1, H100, "fp64")
    with pytest.raises(UnknownName, match="memory level of h100 'l3'"):
        roofline(1, 1, H100, "fp16", "l3")


def test_mfu_of_a_measured_run():
    assert mfu(8.0, 2.0, 16.0) == 0.25
    assert mfu(312e12, 1.0, 989e12) == pytest.approx(0.3155, abs=1e-4)  # erratum 24: 31.5%, not 15.7
    for values, text in (((0.0, 1.0, 1.0), "flops is"), ((1.0, 0.0, 1.0), "seconds is"), ((1.0, 1.0, 0.0), "peak is")):
        with pytest.raises(BadValue, match=f"^{text} 0.0"):
            mfu(*values)


@pytest.mark.parametrize(
    ("n", "size", "intensity"), [(128, 2, 42.667), (512, 2, 170.667), (1024, 2, 341.333), (8192, 2, 2730.667), (512, 4, 85.333)]
)
def test_square_gemm(n, size, intensity):
    assert gemm_intensity(n, n, n, size) == pytest.approx(intensity, abs=1e-3)


def test_gemm_by_hand():
    # 2·2·3·5 = 60 FLOP over (2·5 + 5·3 + 2·3) = 31 elements of 2 bytes
    assert gemm_intensity(2, 3, 5, 2) == pytest.approx(60 / 62)
    assert gemm_intensity(np.array([2, 512]), np.array([3, 512]), np.array([5, 512]), 2).tolist() == pytest.approx([60 / 62, 170.6667])
    for i, name in enumerate(("m", "n", "k", "bytes per element")):
        values = [1.0, 1.0, 1.0, 1.0]
        values[i] = 0.0
        with pytest.raises(BadValue, match=f"^{name} is 0.0"):
            gemm_intensity(*values)
