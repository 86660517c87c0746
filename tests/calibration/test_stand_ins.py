"""What stands in for a curve that was not measured: a curve that exists, and on the machines where both were measured the better guess."""

from dataclasses import replace
from math import log
from statistics import median

import pytest

import ironlaw as il
from ironlaw.backends import names, require
from ironlaw.calibration.curve import Curve
from ironlaw.calibration.machine_calibration import Calibration
from ironlaw.engine.device.host import Host
from ironlaw.engine.device.types import Tensor
from ironlaw.engine.device.work import KINDS
from ironlaw.engine.device.work import op as make_op
from ironlaw.registry.evidence import evidence

MEASURED = ("h200_sxm", "neoverse_n1_2core")
# what a plain stream is nearer to: work that is mostly memory, and rows of FP32, which take as long as their bytes
STREAMS = {
    "h200_sxm": {
        "attention_decode", "attention_dq", "softmax_fp32", "softmax_2048_fp32", "fused_rows", "group_sums_uneven", "group_turned",
        "histogram", "layer_norm_backward", "sub", "square", "shift", "bmv", "im2col",
    },
    "neoverse_n1_2core": {"fused_softmax"},
}  # fmt: skip
# what no row of evidence has yet, and the one of the same alignment or of the nearest format
UNSEEN = {
    "softmax_columns": "strided_columns", "scan_columns": "sum_columns",  # not among the evidence
    "depthwise_backward": "depthwise_fp32", "depthwise_wgrad": "depthwise_fp32",
    "bmm_even": "gemm_even", "bmm_fp8": "gemm_fp8", "bmm_int8": "gemm_int8", "gemm_fp64": "gemm_fp32", "bmm_fp64": "gemm_fp32",
    "gemm_int64": "gemm_fp32", "bmm_int64": "gemm_fp32", "gemm_complex64": "bmm_complex64", "gemm_complex128": "gemm_fp64",
    "bmm_complex128": "gemm_fp64", "grouped_gemm_fp32": "gemm_fp32", "grouped_gemm_tf32": "gemm_tf32",
    "grouped_gemm_fp64": "gemm_fp32", "grouped_gemm_fp8": "gemm_fp8", "grouped_gemm_int8": "gemm_int8",
    "conv_dgrad_tf32": "conv_tf32", "conv_wgrad_tf32": "conv_tf32", "conv_dgrad_fp32": "conv_fp32", "conv_wgrad_fp32": "conv_fp32",
    "conv_transpose_fp32": "conv_fp32", "upsample_bilinear_nhwc": "upsample", "upsample_bicubic_nhwc": "upsample",
}  # fmt: skip


def samples(slug):
    """Curve -> what was measured of it."""
    machine = il.hardware(slug)
    rows = [row for file in evidence(slug) for row in file.rows]
    by_curve: dict[str, list] = {}
    for sample in require(machine.backend).samples(rows, machine):
        if sample.seconds > 0:
            by_curve.setdefault(sample.kernel.curve, []).append(sample)
    return by_curve


@pytest.mark.parametrize("slug", MEASURED)
def test_it_is_nearer_to_what_was_measured_than_a_plain_stream(slug):
    machine = il.hardware(slug)
    model, fallback = machine.calibration, require(machine.backend).fallback

    def factor_off(curve, of):
        return median(abs(log(float(curve.terms(s.kernel, model.cache_bytes)[2]) / s.seconds)) for s in of)

    known = {name: of for name, of in samples(slug).items() if name in fallback}
    assert len(known) > 20
    worse = {
        name for name, of in known.items() if factor_off(model.curves[fallback[name]], of) > factor_off(model.curves["elementwise"], of)
    }
    assert worse <= STREAMS[slug]


@pytest.mark.parametrize("slug", MEASURED)
def test_its_names_are_those_of_curves(slug):
    """A misspelt name would never be asked for, or never be there."""
    machine = il.hardware(slug)
    fallback, curves = require(machine.backend).fallback, set(machine.calibration.curves)
    assert set(fallback.values()) <= curves
    assert set(fallback) <= {*curves, *KINDS, *UNSEEN}
    for name in set(fallback) - curves:  # op kinds that nobody measured yet: like one of their own category
        if name in UNSEEN:
            assert fallback[name] == UNSEEN[name]
        elif fallback[name] in KINDS:
            assert KINDS[fallback[name]].category == KINDS[name].category, name


@pytest.mark.parametrize("backend", names())
def test_a_curve_is_its_own_then_its_stand_in_then_a_plain_stream(backend):
    bare = Calibration({"elementwise": Curve(1.0)}, Host({"default": 1.0}), 1e6, backend=backend)
    for name, other in require(backend).fallback.items():
        alike = replace(bare, curves={**bare.curves, other: Curve(2.0)})
        own = replace(bare, curves={**alike.curves, name: Curve(3.0)})
        assert [model.curve(name, "op").floor for model in (bare, alike, own)] == [1.0, 2.0, 3.0]
    assert bare.curve("unheard of", "op").floor == 1.0


def one(kind, *shapes, dtype="fp16", out=None, **attrs):
    inputs = [Tensor(f"x{i}", shape, dtype, "weight" if i else "input") for i, shape in enumerate(shapes)]
    return make_op(kind, kind, inputs, [Tensor("y", out or shapes[0], dtype)], **attrs)


@pytest.mark.parametrize(
    ("op", "source"),
    [
        (one("linear", (64, 512), (512, 512)), "family"),
        (one("cat", (64, 512)), "family"),
        (one("amax", (64, 512), out=(64, 1)), "family"),
        (one("cumsum", (64, 512), dtype="fp32"), "curve"),
        (one("tanh", (64, 512), dtype="bool"), "curve"),  # one loop with another body
        (one("view", (64, 512)), "curve"),  # takes no time
        (one("cross_entropy", (64, 512), (64,), out=(1,)), "curve"),
        (one("relu", (64, 512), stand_in="erfcx"), "stand-in"),
        (one("unknown", (64, 512)), None),
    ],
)
def test_what_an_ops_time_rests_on(op, source):
    machine = il.hardware("h200_sxm")
    assert machine.calibration.source(op, machine) == source
    bare = replace(machine.calibration, families={}, curves={"elementwise": machine.calibration.curves["elementwise"]})
    expected = {"family": "stand-in", "curve": "curve" if op.kind in ("tanh", "view") else "stand-in"}
    assert bare.source(op, machine) == expected.get(source, source)
