"""Curves and launches of a measured machine, with round constants so that every time can be reckoned by hand."""

import json
import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from small_graphs import MACHINE, chain, graphs, tensor

import ironlaw as il
from ironlaw.backends.kernel import Kernel
from ironlaw.calibration.curve import Curve, norm
from ironlaw.calibration.machine_calibration import BOOST, Calibration
from ironlaw.engine.device.cost import Cost
from ironlaw.engine.device.host import Host
from ironlaw.engine.device.machine import Plan
from ironlaw.engine.device.predict import predict
from ironlaw.engine.device.types import Graph
from ironlaw.engine.device.uncertainty import FOUR_IN_FIVE, Scatter
from ironlaw.engine.device.work import op
from ironlaw.errors import UnsupportedPrecision

INF = float("inf")
CACHE = 100.0  # bytes


# ---- one curve


def total(curve: Curve, kernel: Kernel) -> float:
    return curve.terms(kernel, CACHE)[2]


def test_a_bare_curve_is_its_floor():
    assert Curve(0.5).terms(Kernel("x", 1000.0, 1000.0, 10.0, 10.0), CACHE) == (0.0, 0.0, 0.5)


@pytest.mark.parametrize("p", [1, 2, 4])
def test_each_term_alone(p):
    assert Curve(0.5, cache=10.0, main=10.0, p=p).terms(Kernel("x", 20.0), CACHE) == pytest.approx((2.0, 0.0, 2.5))
    assert Curve(0.5, rate=100.0, p=p).terms(Kernel("x", 0.0, 300.0), CACHE) == pytest.approx((0.0, 3.0, 3.5))
    assert Curve(0.5, row=0.25, p=p).terms(Kernel("x", 0.0, rows=16.0), CACHE) == pytest.approx((0.0, 0.0, 4.5))
    assert Curve(0.5, step=0.125, p=p).terms(Kernel("x", 0.0, depth=16.0), CACHE) == pytest.approx((0.0, 0.0, 2.5))


@pytest.mark.parametrize(
    ("p", "expected"), [(1, 2 + 3 + 4 + 2.5), (2, math.sqrt(4 + 9 + 16 + 6.25)), (4, (16 + 81 + 256 + 39.0625) ** 0.25)]
)
def test_all_terms_together(p, expected):
    curve = Curve(0.5, cache=10.0, main=10.0, rate=100.0, row=0.25, step=0.125, p=p)
    assert total(curve, Kernel("x", 20.0, 300.0, 16.0, 20.0)) == pytest.approx(0.5 + expected)


def test_terms_overlap_by_default_as_the_fourth_power():
    assert total(Curve(0.0, cache=1.0, main=1.0, rate=1.0), Kernel("x", 3.0, 4.0)) == pytest.approx((81 + 256) ** 0.25)


@pytest.mark.parametrize(("p", "expected"), [(1, 7.0), (2, 5.0), (4, 337**0.25)])
def test_norm(p, expected):
    assert norm(p, 3.0, 4.0) == pytest.approx(expected)
    assert norm(p, np.array([3.0, 0.0]), 4.0) == pytest.approx([expected, 4.0])


def test_the_cache_ends_between_a_third_and_one_and_a_half_of_its_size():
    curve = Curve(0.0, cache=100.0, main=10.0)
    assert total(curve, Kernel("x", 10.0)) == pytest.approx(0.1)
    assert total(curve, Kernel("x", 35.0)) == pytest.approx(0.35)
    assert total(curve, Kernel("x", 150.0)) == pytest.approx(15.0)
    assert total(curve, Kernel("x", 1500.0)) == pytest.approx(150.0)
    assert total(curve, Kernel("x", 92.5)) == pytest.approx(92.5 * 0.5 / 100 + 92.5 * 0.5 / 10)  # half way
    swept = total(curve, Kernel("x", np.array([10.0, 92.5, 1500.0])))
    assert swept == pytest.approx([0.1, 5.0875, 150.0])


