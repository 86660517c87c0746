"""How sure the time of an op is: by its family or its curves, wider the farther it lies from what was measured."""

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import ironlaw as il
from ironlaw.backends.kernel import Kernel, Sample
from ironlaw.calibration.curve import Curve
from ironlaw.calibration.scatter import Outcome, common_part, four_in_five, holds, leave_one_out, quantile, scatter, spread, stand_in_sd
from ironlaw.engine.device.machine import Plan
from ironlaw.engine.device.predict import predict
from ironlaw.engine.device.types import Graph, Tensor
from ironlaw.engine.device.uncertainty import FOUR_IN_FIVE
from ironlaw.engine.device.work import STAND_IN, op, with_attrs
from ironlaw.systems.accuracy.held_out import stored_unseen
from ironlaw.systems.accuracy.refit import stored_outcomes

H200 = il.hardware("h200_sxm")
MODEL = H200.calibration
EAGER = Plan()


def linear(m, n, k):
    return op("linear", "l", [Tensor("x", (m, k)), Tensor("w", (n, k), role="weight")], [Tensor("y", (m, n))])


def stream(kind, size, dtype="fp16"):
    return op(kind, kind, [Tensor("x", (size,), dtype)], [Tensor("y", (size,), dtype)])


def doubt(one, plan=EAGER):
    return MODEL.cost(one, H200, plan).doubt


# ---- one op


def test_beside_a_row_it_is_as_sure_as_its_neighbours():
    one = linear(4096, 4096, 4096)
    assert doubt(one).sd == pytest.approx(MODEL.correction(one, "eager").sd)
    assert doubt(one).place == "inside" and doubt(one).sd < 0.1


@given(st.integers(0, 6), st.integers(1, 3))
def test_farther_from_the_rows_is_never_surer(steps, more):
    """Along one axis beyond all rows: each doubling is as unsure as the one before, or more so."""
    near, far = (doubt(linear(2 ** (22 + step), 4096, 4096)) for step in (steps, steps + more))
    assert far.sd >= near.sd * (1 - 1e-9)


def test_far_from_everything_it_is_as_unsure_as_a_stand_in():
    far = doubt(linear(2**40, 2**30, 2**20))
    assert far.place == "outside" and far.sd >= MODEL.stand_in


def test_without_neighbours_the_curve_says():
    """A curve and no family: inside its samples its scatter, beyond them more and more."""
    curve = MODEL.curves["max_pool2d"]

    def pool(n):
        image = Tensor("x", (n, 64, 56, 56)), Tensor("y", (n, 64, 28, 28))
        return op("max_pool2d", "p", [image[0]], [image[1]], kernel=(2, 2), stride=2)

    alone = replace(MODEL, families={})
    inside, outside, beyond = (alone.cost(pool(n), H200, EAGER).doubt for n in (8, 4096, 2**22))
    assert inside.sd == pytest.approx(max(curve.scatter, 0.03)) and inside.family == "max_pool2d curve"
    assert inside.sd < outside.sd < beyond.sd
    assert (inside.place, beyond.place) == ("inside", "outside")


def test_a_stand_in_is_much_less_sure():
    one = with_attrs(op("conv2d", "c", [Tensor("x", (1, 8, 8, 8)), Tensor("w", (8, 8, 3, 3), role="weight")], [Tensor("y", (1, 8, 8, 8))]))
    borrowed = with_attrs(one, **{STAND_IN: "conv3d"})
    assert doubt(borrowed).place == "outside"
    own = replace(MODEL, families={})
    without = replace(own, curves={name: c for name, c in MODEL.curves.items() if name != "softmax_block"})
    shares = op("softmax", "s", [Tensor("x", (4096, 4000))], [Tensor("y", (4096, 4000))])
    lent, known = (model.cost(shares, H200, Plan()).doubt for model in (without, own))
    assert lent.sd > 1.5 * known.sd and lent.place == "outside"


def test_an_op_that_nothing_covers_is_unknown_with_a_bound():
    x = Tensor("x", (1 << 26,))
    one = op("unknown", "mine", [x], [Tensor("y", (1 << 26,))], aten="mine::op")
    p = predict(Graph("g", (one,)), H200)
    (row,) = p.ops
    assert row.place == "unknown" and p.label == "partly calibrated" and p.calibrated
    low, high = row.interval
    assert high == math.inf and 0 < low <= row.seconds
    assert low >= (2 * 2 * 2**26 - 60 * 2**20) / float(H200.bandwidth) * 0.9
    assert p.interval[1] == math.inf and p.intervals.device[1] == math.inf


