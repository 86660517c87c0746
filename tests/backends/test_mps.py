"""The Apple GPU's backend: one kernel an op, and a call's time only where a launch can't be most of it. Nothing of it was measured."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

import ironlaw as il
from ironlaw.backends import require
from ironlaw.backends.kernel import Kernel, Sample
from ironlaw.backends.mps import FALLBACK
from ironlaw.backends.rows import Row
from ironlaw.engine.device.host import Host
from ironlaw.engine.device.types import Tensor
from ironlaw.engine.device.work import KINDS, op

MPS = require("mps")
MACHINE = il.hardware("m3_max")
X, Y = Tensor("x", (4, 8), "fp16", "input"), Tensor("y", (4, 8), "fp16")
W = Tensor("w", (8, 8), "fp16", "weight")


def lower(one, mode="eager"):
    return MPS.lower(one, MACHINE, mode)


def test_it_queues_and_is_timed_from_outside():
    assert (MPS.name, MPS.dispatch, MPS.row_time, MPS.caches) == ("mps", "queued", "wall_s", ("l2_bytes", "l3_bytes"))


def test_one_kernel_an_op():
    linear = op("linear", "linear", [X, W], [Y])
    assert lower(linear) == lower(linear, "compiled") == (Kernel("gemm", linear.work.bytes, 2.0 * 4 * 8 * 8),)
    attention = op("attention", "sdpa", [Tensor(n, (1, 2, 16, 8), "fp16") for n in "qkv"], [Tensor("y", (1, 2, 16, 8), "fp16")])
    assert lower(attention) == (Kernel("attention", attention.work.bytes, attention.work.matmul_flops),)
    assert lower(op("softmax", "s", [X], [Y], row=16)) == (Kernel("softmax", 128.0, rows=2.0),)
    assert lower(op("relu", "r", [X], [Y])) == (Kernel("relu", 128.0),)
    assert lower(op("view", "v", [X], [Y])) == ()


@pytest.mark.parametrize("kind", ["linear", "matmul", "bmm"])
def test_every_plain_product_is_a_gemm(kind):
    batch = () if kind == "linear" else (3,)
    x, w, y = (Tensor(name, (*batch, *shape), "fp16") for name, shape in (("x", (4, 8)), ("w", (8, 8)), ("y", (4, 8))))
    (kernel,) = lower(op(kind, "product", [x, w], [y]))
    assert (kernel.curve, kernel.flops) == ("gemm", 2.0 * y.size * 8)


@given(st.lists(st.integers(1, 6), min_size=1, max_size=4).map(tuple))
def test_rows_are_what_is_normalised_and_what_is_summed_up(shape):
    """A norm runs along the last axis of what it reads; a sum has a row for each number that it leaves."""
    x = Tensor("x", shape, "fp16")
    (norm,) = lower(op("softmax", "s", [x], [Tensor("y", shape, "fp16")]))
    assert (norm.curve, norm.rows * shape[-1]) == ("softmax", x.size)
    for left in ((*shape[:-1], 1), (1,) * len(shape)):
        (kernel,) = lower(op("sum", "s", [x], [Tensor("y", left, "fp16")]))
        assert (kernel.curve, kernel.rows) == ("sum", math.prod(left))


def test_a_fused_op_is_a_stream():
    graph = il.fuse(il.workload("gpt2_layer")).graph
    fused = next(one for one in graph.ops if one.kind == "fused")
    assert lower(fused) == (Kernel("fused", fused.work.bytes),)


def launch(seconds, name="add"):
    return Row(kind="launch", op=name, wall_s=seconds)


def relu(seconds, **more):
    return Row(kind="op", op="relu", params={"numel": 1000, "dtype": "fp16"}, wall_s=seconds, **more)


def test_a_call_is_a_sample_only_where_it_far_outlasts_a_launch():
    long = Sample(Kernel("relu", 4000.0), 31e-6)
    assert list(MPS.samples([launch(10e-6), relu(31e-6), relu(30e-6)], MACHINE)) == [long]
    assert list(MPS.samples([launch(10e-6), launch(9e-6, "mul"), launch(99e-6, "conv2d"), relu(31e-6)], MACHINE)) == [long]
    assert list(MPS.samples([relu(31e-6)], MACHINE)) == [long]
    exact = 2.0**-17  # as long as three launches is not longer
    assert list(MPS.samples([launch(exact), relu(3 * exact)], MACHINE)) == []


def test_rows_that_give_no_sample():
    rows = [relu(1.0, error="lost"), Row(kind="op", op="sorting", wall_s=1.0), Row(kind="model", op="relu", wall_s=1.0), relu(None)]
    view = Row(kind="op", op="relu", params={"numel": 8, "dtype": "fp16"}, busy_s=1.0)
    assert list(MPS.samples([*rows, view], MACHINE)) == []


def test_what_stands_in_is_of_the_same_kind_of_work():
    """A product for what is made of products, a row for rows, a sum for sums."""
    assert MPS.fallback is FALLBACK and set(FALLBACK) <= set(KINDS)
    for name, other in FALLBACK.items():
        category = KINDS[name].category
        expected = {"contraction": {"gemm"}, "attention": {"gemm"}, "rowwise": {"layer_norm", "softmax"}, "reduction": {"sum", "softmax"}}
        assert other in expected[category], name
    assert {kind for kind, known in KINDS.items() if known.category in ("contraction", "attention")} - set(FALLBACK) == {
        "linear", "matmul", "bmm", "fused", "block",
    }  # fmt: skip


@pytest.mark.parametrize("mode", ["eager", "compiled"])
def test_launches_cost_the_host(mode):
    linear = op("linear", "linear", [X, W], [Y])
    relu_op = op("relu", "r", [X], [Y])
    host = Host({"default": 2.0, "linear": 5.0, "elementwise": 3.0})
    assert MPS.launch(linear, host, mode, 1.0) == 5.0
    assert MPS.launch(relu_op, host, mode, 2.0) == (3.0 if mode == "eager" else 4.0)