def test_a_shallow_product_wastes_its_tiles():
    curve = Curve(0.0, rate=100.0, knee=32.0)
    assert total(curve, Kernel("x", 0.0, 100.0, depth=32.0)) == pytest.approx(2.0)
    assert total(curve, Kernel("x", 0.0, 100.0, depth=64.0)) == pytest.approx(1.5)
    assert total(curve, Kernel("x", 0.0, 100.0)) == pytest.approx(1.0)  # no depth: nothing to fill
    assert total(curve, Kernel("x", 0.0, 100.0, depth=np.array([32.0, 64.0]))) == pytest.approx([2.0, 1.5])
    assert total(Curve(0.0, rate=100.0), Kernel("x", 0.0, 100.0, depth=32.0)) == pytest.approx(1.0)


# ---- a machine of curves

# a relu takes a second and a tenth of its 128 bytes; launches are one to sixteen seconds
TOY = Calibration(
    curves={
        "relu": Curve(1.0, cache=10.0, main=10.0, rate=8.0, p=1),
        "batch_norm": Curve(1.0, cache=10.0, main=10.0, row=0.5, p=2),
        "tiny": Curve(0.25),
        "elementwise": Curve(2.0),
        "gemm": Curve(4.0, cache=1e3, main=1e3, rate=1e4, p=2),
    },
    host=Host({"default": 1.0, "relu": 2.0, "linear": 4.0, "rowwise": 8.0, "attention": 16.0}, graph_start=3.0, name="a host"),
    cache_bytes=1e9,
    graph_gap=0.125,
    slower=1.5,
    scatter={"eager": Scatter(0.0, 0.1)},
    sources=("measured at night",),
)
RELU = chain("relu").ops[0]  # 128 bytes, 32 FLOPs
NORM = op("batch_norm", "b", [tensor("x", 2, 3, 1, 2), *(tensor(f"s{i}", 3) for i in range(4))], [tensor("y", 2, 3, 1, 2)])
LINEAR = op("linear", "l", [tensor("x", 4, 16), tensor("w", 8, 16, role="weight")], [tensor("y", 4, 8)])


def test_the_cost_of_one_kernel():
    cost = TOY.cost(RELU, MACHINE, Plan())
    assert cost == Cost(12.8, 4.0, 1.0, 1.0, 2.0, pytest.approx(16.8))
    assert cost.device == pytest.approx(17.8)


def test_the_cost_of_several_kernels():
    # batch norm: 72 bytes in 7.2 s and 6 planes in 3 s, root of squares; then two tiny kernels
    cost = TOY.cost(NORM, MACHINE, Plan())
    rows = math.sqrt(7.2**2 + 3.0**2) - 7.2
    assert (cost.data, cost.compute, cost.kernels, cost.joint) == pytest.approx((7.2, 0.0, 3.0, 7.2))
    assert cost.floor == pytest.approx(1.0 + rows + 0.5)
    assert cost.device == pytest.approx(1.0 + math.sqrt(7.2**2 + 9) + 0.5)


def test_compiled_ops_are_lowered_as_compiled():
    odd = op("linear", "l", [tensor("x", 601, 601), tensor("w", 601, 601, role="weight")], [tensor("y", 601, 601)])
    eager = replace(TOY, curves={**TOY.curves, "gemm_odd": Curve(9.0), "copy": Curve(0.5), "fused": Curve(0.25)})
    assert eager.cost(odd, MACHINE, Plan()).floor == 9.0
    assert eager.cost(odd, MACHINE, Plan()).kernels == 1.0
    for mode in ("compiled", "graphs"):
        assert eager.cost(odd, MACHINE, Plan(mode)).floor == 4.75  # filled up: the product, its input and its weight
        assert eager.cost(odd, MACHINE, Plan(mode)).kernels == 3.0


