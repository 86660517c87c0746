"""Never under the floor, no share of the peak above one: every op kind of the engine, any size and format, alone, joined, swept."""

import math

import numpy as np
import pytest
from engine.device.test_work import HAND
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import ironlaw as il
from ironlaw.engine.device.lower_bound import least
from ironlaw.engine.device.machine import Plan
from ironlaw.engine.device.predict import predict
from ironlaw.engine.device.types import Graph, Tensor
from ironlaw.engine.device.work import KINDS, op
from ironlaw.errors import IronlawError
from ironlaw.formats import FORMATS

MEASURED = {slug: il.hardware(slug) for slug in ("h200_sxm", "neoverse_n1_2core")}
LARGEST = 2**28  # elements of a tensor
SAME = 1 - 1e-9


def scaled(kind, factors, fmt):
    """The hand-counted op of this kind with each of its sizes so many times as large, in another format."""
    (inputs, outputs, attrs), _ = HAND[kind]

    def grown(t):
        shape = tuple(d * factors[d % len(factors)] for d in t.shape)
        return Tensor(t.name, shape, fmt if t.dtype == "fp16" else t.dtype, t.role)

    try:
        one = op(kind, kind, [grown(t) for t in inputs], [grown(t) for t in outputs], **attrs)
    except IronlawError:
        assume(False)
    assume(max(t.size for t in (*one.inputs, *one.outputs)) < LARGEST)
    return one


FACTORS = st.lists(st.sampled_from((1, 1, 2, 3, 8, 64, 512, 4096)), min_size=4, max_size=4)
FORMAT = st.sampled_from(sorted(FORMATS))
MODE = st.sampled_from(("eager", "compiled", "graphs"))


def run(graph, slug, mode):
    try:
        return predict(graph, MEASURED[slug], Plan(mode=mode))
    except IronlawError:  # a format that the machine has no rate for
        assume(False)


@settings(max_examples=10)
@pytest.mark.parametrize("kind", sorted(HAND))
@given(FACTORS, FORMAT, st.sampled_from(sorted(MEASURED)), MODE)
def test_no_op_takes_less_than_the_datasheet_allows(kind, factors, fmt, slug, mode):
    one, machine = scaled(kind, factors, fmt), MEASURED[slug]
    graph = Graph("g", (one,), fmt if fmt in machine.peaks else "fp32")
    p = run(graph, slug, mode)
    (row,) = p.ops
    floor = least(row.op, machine, machine.calibration.cache_bytes)
    assert row.seconds >= floor * SAME
    assert 0 <= p.mfu <= 1 + 1e-9
    low, high = row.interval
    assert low <= row.seconds <= high and low >= least(row.op, machine, machine.calibration.cache_bytes) * SAME


def test_every_kind_is_among_them():
    assert set(KINDS) - set(HAND) == {"fused", "recurrent"}  # joined below; a recurrent one runs in test_least.py's rows


@given(st.lists(st.sampled_from(("relu", "gelu", "add", "mul", "softmax", "layer_norm", "sum")), min_size=2, max_size=5),
       st.sampled_from((1, 64, 4096)), st.sampled_from((8, 1024, 50_000)), FORMAT)  # fmt: skip
def test_no_fused_op_takes_less(kinds, rows, columns, fmt):
    """A product and what is joined behind it: no less than its own bytes and arithmetic."""
    x, w = Tensor("x", (rows, 256), fmt, "input"), Tensor("w", (columns, 256), fmt, "weight")
    before, ops = Tensor("y", (rows, columns), fmt), []
    ops.append(op("linear", "l", [x, w], [before]))
    for i, kind in enumerate(kinds):
        after = Tensor(f"t{i}", (rows, 1) if kind == "sum" else (rows, columns), fmt)
        ops.append(op(kind, f"{i}", [before, before] if kind in ("add", "mul") else [before], [after]))
        before = after
        columns = 1 if kind == "sum" else columns
    graph = Graph("g", tuple(ops), fmt if fmt in MEASURED["h200_sxm"].peaks else "fp32")
    p = run(graph, "h200_sxm", "compiled")
    for row in p.ops:
        assert row.seconds >= least(row.op, p.hardware, p.hardware.calibration.cache_bytes) * SAME
    assert 0 < p.mfu <= 1 + 1e-9


@pytest.mark.parametrize("fmt", ["fp64", "fp32", "tf32", "bf16", "fp16", "fp8", "int8"])
@pytest.mark.parametrize("mode", ["eager", "compiled", "graphs"])
def test_no_point_of_a_sweep_takes_less(fmt, mode):
    machine, sizes = MEASURED["h200_sxm"], np.array([1.0, 7.0, 64.0, 1000.0, 65536.0, 1e7])
    x, w, y = Tensor("x", (sizes, 2048), fmt, "input"), Tensor("w", (2048, 2048), fmt, "weight"), Tensor("y", (sizes, 2048), fmt)
    p = predict(Graph("g", (op("linear", "l", [x, w], [y]), op("relu", "r", [y], [y])), fmt), machine, Plan(mode=mode))
    for row in p.ops:
        assert (row.seconds >= least(row.op, machine, machine.calibration.cache_bytes) * SAME).all()
    assert ((p.mfu > 0) & (p.mfu <= 1 + 1e-9)).all()
    assert (p.interval[0] <= p.seconds).all() and (p.seconds <= p.interval[1]).all()


def test_the_review_s_fp64_product():
    """4096³ in FP64 was 138 µs on an H200, sixteen times its peak."""
    x, w, y = (Tensor(name, (4096, 4096), "fp64", "input") for name in "xwy")
    p = predict(Graph("g", (op("linear", "l", [x, w], [y]),), "fp64"), MEASURED["h200_sxm"])
    assert p.busy_s >= 2 * 4096**3 / 67e12 and p.mfu <= 1 and p.compute_s > 0


@pytest.mark.parametrize("kind", ["linear", "bmm", "matmul"])
def test_complex_and_whole_numbers_cost_arithmetic(kind):
    """Complex tensors are counted as eight-byte integers: no unit multiplies those faster than FP32's lanes."""
    lead = (4,) if kind != "linear" else ()
    x, w, y = (Tensor(name, (*lead, 2048, 2048), "int64", "input") for name in "xwy")
    p = predict(Graph("g", (op(kind, "l", [x, w], [y]),), "fp32"), MEASURED["h200_sxm"])
    assert p.busy_s >= 2 * math.prod((*lead, 1)) * 2048**3 / 67e12 * SAME and p.mfu <= 1
