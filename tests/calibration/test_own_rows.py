"""Rows of one machine correct what is known of its model; they do not replace it."""

import math
from dataclasses import replace

import numpy as np
import pytest

import ironlaw as il
from ironlaw.backends.rows import Row
from ironlaw.calibration import telling
from ironlaw.calibration.shared_errors import SharedErrors, Trait
from ironlaw.registry.machines import corrected

H200 = il.hardware("h200_sxm")
A100 = il.hardware("a100_80gb_sxm")
COPIES = [Row(kind="op", op="copy", params={"numel": 2**n, "dtype": "fp16"}, busy_s=1.0, kernels=1) for n in range(18, 27)]


def timed(model, machine, slower):
    """Copies that take so many times what the model says."""
    ops = [model.library.measured(row) for row in COPIES]
    return [
        replace(row, busy_s=slower * float(model.cost(op, machine, il.Plan()).device)) for row, op in zip(COPIES, ops, strict=True) if op
    ]


def trait(curve, size, sd=0.3):
    return Trait((0.1, 0.9, 0.0), "stream", curve, curve, (size,), sd)


@pytest.mark.parametrize(("machine", "prior"), [(H200, H200.calibration), (A100, A100.transfer)])
def test_a_device_that_is_slower_is_predicted_slower_and_more_surely(machine, prior):
    own = prior.given(timed(prior, machine, 1.3), machine)
    (graph,) = (il.workload("gpt2", batch=4, seq=128),)
    before = il.predict(graph, replace(machine, calibration=prior))
    after = il.predict(graph, replace(machine, calibration=own))
    assert 1.0 < after.busy_s / before.busy_s < 1.3  # products were not measured: they follow as far as they share the machine
    op = prior.library.measured(COPIES[-1])  # beyond every cache
    known, said = (model.cost(op, machine, il.Plan()) for model in (own, prior))
    assert known.device / said.device == pytest.approx(1.3, rel=0.08)
    assert known.doubt.sd < said.doubt.sd


def test_a_kernel_that_nobody_timed_here_follows_what_the_rows_say_of_the_others():
    """An A100 of which only copies were timed, at 1.3 times what other machines taught: its running sums are slower, too."""
    rows, kept = timed(A100.transfer, A100, 1.3), {name: H200.calibration.curves[name] for name in ("copy", "elementwise")}
    model, _ = corrected(A100, replace(H200.calibration, curves=kept, families={}), A100, (), rows)
    op = model.library.measured(Row(kind="op", op="cumsum", params={"rows": 4096, "cols": 4096, "dtype": "fp16"}, busy_s=1.0))
    now, before = (float(one.cost(op, A100, il.Plan()).device) for one in (model, A100.transfer))
    assert 1.04 < now / before < 1.3 * 1.2  # what is unsure takes up to a fifth longer on average than in the middle


def test_a_curve_from_small_samples_is_not_asked_about_large_kernels():
    """Only short sums were timed, and they moved a gigabyte a second: a long sum takes what other machines taught instead."""
    slow = replace(H200.calibration.curves["scan_rows"], cache=1e9, main=1e9, smallest=2e3, largest=2e6, deepest=0.0)
    model = replace(H200.calibration, curves={**H200.calibration.curves, "scan_rows": slow}, families={}, before=A100.transfer.cost)
    short, long = (
        model.library.measured(Row(kind="op", op="cumsum", params={"rows": n, "cols": 256, "dtype": "fp16"}, busy_s=1.0))
        for n in (64, 2**18)
    )
    own, known = (lambda op, one=one: float(one.fitted_cost(op, A100, il.Plan()).device) for one in (model, replace(model, before=None)))
    assert own(short) == known(short)
    assert own(long) == float(A100.transfer.cost(long, A100, il.Plan()).device) != known(long)


def test_a_curve_that_its_own_samples_do_not_follow_is_not_asked():
    op = H200.calibration.library.measured(COPIES[-1])
    (kernel,) = H200.calibration.library.lower(op, A100, "eager")
    said = []
    for sd in (0.1, 2.0):
        wild = replace(H200.calibration.curves[kernel.curve], sd=sd)
        curves = {**H200.calibration.curves, kernel.curve: wild}
        model = replace(H200.calibration, curves=curves, families={}, before=A100.transfer.cost)
        said.append(float(model.fitted_cost(op, A100, il.Plan()).device))
    assert said[1] == float(A100.transfer.cost(op, A100, il.Plan()).device) != said[0]


def test_without_rows_nothing_changes():
    assert [v.tolist() for v in SharedErrors((), ()).at([trait("add", 20.0)])] == [[0.0], [0.3]]
    none = H200.calibration.given([], H200)
    graph = il.workload("mlp8_1024")
    assert il.predict(graph, replace(H200, calibration=none)).busy_s == il.predict(graph, H200).busy_s