def test_no_curve_at_all_says_what_to_ask_for():
    bare = replace(TOY, curves={"gemm": Curve(4.0)})
    with pytest.raises(UnsupportedPrecision, match=r"no measured curve for conv_fp32 \(conv2d\).*Plan\(calibrated=False\)"):
        bare.curve("conv_fp32", "conv2d")
    assert bare.curve("bmm", "bmm").floor == 4.0
    with pytest.raises(UnsupportedPrecision, match=r"no measured curve for relu \(relu\)"):
        bare.cost(RELU, MACHINE, Plan())


# ---- launches


@pytest.mark.parametrize(
    ("made", "plan", "kernels", "seconds"),
    [
        (RELU, Plan(), 1, 2.0),  # its own kind
        (RELU, Plan(), 3, 2.0),  # one call, however many kernels
        (chain("softmax").ops[0], Plan(), 1, 8.0),  # its category
        (chain("gelu").ops[0], Plan(), 1, 1.0),  # neither
        (RELU, Plan("compiled"), 3, 3.0),  # generated kernels: each at the default
        (RELU, Plan("graphs"), 1, 1.0),
        (LINEAR, Plan("compiled"), 2, 4.0),  # the library's call, as in eager mode
        (RELU, Plan(launch=0.5), 3, 1.5),
        (LINEAR, Plan("compiled", launch=0.0), 2, 0.0),
        (chain("view").ops[0], Plan(), 0, 0.0),
        (chain("view").ops[0], Plan(launch=0.5), 1, 0.0),
    ],
)
def test_what_a_launch_costs(made, plan, kernels, seconds):
    assert TOY.launch(made, plan, kernels) == seconds


def test_compiled_attention_is_a_library_call():
    qkv = [tensor(name, 1, 2, 8, 4) for name in "qkv"]
    made = op("attention", "a", qkv, [tensor("y", 1, 2, 8, 4)])
    assert TOY.launch(made, Plan("compiled"), 2) == 16.0


def test_graphs_start_once():
    assert (TOY.host.graph_start, TOY.graph_gap) == (3.0, 0.125)
    graph = chain("relu", "relu")
    seconds = predict(graph, replace(MACHINE, calibration=TOY), Plan("graphs")).seconds
    fused = TOY.cost(predict(graph, replace(MACHINE, calibration=TOY), Plan("graphs")).graph.ops[0], MACHINE, Plan("graphs"))
    assert seconds == pytest.approx(3.0 + fused.device + 0.125)


# ---- sustained load


def load(*compute: float, data: float = 0.0) -> list[Cost]:
    return [Cost(data, c, 1.0, 1.0, 1.0, max(data, c)) for c in compute]


@pytest.mark.parametrize(
    ("seconds", "factor"), [(0.5 * BOOST, 1.0), (BOOST, 1.0), (5.5 * BOOST, 1.25), (10 * BOOST, 1.5), (1000 * BOOST, 1.5)]
)
def test_arithmetic_slows_under_steady_load(seconds, factor):
    (cost,) = TOY.sustain(load(seconds))
    assert (cost.compute, cost.joint) == pytest.approx((factor * seconds, factor * seconds))
    assert (cost.data, cost.floor, cost.kernels, cost.launch) == (0.0, 1.0, 1.0, 1.0)
    half = TOY.sustain(load(seconds / 2, seconds / 2))
    assert [c.compute for c in half] == pytest.approx([factor * seconds / 2] * 2)


def test_ten_milliseconds_change_nothing():
    assert BOOST == 0.01
    costs = load(0.004, 0.006)
    assert TOY.sustain(costs) is costs
    assert replace(TOY, slower=1.0).sustain(load(1.0))[0].compute == 1.0


