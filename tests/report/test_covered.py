"""Shares of time by place, and the heaviest families that are not inside."""

from dataclasses import replace

import pytest
from small_graphs import MACHINE

import ironlaw as il
from ironlaw.calibration.curve import Curve
from ironlaw.calibration.machine_calibration import Calibration
from ironlaw.engine.device.host import Host
from ironlaw.engine.device.machine import Plan
from ironlaw.engine.device.types import Tensor
from ironlaw.engine.device.work import op
from ironlaw.registry.corpus_signatures import Seen
from ironlaw.report.covered import of_corpus, shape, survey, widened

H200, EAGER = il.hardware("h200_sxm"), Plan()
CURVES = {"relu": Curve(1.0, smallest=4, largest=4e6), "elementwise": Curve(1.0, smallest=4, largest=4e6)}
SMALL = replace(MACHINE, calibration=Calibration(CURVES, Host({"default": 1.0}), 1e6))


def stream(kind, size):
    return op(kind, kind, [Tensor("x", (size,))], [Tensor("y", (size,))])


def test_shares_of_three_ops_by_hand():
    """A measured one takes 6 s, one that another stream's curve serves 3 s, a roll that nothing serves 1 s."""
    rolled = op("copy", "r", [Tensor("x", (8,))], [Tensor("y", (8,))], rolled=1)
    timed = [(stream("relu", 100), 4.0), (stream("gelu", 100), 3.0), (rolled, 1.0), (stream("relu", 100), 2.0)]
    found = survey(timed, SMALL, EAGER)
    assert found.shares == pytest.approx({"inside": 0.6, "near": 0.3, "outside": 0.1, "unknown": 0.0})
    assert [(f.kind, f.share, f.outside, f.count) for f in found.families] == [("gelu", 0.3, 0.0, 1), ("copy", 0.1, 0.1, 1)]
    assert found.ops == 3


def test_of_a_family_the_heaviest_shapes_are_shown():
    timed = [(stream("gelu", size), seconds) for size, seconds in ((1, 1.0), (2, 5.0), (3, 3.0), (4, 4.0), (5, 2.0))]
    (family,) = survey(timed, SMALL, EAGER, examples=2).families
    assert [e.op.outputs[0].shape for e in family.examples] == [(2,), (4,)]
    assert family.count == 5 and family.share == pytest.approx(1.0)


def test_time_rests_on_an_op_by_its_weight():
    seen = [Seen(stream("relu", 5), 10, 2, 0.5), Seen(stream("relu", 6), 1, 1, 2.0)]
    timed, refused = of_corpus(seen, SMALL, EAGER, "fp16")
    assert [seconds for _, seconds in timed] == [0.5, 2.0]  # the curve takes a second for either
    assert refused == 0


def test_what_has_no_time_on_a_machine_is_counted():
    bare = replace(MACHINE, calibration=Calibration({}, Host({"default": 1.0}), 1e6))
    assert of_corpus([Seen(stream("relu", 8), 1, 1, 1.0)], bare, EAGER, "fp16") == ([], 1)


def test_a_model_in_fp32_stores_twice_the_bytes_and_convolves_in_tf32():
    x, w, y = Tensor("x", (8, 64, 56, 56)), Tensor("w", (64, 64, 3, 3), "fp16", "weight"), Tensor("y", (8, 64, 56, 56))
    half = op("conv2d", "c", [x, w], [y], stride=1, groups=1, padding=1, dilation=1)
    wide = widened(half, "fp32", H200, EAGER)
    assert wide.work.bytes == 2 * half.work.bytes and wide.work.flops == half.work.flops
    assert wide.dtype == "tf32" and {t.dtype for t in wide.inputs} == {"fp32"}
    assert widened(half, "fp32", H200, Plan(fp32="strict")).dtype == "fp32"


def test_shapes_are_written_as_people_write_them():
    x, w, y = Tensor("x", (8, 64, 56, 56)), Tensor("w", (64, 16, 3, 3)), Tensor("y", (8, 64, 28, 28))
    assert shape(op("conv2d", "c", [x, w], [y], stride=2, groups=4)) == "8×64×56×56, 64×16×3×3 → 8×64×28×28 (stride 2, groups 4)"