def test_an_op_whose_author_says_what_it_costs_is_outside_and_not_unknown():
    x, y = Tensor("x", (1 << 26,)), Tensor("y", (1 << 26,))
    told = op("custom", "mine", [x], [y], op="mine::op", flops=1e9, unit="vector")
    (row,) = predict(Graph("g", (told,)), H200).ops
    assert row.place == "outside" and row.cost.doubt.sd >= MODEL.stand_in and row.interval[1] < math.inf
    bare = op("unknown", "mine", [x], [y], op="mine::op")
    p = predict(Graph("g", (bare, told)), H200)
    assert p.outside == [("mine::op", 1.0)] and p.interval[1] == math.inf


def test_a_small_share_outside_leaves_the_label():
    far, near = linear(1, 7, 2**20 + 1), linear(16384, 8192, 8192)
    p = predict(Graph("g", (near, near, far)), H200)
    assert 0 < p.beyond < 0.1 and p.label == "calibrated"
    assert predict(Graph("g", (far,)), H200).label == "partly calibrated"
    assert predict(Graph("g", (far,)), H200, Plan(calibrated=False)).label == "bound"


def test_a_sweep_has_the_doubts_of_its_points():
    sizes = np.array([1.0, 64.0, 2.0**30])
    swept = doubt(op("relu", "r", [Tensor("x", (sizes, 64))], [Tensor("y", (sizes, 64))]), Plan("compiled"))
    for i, size in enumerate(sizes):
        assert np.broadcast_to(swept.sd, 3)[i] == pytest.approx(doubt(stream("relu", size * 64), Plan("compiled")).sd)


def test_equal_layers_are_no_surer_than_one():
    one, other = linear(4096, 4096, 4096), stream("relu", 2**28)
    alone, many = (predict(Graph("g", (one,) * count), H200) for count in (1, 40))
    assert many.intervals.sds[0] == pytest.approx(alone.intervals.sds[0])
    both = predict(Graph("g", (one, other)), H200)
    sds = [row.cost.doubt.sd for row in both.ops]
    assert both.intervals.sds[0] < max(sds)


# ---- how far off predictions turn out to be


def test_four_in_five_of_the_errors():
    errors = np.random.default_rng(0).normal(0.0, 0.2, 5000)
    assert four_in_five(errors) == pytest.approx(0.2, rel=0.05)
    assert four_in_five([*errors, 50.0, -50.0]) == pytest.approx(0.2, rel=0.05)  # an odd one does not rule


def test_a_stand_in_is_judged_where_both_were_measured():
    curves = {"a": Curve(1.0), "b": Curve(2.0), "c": Curve(8.0)}
    samples = [Sample(Kernel("a", 0.0), 1.0), Sample(Kernel("b", 0.0), 2.0), Sample(Kernel("x", 0.0), 9.0)]
    # a's fallback says twice as long, b's half as long: both off by the logarithm of two
    found = stand_in_sd(samples, curves, {"a": "b", "b": "a", "x": "c"}, 1e9)
    assert found == pytest.approx(math.log(2.0) / FOUR_IN_FIVE)


def drawn(count, scale, bias=0.05, seed=2, **more):
    """Models that are off by so many times what their operators say."""
    rng = np.random.default_rng(seed)
    sds = rng.uniform(0.01, 0.1, count)
    return [Outcome(str(i), "eager", float(rng.normal(bias, scale * sd)), sd, sd, **more) for i, sd in enumerate(sds)]


def test_models_are_off_by_so_many_times_what_their_operators_say():
    models = drawn(4000, 2.5)
    found = scatter(models)
    assert found == (pytest.approx(0.05, abs=0.01), 0.0, pytest.approx(2.5, rel=0.04))
    assert sum(holds(one, found) for one in models) / len(models) == pytest.approx(0.8, abs=0.01)
    fresh = drawn(4000, 2.5, seed=3)  # none of which it was fitted to
    assert sum(holds(one, found) for one in fresh) / len(fresh) == pytest.approx(0.8, abs=0.02)