def test_a_kernel_takes_longer_among_others_than_repeated():
    late = replace(TOY, among=0.5)
    few = [Cost(0.0, 1e-3, 1.0, 3.0, 1.0, 1e-3), *load(1e-3, 1e-3, 1e-3)]
    assert [cost.floor for cost in late.sustain([*few, *few])] == [1.0] * 8  # by turns: their code is at hand
    many = late.sustain([*few, *load(1e-3)])
    assert [cost.floor for cost in many] == [1.0 + 3 * 0.5] + [1.0 + 0.5] * 4  # three kernels, and one
    assert [(cost.compute, cost.joint, cost.launch) for cost in many] == [(1e-3, 1e-3, 1.0)] * 5
    hot = late.sustain(load(*[1000 * BOOST] * 5))  # and the clock falls as well
    assert [(cost.floor, cost.compute) for cost in hot] == [(1.5, 1500 * BOOST)] * 5


def test_slower_arithmetic_under_data_stays_hidden():
    (cost,) = TOY.sustain(load(1.0, data=2.0))
    assert (cost.data, cost.compute, cost.joint) == (2.0, 1.5, 2.0)
    (cost,) = TOY.sustain(load(1.0, data=1.2))
    assert (cost.compute, cost.joint) == (1.5, 1.5)  # it comes out on top
    (cost,) = TOY.sustain(load(1.0, data=1.0))
    assert cost.joint == 1.5
    (cost,) = TOY.sustain([Cost(0.5, 1.0, joint=1.25)])
    assert cost.joint == 1.75
    (cost,) = TOY.sustain([Cost(1.0, 1.0, joint=1.25)])  # no side is longer
    assert cost.joint == 1.5


def test_equal_ops_stay_one_cost():
    cost = load(1.0)[0]
    slowed = TOY.sustain([cost, cost, load(2.0)[0]])
    assert slowed[0] is slowed[1]
    assert [c.compute for c in slowed] == [1.5, 1.5, 3.0]


def test_a_sweep_slows_point_by_point():
    (cost,) = TOY.sustain([Cost(0.0, np.array([BOOST, 10 * BOOST]), joint=np.array([BOOST, 10 * BOOST]))])
    assert cost.compute == pytest.approx([BOOST, 15 * BOOST])
    assert cost.joint == pytest.approx([BOOST, 15 * BOOST])


# ---- intervals and files


def test_a_bare_calibration():
    bare = Calibration({}, Host({"default": 1.0}), 1.0)
    assert (bare.slower, bare.scatter, bare.sources, bare.graph_gap, bare.backend) == (1.0, {}, (), 0.0, "cuda")
    assert (bare.host.entry, bare.host.graph_start, bare.host.name, bare.host.estimate) == (0.0, 0.0, "", False)
    assert (bare.common, bare.stand_in) == (0.0, 0.0)


def test_json_and_back():
    curves = {**TOY.curves, "all": Curve(1e-6, 2e12, 3e12, 4e14, 50.0, 6e-9, 7e-9, 2, 0.08, 9)}
    full = replace(TOY, curves=curves)
    text = json.dumps(full.to_json(), allow_nan=False)
    assert Calibration.from_json(json.loads(text)) == full
    stored = json.loads(text)["curves"]
    assert stored["tiny"] == {"floor": 0.25, "p": 4}  # what does not bind is left out
    assert set(stored["all"]) == {"floor", "cache", "main", "rate", "knee", "row", "step", "p", "error", "samples"}
    assert Calibration.from_json(json.loads(json.dumps(replace(TOY, curves={"x": Curve(0.0)}).to_json()))).curves["x"].floor == 0.0


def test_a_file_may_leave_out_what_is_optional():
    least = {"curves": {"tiny": {"floor": 1.0}}, "launches": {"default": 1.0}, "cache_bytes": 5.0, "graph_gap": 0.0, "graph_start": 1.0}
    found = Calibration.from_json(least)
    assert (found.slower, found.scatter, found.sources, found.host.name) == (1.0, {}, (), "")
    assert found.curves["tiny"] == Curve(1.0, INF, INF, INF, 0.0, 0.0, 0.0, 4, 0.0, 0)


