"""A curve asked far beyond its samples."""

from dataclasses import replace

import pytest

from ironlaw.backends.kernel import Kernel
from ironlaw.calibration.curve import Curve
from ironlaw.calibration.machine_calibration import Calibration
from ironlaw.engine.device.host import Host


def test_a_curve_far_beyond_its_samples_is_held_near_its_like():
    """Ten times as deep as any sample, steps that cost 100 times those of the other curve: three times its time and no more."""
    steep, like = Curve(1e-6, step=1e-7, deepest=100.0, largest=1e6), Curve(1e-6, step=1e-9, deepest=5000.0, largest=1e6)
    model = Calibration({"conv_few_channels": steep, "conv": like, "elementwise": like}, Host({"default": 1e-6}), 6e7)
    shallow, deep, wide = (Kernel("conv_few_channels", data, depth=depth) for data, depth in ((1e5, 200.0), (1e5, 1000.0), (1e8, 0.0)))
    assert model.parts(shallow, "conv2d") == steep.parts(shallow, 6e7)
    assert model.parts(deep, "conv2d")[3] == pytest.approx(3 * like.parts(deep, 6e7)[3])
    assert model.parts(wide, "conv2d") == pytest.approx(steep.parts(wide, 6e7))  # within three of its like
    quick = replace(model, curves={**model.curves, "conv_few_channels": replace(steep, floor=1e-9)})
    assert quick.parts(wide, "conv2d")[3] == pytest.approx(like.parts(wide, 6e7)[3] / 3)  # and no faster than a third
    # an inner loop is judged only by a curve that has one
    flat = replace(model, curves={**model.curves, "conv": replace(like, deepest=0.0)})
    assert flat.parts(deep, "conv2d") == steep.parts(deep, 6e7)