def test_few_models_hold_four_in_five_of_the_next():
    """Over many sets of seventeen models, the eighteenth falls inside as often as is said."""
    inside = [holds(models[17], scatter(models[:17])) for models in (drawn(18, 1.5, 0.0, seed) for seed in range(600))]
    assert np.mean(inside) == pytest.approx(0.8, abs=0.04)


def test_models_never_make_operators_surer_than_they_are():
    assert scatter(drawn(200, 0.3)).scale == 1.0


def test_what_has_no_operators_has_an_sd():
    rng = np.random.default_rng(5)
    found = spread([Outcome(str(i), "host", float(rng.normal(0.2, 0.4))) for i in range(4000)])
    assert found == (pytest.approx(0.2, abs=0.02), pytest.approx(0.4, rel=0.04), 1.0)


def test_a_model_that_is_run_often_counts_once():
    usual = [Outcome(str(i), "eager", 0.1 * (-1) ** i, 0.1, 0.1) for i in range(20)]
    odd = Outcome("odd", "eager", 3.0, 0.1, 0.1)
    assert scatter([*usual, *[odd] * 50]).scale == pytest.approx(scatter([*usual, odd]).scale, rel=0.05)


def test_how_a_run_came_out_first_counts_as_much_as_how_it_comes_out_now():
    """Rules that follow the models they are judged by make those models' errors small; the bias is that of now."""
    then, now = drawn(2000, 4.0, bias=0.3, first="2026-11-16"), drawn(2000, 1.0, bias=0.0)
    both = scatter([*then, *now])
    assert both.bias == pytest.approx(0.0, abs=0.01)
    assert scatter(now).scale < 1.1 < both.scale < 3.9 < scatter(then).scale + 0.1
    assert leave_one_out([*then[:20], *now[:20]])[1] == 20  # judged is what comes out now


def test_quantiles_lie_between_the_values():
    ones = [(value, 1.0) for value in (3.0, 1.0, 2.0, 4.0)]
    assert [quantile(ones, weight) for weight in (1.0, 2.5, 4.0, 9.0)] == [1.0, 2.5, 4.0, 4.0]


@pytest.mark.parametrize(("true", "low", "high"), [(0.0, 0.0, 0.25), (1.0, 0.75, 1.0)])
def test_what_a_family_has_in_common_is_found(true, low, high):
    rng = np.random.default_rng(3)
    spans = rng.uniform(0.05, 0.4, 1500)  # sd if all err together; a part of it if apart
    parts = spans * rng.uniform(0.1, 1.0, 1500)
    sds = np.sqrt((1 - true) * parts**2 + true * spans**2)
    models = [Outcome(str(i), "eager", float(rng.standard_t(4) * sds[i]), parts[i], spans[i]) for i in range(1500)]
    assert low <= common_part(models) <= high
    assert 0.2 < common_part(models[:3]) < 0.8  # three models say little


def test_a_model_is_judged_without_its_own_runs():
    models = [
        Outcome(name, "eager", error) for name, error in (("a", 0.0), ("b", 0.01), ("c", -0.01), ("odd", 3.0), ("odd", 3.0), ("odd", 3.0))
    ]
    inside, count = leave_one_out(models)
    assert count == 6 and inside <= 3  # its twins do not vouch for it


@pytest.mark.parametrize("mode", ["eager", "compiled", "eager fp32", "training"])
def test_four_unseen_runs_in_five_fall_inside_when_their_model_is_left_out(mode):
    mine = [one for one in stored_unseen("h200_sxm") if one.mode == mode]
    inside, count = leave_one_out(mine, MODEL.common)
    most = 0.92 if mode == "eager fp32" else 0.88  # of FP32 more lie inside since curves go by elements; how they first came out counts too
    assert count >= 14 and round(0.72 * count) <= inside <= round(most * count), (mode, inside, count)  # to whole runs: of 18, 13 to 16


@pytest.mark.parametrize("mode", ["eager", "compiled", "training"])
def test_models_that_were_looked_at_fall_inside_more_often(mode):
    mine = [one for one in stored_outcomes("h200_sxm") if one.mode == mode]
    assert len(mine) >= 5 and sum(holds(one, MODEL.scatter[mode], MODEL.common) for one in mine) >= 0.8 * len(mine)
