"""Element-wise work is judged by the vector units' rate and has a ridge of its own; figures by hand from white papers."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from small_graphs import MACHINE, tensor

import ironlaw as il
from ironlaw.engine.device.machine import Plan
from ironlaw.engine.device.predict import bound, predict
from ironlaw.engine.device.roofline import arithmetic, roofline
from ironlaw.engine.device.types import FORMATS, Graph, Work
from ironlaw.engine.device.work import op
from ironlaw.errors import UnknownName, UnsupportedPrecision

H100, A100 = il.hardware("h100_sxm"), il.hardware("a100_80gb_sxm")
BOUND = Plan(calibrated=False)


@pytest.mark.parametrize(
    ("slug", "fmt", "matrix", "vector"),
    [
        ("h100_sxm", "fp16", 989 / 3.35, 133.8 / 3.35),  # 295 and 40
        ("a100_80gb_sxm", "fp16", 312 / 2.039, 78 / 2.039),  # 153 and 38
        ("a100_80gb_sxm", "bf16", 312 / 2.039, 39 / 2.039),
        ("a100_80gb_sxm", "fp64", 19.5 / 2.039, 9.7 / 2.039),
        ("h100_sxm", "int8", 1979 / 3.35, 66.9 / 3.35),  # worked on in FP32's lanes
        ("v100", "fp16", 125 / 0.9, 31.4 / 0.9),
        ("tpu_v5e", "bf16", 197 / 0.819, 6.1 / 0.819),
        ("pi5", "fp32", 154 / 17.1, 154 / 17.1),  # no matrix units: one ridge
    ],
)
def test_ridges_of_matrix_and_of_element_wise_work(slug, fmt, matrix, vector):
    machine = il.hardware(slug)
    assert machine.ridge(fmt) == pytest.approx(matrix, rel=1e-3)
    assert machine.ridge(fmt, work="vector") == pytest.approx(vector, rel=1e-3)
    assert machine.has_matrix_units(fmt) == (matrix > 1.02 * vector)


@pytest.mark.parametrize("slug", il.machines())
def test_every_machine_has_a_rate_for_every_format_and_none_beats_its_matrix_units(slug):
    machine = il.hardware(slug)
    for fmt in FORMATS:
        if fmt in machine.peaks:
            assert 0 < machine.vector_peak(fmt) <= 1.01 * machine.peak(fmt), fmt
            assert machine.ridge(fmt, work="vector") <= 1.01 * machine.ridge(fmt)
    for fmt in ("int32", "int64", "bool"):  # index arithmetic
        if "fp32" in machine.peaks:
            assert machine.vector_peak(fmt) > 0


def test_a_format_without_a_rate_of_its_own():
    bare = replace(MACHINE, vector={})
    assert bare.vector_peak("fp16") == bare.peak("fp16")  # nothing is known apart: the peak stands in
    chip = replace(MACHINE, peaks={"fp32": 100.0, "fp16": 800.0, "int8": 1600.0, "fp64": 10.0}, vector={"fp32": 90.0})
    assert chip.vector_peak("fp16") == chip.vector_peak("int8") == chip.vector_peak("int64") == 90.0
    assert chip.vector_peak("fp64") == 10.0  # no faster than its products
    with pytest.raises(UnsupportedPrecision, match="no int8"):
        replace(MACHINE, peaks={"fp16": 1.0}, vector={}).vector_peak("int8")


@given(st.integers(0, 5), st.integers(0, 5), st.sampled_from([1.0, 1e3, 1e12]))
def test_matrix_and_vector_units_run_side_by_side(products, rest, scale):
    """The longer of the two counts; one kind of units does both, one after the other."""
    work = Work(flops=(products + rest) * scale, matmul_flops=products * scale)
    apart = max(products * scale / H100.peak("fp16"), rest * scale / H100.vector_peak("fp16"))
    assert arithmetic(work, H100, "fp16") == pytest.approx(apart)
    board = il.hardware("pi5")
    assert arithmetic(work, board, "fp32") == pytest.approx(work.flops / board.peak("fp32"))
    swept = replace(work, flops=np.array([work.flops]), matmul_flops=np.array([work.matmul_flops]))
    assert arithmetic(swept, H100, "fp16") == pytest.approx([apart])


def test_rates_within_a_rounding_are_of_the_same_units():
    chip = replace(MACHINE, peaks={"fp16": 102.0}, vector={"fp16": 100.0})
    assert not chip.has_matrix_units("fp16")
    assert replace(chip, peaks={"fp16": 102.5}).has_matrix_units("fp16")


def test_rate_asks_for_a_kind_of_work():
    assert (H100.rate("fp16"), H100.rate("fp16", "vector")) == pytest.approx((989e12, 133.8e12))
    with pytest.raises(UnknownName, match="no kind of work 'tensor'"):
        H100.rate("fp16", "tensor")
    with pytest.raises(UnknownName, match="no kind of work"):
        roofline(1.0, 1.0, H100, "fp16", work="scalar")


def test_roofline_of_element_wise_work():
    at = roofline(100.0, 1.0, H100, "fp16", work="vector")  # 100 FLOP/B: right of 40, left of 295
    assert at.regime == "compute" and at.attainable == at.peak == pytest.approx(133.8e12)
    assert roofline(100.0, 1.0, H100, "fp16").regime == "memory"
    assert roofline(39.0, 1.0, H100, "fp16", work="vector").regime == "memory"
    cached = roofline(30.0, 1.0, H100, "fp16", "l2", work="vector")
    assert cached.ridge == pytest.approx(133.8 / 7.0) and cached.regime == "compute"


def test_kinds_of_work():
    assert Work(flops=5.0).kind == "vector" and Work(flops=5.0, matmul_flops=4.0).kind == "matrix"
    assert Work(flops=5.0, matmul_flops=4.0).vector_flops == 1.0
    x, w, y = tensor("x", 8, 8), tensor("w", 8, 8, role="weight"), tensor("y", 8, 8)
    for kind in ("relu", "layer_norm", "softmax", "sum", "add", "gelu", "dropout", "batch_norm"):
        inputs = (x, x) if kind == "add" else (x,)
        assert op(kind, "o", inputs, (y,)).work.kind == "vector", kind
    for kind in ("matmul", "linear"):
        assert op(kind, "o", (x, w), (y,)).work.kind == "matrix", kind


def test_arithmetic_by_hand():
    assert arithmetic(Work(flops=133.8e12), H100, "fp16") == pytest.approx(1.0)
    assert arithmetic(Work(flops=989e12, matmul_flops=989e12), H100, "fp16") == pytest.approx(1.0)
    # side by side: one second of products hides half a second of element-wise work, and the other way round
    assert arithmetic(Work(flops=989e12 + 66.9e12, matmul_flops=989e12), H100, "fp16") == pytest.approx(1.0)
    assert arithmetic(Work(flops=989e12 + 267.6e12, matmul_flops=989e12), H100, "fp16") == pytest.approx(2.0)
    # a processor has the same units for both: one after the other
    pi = il.hardware("pi5")
    assert arithmetic(Work(flops=308e9, matmul_flops=154e9), pi, "fp32") == pytest.approx(2.0)


def test_a_sweep_equals_its_points():
    sizes = np.array([1.0, 2.0, 64.0])
    work = Work(flops=1e12 + 1e11 * sizes, matmul_flops=1e12 + 0.0 * sizes)
    ones = [arithmetic(Work(flops=1e12 + 1e11 * n, matmul_flops=1e12), H100, "fp16") for n in sizes.tolist()]
    assert arithmetic(work, H100, "fp16").tolist() == pytest.approx(ones)


def test_a_bound_takes_the_vector_rate():
    """GELU by tanh: 8 FLOP an element over 4 bytes in BF16."""
    size = 2.0**24
    graph = Graph(
        "g", (op("gelu_tanh", "g", (tensor("x", size, dtype="bf16", role="input"),), (tensor("y", size, dtype="bf16"),)),), "bf16"
    )
    tpu = il.hardware("tpu_v5e")
    cost = bound(graph.ops[0], tpu, BOUND, "bf16")
    assert cost.compute == pytest.approx(8 * size / 6.1e12)
    assert cost.data == pytest.approx(4 * size / 819e9)
    assert predict(graph, replace(tpu, bandwidth=8e12), BOUND).ops[0].regime == "compute"  # by the matrix rate it would be memory
    assert 8 * size / tpu.peak("bf16") < 4 * size / 8e12
    half = bound(graph.ops[0], tpu, replace(BOUND, efficiency=0.5), "bf16")
    assert half.compute == pytest.approx(2 * cost.compute)


def test_sources_name_the_vector_figure():
    sources = predict(il.workload("gpt2_layer", batch=1), H100, BOUND).sources
    assert any(line.startswith("vector.fp16: ") for line in sources) and any(line.startswith("peak.fp16: ") for line in sources)


@given(st.floats(1, 1e15), st.floats(0, 1e15), st.sampled_from((H100, A100)))
def test_the_longer_of_products_and_the_rest_counts(products, rest, machine):
    """Side by side where there are matrix units; one operation more is one more."""
    for beside in (rest, 0.0, 1.0):
        work = Work(products + beside, products, 0.0, 0.0, 1.0)
        expected = max(products / machine.peak("fp16"), work.vector_flops / machine.vector_peak("fp16"))
        assert arithmetic(work, machine, "fp16") == pytest.approx(expected, rel=1e-12)
    tiny = Work(3.0, 2.0, 0.0, 0.0, 1.0)
    assert arithmetic(tiny, machine, "fp16") == 1.0 / machine.vector_peak("fp16") > 2.0 / machine.peak("fp16")


def test_one_flop_beside_a_product_is_counted_too():
    assert arithmetic(Work(flops=2.0, matmul_flops=1.0), H100, "fp16") == 1.0 / H100.vector_peak("fp16") > 1.0 / H100.peak("fp16")
