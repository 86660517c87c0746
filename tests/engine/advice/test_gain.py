"""The ratio of two predictions: what cancels, what does not, and a simulation of the errors beside the formula."""

import math
import random
from dataclasses import replace
from statistics import stdev

import pytest

import ironlaw as il
from ironlaw.engine.advice.gain import FITTED, OWN, REPEATS, gain, log_sd
from ironlaw.engine.device.dispatch import simulate
from ironlaw.engine.device.uncertainty import FOUR_IN_FIVE

H200 = il.hardware("h200_sxm")
LARGE = il.workload("resnet50", batch=256, dtype="fp16")
SMALL = il.workload("resnet50", batch=1, dtype="fp16")


def test_a_program_beside_itself_gains_nothing_and_only_its_launches_may_differ():
    large, small = il.predict(LARGE, H200), il.predict(SMALL, H200)
    assert log_sd(large, large) == pytest.approx(math.sqrt(2) * OWN * large.run.leaning[1], abs=1e-9)
    assert log_sd(small, small) == pytest.approx(math.sqrt(2) * OWN * small.run.leaning[1])
    one = gain(large, large)
    assert one.ratio == 1.0 and one.saved == 0.0 and not one.sure and not one.slower


def test_the_wall_time_follows_the_device_where_it_is_busy_and_the_host_where_it_waits():
    device, host = il.predict(LARGE, H200).run.leaning
    assert device == pytest.approx(1.0, abs=0.03) and host < 0.03
    device, host = il.predict(SMALL, H200).run.leaning
    assert device < 0.03 and host == pytest.approx(1.0, abs=0.03)


def test_shared_errors_cancel():
    before, after = il.predict(LARGE, H200), il.predict(il.workload("resnet50", batch=512, dtype="fp16"), H200)
    apart = math.hypot(*(float(p.device_interval[1] / p.busy_s) - 1.0 for p in (before, after))) / FOUR_IN_FIVE
    assert log_sd(before, after) < 0.3 * apart


def test_the_formula_against_drawn_errors():
    """Every distinct operator of FP32 and of FP16 off by its own factor, then both runs simulated: no formula of `gain` is used."""
    plan = il.Plan(launch=0.0)
    before = il.predict(il.workload("mlp8_1024", batch=4096, dtype="fp32"), H200, plan)
    after = il.predict(il.workload("mlp8_1024", batch=4096, dtype="fp16"), H200, plan)
    assert {row.cost.doubt.family for row in before.ops}.isdisjoint(row.cost.doubt.family for row in after.ops)
    draw = random.Random(1)
    ratios = []
    for _ in range(2000):
        walls = []
        for p in (before, after):
            doubts = [row.cost.doubt for row in p.ops]
            factors = {(d.family, d.at): math.exp(draw.gauss(0.0, float(d.sd))) for d in doubts}
            kernels = [factors[d.family, d.at] * seconds for d, seconds in zip(doubts, p.run.kernels, strict=True)]
            walls.append(simulate(p.run.schedule, kernels).wall)
        ratios.append(math.log(walls[0] / walls[1]))
    assert log_sd(before, after) == pytest.approx(stdev(ratios), rel=0.1)


def test_the_interval_is_symmetric_in_the_logarithm_and_as_wide_as_was_fitted():
    before, after = il.predict(SMALL, H200), il.predict(SMALL, H200, il.Plan(mode="compiled"))
    one = gain(before, after, kind="compiled")
    reach = FOUR_IN_FIVE * math.hypot(FITTED["compiled"] * log_sd(before, after), REPEATS)
    assert [math.log(end / one.ratio) for end in one.interval] == pytest.approx([-reach, reach])


def test_items():
    one = gain(il.predict(SMALL, H200), il.predict(LARGE, H200), items=256, kind="batch")
    assert one.before == il.predict(SMALL, H200).seconds and one.after == pytest.approx(il.predict(LARGE, H200).seconds / 256) and one.sure


def test_a_bound_promises_nothing():
    bound = il.predict(SMALL, H200, il.Plan(calibrated=False))
    one = gain(bound, il.predict(SMALL, H200, il.Plan(mode="graphs", calibrated=False)))
    assert one.interval is None and not one.sure and not one.slower


def test_an_operator_of_unknown_time_leaves_everything_open():
    p = il.predict(LARGE, H200)
    row = p.ops[0]
    lost = replace(row.cost, doubt=replace(row.cost.doubt, place="unknown"))
    open_ended = replace(p, ops=(replace(row, cost=lost), *p.ops[1:]))
    assert math.isinf(log_sd(open_ended, p)) and not gain(open_ended, p).sure


def test_two_machines_err_apart():
    a, b = il.predict(LARGE, il.hardware("h100_sxm")), il.predict(LARGE, il.hardware("a100_80gb_sxm"))
    one = gain(b, a)
    low, high = (math.log(end / one.ratio) for end in one.interval)
    assert low < 0 < high
    assert high == pytest.approx(math.hypot(math.log(b.interval[1] / b.seconds), math.log(a.interval[0] / a.seconds)))