# ---- predictions with it


def test_predict_uses_the_curves_and_says_so():
    graph = chain("relu", "relu")
    p = predict(graph, replace(MACHINE, calibration=TOY))
    # launches at 2 and 4 s; the first kernel runs from 2 to 19.8, the second until 37.6
    assert p.seconds == pytest.approx(2.0 + 2 * 17.8)
    assert (p.busy_s, p.kernels, p.calibrated) == (pytest.approx(35.6), 2.0, True)
    # 8 s of arithmetic are steady load, so 4 s become 6; in sequence they come on top, overlapped they hide under the data
    assert p.overlap == pytest.approx((2.0 + 2 * 13.8, 2.0 + 2 * 19.8))
    # two equal ops err together: the curve's 3%, its samples unsaid (a length scale away: a stand-in's), and the models' 10%
    off = math.exp(FOUR_IN_FIVE * math.hypot(p.ops[0].cost.doubt.sd, 0.1))
    assert p.intervals.device == pytest.approx((35.6 / off, 35.6 * off))
    assert p.intervals.host == (4.0, 4.0)  # nothing says how its launches scatter
    assert p.interval == pytest.approx((2.0 + 35.6 / off, 2.0 + 35.6 * off))
    assert p.sources == ("measured at night",)
    assert predict(graph, replace(MACHINE, calibration=TOY), Plan(calibrated=False)).calibrated is False


H200 = il.hardware("h200_sxm")
MODES = st.sampled_from(["eager", "compiled", "graphs"])


@given(graphs(), MODES, st.sampled_from(["queued", "synchronous"]))
def test_both_ends_of_the_overlap_are_ordered_and_hold_the_prediction(graph, mode, dispatch):
    p = predict(graph, H200, Plan(mode, dispatch))
    low, high = p.overlap
    assert p.calibrated
    assert low <= p.seconds * (1 + 1e-12)
    assert p.seconds <= high * (1 + 1e-12)
    assert p.busy_s <= p.seconds * (1 + 1e-12)
    assert p.interval[0] < p.seconds < p.interval[1]


BYTES = np.geomspace(1e2, 1e10, 200)


# argmax: four samples of unlike rows, fitted as a plain stream, so that its cache comes out slower than main memory
@pytest.mark.parametrize("name", sorted(set(H200.calibration.curves) - {"argmax"}))
def test_more_work_is_never_faster(name):
    curve, cache = H200.calibration.curves[name], H200.calibration.cache_bytes
    for kernel in (Kernel(name, BYTES, 1e6, 10.0, 64.0), Kernel(name, 1e6, 1e3 * BYTES, 10.0, 64.0), Kernel(name, 1e6, 1e6, BYTES, 64.0)):
        assert (np.diff(curve.terms(kernel, cache)[2]) >= 0).all()


# transformers: a sweep does not see that an op broadcasts along the batch, and has one fusion plan for all its points
@pytest.mark.parametrize("mode", ["eager", "compiled", "graphs"])
@pytest.mark.parametrize(
    ("name", "near"),
    [("resnet50", 1e-9), ("mobilenet_v2", 1e-9), ("mlp8_1024", 1e-9), ("gpt2", 0.01), ("bert_base", 0.01), ("llama3_2_1b", 0.01)],
)
def test_a_sweep_equals_its_points(name, near, mode):
    sizes = [1, 8, 256]
    swept = il.predict(il.workload(name, batch=np.array(sizes), dtype="fp16"), H200, Plan(mode))
    for i, n in enumerate(sizes):
        p = il.predict(il.workload(name, batch=n, dtype="fp16"), H200, Plan(mode))
        assert swept.seconds[i] == pytest.approx(p.seconds, rel=near)
        assert swept.busy_s[i] == pytest.approx(p.busy_s, rel=near)
        assert (swept.overlap[0][i], swept.overlap[1][i]) == pytest.approx(p.overlap, rel=near)
        assert (swept.interval[0][i], swept.interval[1][i]) == pytest.approx(p.interval, rel=near)