def test_what_rows_say_fades_with_the_distance_and_what_they_leave_open_grows():
    errors = SharedErrors(tuple(trait("add", float(n)) for n in range(18, 22)), (0.3,) * 4)
    (same, far, other), sds = errors.at([trait("add", 20.0), trait("add", 60.0), trait("conv", 20.0)])
    assert 0.25 < same <= 0.31 and 0 < other < far < same
    assert sds[0] < sds[1] < sds[2] < 0.3


def test_the_process_is_the_textbook_one():
    """Conditional mean by the covariance's own blocks, solved whole."""
    from ironlaw.calibration.shared_errors import OWN, REPEATS, covariance

    rows, logs = [trait("add", 18.0), trait("add", 24.0)], np.array([0.0, 0.0])
    mean, _ = SharedErrors(tuple(rows), tuple(logs)).at([trait("add", 20.0)])
    assert mean[0] == 0.0
    shared = covariance(rows, rows)
    assert np.all(np.linalg.eigvalsh(shared + np.eye(2) * (OWN * 0.09 + REPEATS**2)) > 0) and shared[0, 1] == shared[1, 0]


def test_one_odd_row_does_not_rule():
    many = tuple(trait("add", 18.0 + n / 4) for n in range(20))
    straight, bent = (SharedErrors(many, (*(0.1,) * 19, last)) for last in (0.1, math.log(30.0)))
    near = [trait("add", 19.0)]
    assert bent.at(near)[0][0] == pytest.approx(straight.at(near)[0][0], abs=0.05)


def test_a_sweep_is_answered_as_its_points_are():
    own = H200.calibration.given(timed(H200.calibration, H200, 1.3), H200)
    machine = replace(H200, calibration=own)
    sizes = np.array([64, 128, 256])
    swept = il.predict(il.workload("gpt2", batch=1, seq=sizes), machine).busy_s
    single = [il.predict(il.workload("gpt2", batch=1, seq=int(n)), machine).busy_s for n in sizes]
    assert np.asarray(swept) == pytest.approx(single, rel=0.05)


def test_the_first_cases_are_of_every_kind_and_the_next_where_the_time_is():
    cases = [trait(kind, float(n)) for kind in ("add", "conv", "norm") for n in range(10, 20)]
    first = telling.first_of_kinds(cases, [1.0] * len(cases))
    assert {cases[i].curve for i in first[:3]} == {"add", "conv", "norm"} and len(first) == len(set(first)) == 9
    chosen, sds = telling.order(cases, [trait("conv", 14.0), trait("add", 11.0)], [0.9, 0.1], [], 3)
    assert cases[chosen[0]].curve == "conv" and sds == sorted(sds, reverse=True)


def test_an_unsure_operator_takes_longer_on_average_than_in_the_middle():
    """A model's time is a sum. Of a time whose logarithm is normal with sd s, the mean is exp(s² / 2) times the median."""
    own = H200.calibration.given(timed(H200.calibration, H200, 1.0), H200)  # rows as the curves say: nothing to correct
    op = H200.calibration.library.measured(
        Row(kind="op", op="topk", params={"rows": 4096, "cols": 512, "k": 8, "dtype": "fp16"}, busy_s=1.0)
    )
    known, before = (one.cost(op, H200, il.Plan()) for one in (own, H200.calibration))
    draws = np.random.default_rng(1).normal(math.log(before.device), known.doubt.sd, 200_000)
    assert known.device == pytest.approx(np.exp(draws).mean(), rel=0.02) and known.device > before.device


def test_a_few_rows_asked_beyond_themselves_are_believed_where_others_know_less():
    """Only short sums were timed. What other machines say of a long one is taken only where that is surer."""
    short = replace(H200.calibration.curves["scan_rows"], smallest=2e3, largest=2e6, deepest=0.0, sd=0.1)
    op = H200.calibration.library.measured(Row(kind="op", op="cumsum", params={"rows": 2**18, "cols": 256, "dtype": "fp16"}, busy_s=1.0))
    said = A100.transfer.cost(op, A100, il.Plan())
    curves = {**H200.calibration.curves, "scan_rows": short}
    times = []
    for sd in (0.05, 3.0):
        elsewhere = replace(said, doubt=replace(said.doubt, sd=sd))
        model = replace(H200.calibration, curves=curves, families={}, before=lambda *_, one=elsewhere: one)
        times.append(float(model.fitted_cost(op, A100, il.Plan()).device))
    own = float(replace(H200.calibration, curves=curves, families={}).fitted_cost(op, A100, il.Plan()).device)
    assert times == [float(said.device), own] and own != float(said.device)