def test_a_larger_batch_is_never_faster():
    """From eight on: below, cuBLAS takes a kernel for 1024 outputs that is slower than the one it takes for eight rows."""
    sizes = np.unique(np.geomspace(8, 1024, 60).astype(int))
    for name in ("vit_b16", "mlp8_1024", "gpt2"):
        seconds = il.predict(il.workload(name, batch=sizes, dtype="fp16"), H200).busy_s
        assert (np.diff(seconds) > -2e-4 * seconds[:-1]).all(), name  # what neighbours know may bend by that little


def test_one_sample_may_take_longer_than_64():
    """As measured: eight layers of 1024 x 1024 take 66 µs for one row and 40 for 64."""
    one, many = (il.predict(il.workload("mlp8_1024", batch=batch, dtype="fp16"), H200).busy_s for batch in (1, 64))
    assert one == pytest.approx(66.3e-6, rel=0.1)
    assert many == pytest.approx(40.0e-6, rel=0.15)


# kernels that the library or the compiler chooses anew for every shape
ERRATIC = {
    "copy": 0.32,
    "attention_fp32": 0.45,
    "conv_first": 0.6,
    "topk": 0.4,
    "write_sums": 0.4,  # from sums to a million places to those that all go to four
    "softmax_columns": 0.45,  # what lies in the cache comes sooner: their neighbours know
    "unfold_backward": 0.5,  # six samples
    "solver_svd": 0.4,  # by rotations, in both formats
    "compare": 0.35,
    "avg_pool2d": 0.4,  # windows of few taps and of many
    "conv_grouped_nhwc_tf32": 0.5,
    "gemm_fp32": 0.4,
    "argmax": 0.5,
    "sum_columns": 0.35,
    "conv_wgrad": 0.4,
    "conv_wgrad_tf32": 2.5,  # of few channels and many pixels; measured neighbours put it right
    "embedding": 1.6,  # a block for each row, or a thread for each number: measured neighbours tell which
    "scan_rows": 0.45,
    "layer_norm_weights": 0.85,  # narrow rows in great number are summed in parts
    "group_sums_uneven": 0.35,
    "group_turned": 0.35,
    "scatter": 0.35,
    "bmm_small_fp32": 0.5,  # one row, one column, or a small square: measured neighbours tell which
}


def test_every_curve_of_the_h200_is_plausible():
    peak, bandwidth = H200.peak("fp16"), H200.bandwidth
    for name, curve in H200.calibration.curves.items():
        assert 0 < curve.floor < 1e-4, name
        assert curve.p in (1, 2, 4) and curve.samples >= 3 and 0 <= curve.error < ERRATIC.get(name, 0.3), name
        assert curve.main >= 0.02 * bandwidth or name.startswith(("sort_", "rnn_", "embedding_back", "solver_")), (
            name
        )  # one block sorts a row; weights stay
        assert curve.rate == INF or curve.rate <= 3 * peak, name
    gemm = H200.calibration.curves["gemm"]
    assert 0.5 * peak < gemm.rate < peak
    stream = H200.calibration.curves["elementwise"]
    assert 0.7 * bandwidth < stream.main < bandwidth < stream.cache
    assert 1.0 <= H200.calibration.slower < 1.3


def test_graphs_of_one_op_cost_what_the_op_costs():
    graph = Graph("one", (LINEAR,), "fp16")
    p = predict(graph, H200)
    assert p.busy_s == pytest.approx(H200.calibration.cost(LINEAR, H200, Plan()).device)
    assert p.seconds == pytest.approx(p.busy_s + H200.calibration.host.launches["linear"])
