"""Hosts: who launches, and that the device does not care."""

from dataclasses import replace
from math import log, sqrt
from statistics import median

import pytest
from hypothesis import given
from hypothesis import strategies as st
from small_graphs import MACHINE, chain

import ironlaw as il
from ironlaw.engine.device.host import AUTOGRAD, COMPILED, ENTRY, IN_MODEL, PER_TENSOR, Host, model_factor
from ironlaw.engine.device.intervals import BETWEEN_HOSTS
from ironlaw.engine.device.machine import Plan
from ironlaw.engine.device.predict import predict
from ironlaw.engine.device.timeline import timeline
from ironlaw.engine.device.types import Tensor
from ironlaw.engine.device.work import op as make_op
from ironlaw.engine.device.work import with_attrs
from ironlaw.errors import BadValue
from ironlaw.registry.evidence import evidence
from ironlaw.registry.workloads import workload

H200, H100, ARM, M7 = (il.hardware(name) for name in ("h200_sxm", "h100_sxm", "neoverse_n1_2core", "cortex_m7"))
VM = il.host("xeon_vm")
MODES = ("eager", "compiled", "graphs", "eager_graphs")
SMALL = workload("dscnn_kws", batch=1, dtype="fp16")  # kernels far shorter than launches


def test_a_launch_is_its_kinds_or_its_categorys_or_the_default():
    host = Host({"default": 1.0, "relu": 2.0, "rowwise": 4.0, "linear": 8.0}, entry=16.0)
    relu, softmax, gelu = (chain(kind).ops[0] for kind in ("relu", "softmax", "gelu"))
    assert [host.launch(op, "eager", 3.0) for op in (relu, softmax, gelu)] == [2.0, 4.0, 1.0]  # one call, however many kernels
    assert [host.launch(op, "compiled", 3.0) for op in (relu, softmax, gelu)] == [3.0] * 3  # a compiler's kernels, one by one
    linear = next(op for op in workload("mlp8_1024").ops if op.kind == "linear")
    assert host.launch(linear, "compiled", 2.0) == 8.0  # still the library's call


@given(st.floats(1.0, 50.0), st.sampled_from(MODES), st.sampled_from(["queued", "synchronous"]), st.booleans())
def test_device_time_does_not_depend_on_the_host(factor, mode, dispatch, calibrated):
    plan = Plan(mode, dispatch, calibrated, host=VM)
    a, b = (predict(SMALL, H200, replace(plan, host=host)) for host in (VM, VM.scaled(factor)))
    assert (a.busy_s, a.data_s, a.compute_s, a.kernels) == (b.busy_s, b.data_s, b.compute_s, b.kernels)
    assert [row.seconds for row in a.ops] == [row.seconds for row in b.ops]
    assert b.host_s == pytest.approx(factor * a.host_s)
    assert b.seconds >= a.seconds


@given(st.floats(1.0, 50.0), st.sampled_from(["eager", "compiled"]))
def test_a_host_so_many_times_as_slow_takes_so_many_times_as_long_where_it_binds(factor, mode):
    """Every kernel is shorter than its launch, so the wall time is all launches and the last kernel."""
    slow = VM.scaled(10.0)
    a, b = (predict(SMALL, H200, Plan(mode, host=host)) for host in (slow, slow.scaled(factor)))
    last = float(a.ops[-1].seconds)
    assert a.seconds == pytest.approx(a.host_s + last, rel=1e-6)
    assert b.seconds - last == pytest.approx(factor * (a.seconds - last), rel=1e-6)


@pytest.mark.parametrize("mode", MODES)
def test_without_a_host_it_is_the_one_that_the_device_was_measured_with(mode):
    plain, named = predict(SMALL, H200, Plan(mode)), predict(SMALL, H200, Plan(mode, host=VM))
    assert plain.host == VM and plain.seconds == named.seconds and plain.run == named.run
    assert not any("host" in source for source in plain.sources)
    assert any(source.startswith("host: Virtual machine") for source in named.sources)


def test_an_unmeasured_device_has_a_typical_host_until_one_is_named():
    plain, named = predict(SMALL, H100, Plan(transferred=False)), predict(SMALL, H100, Plan(host=VM, transferred=False))
    assert (plain.host.default, plain.host.estimate, plain.host.name) == (H100.launch, True, "a typical host")
    assert plain.host_s == pytest.approx(H100.launch * float(plain.kernels))
    assert named.host_s == pytest.approx(sum(VM.launch(op, "eager", 1.0) for op in SMALL.ops if op.work.launches))
    assert named.busy_s == plain.busy_s
    again, other = predict(SMALL, H100), predict(SMALL, H100, Plan(host=VM))
    assert again.host.estimate and other.host is VM and again.busy_s == other.busy_s and again.host_s < other.host_s


@pytest.mark.parametrize("dispatch", ["queued", "synchronous", "replayed"])
def test_a_typical_host_is_an_estimate_and_a_processor_is_itself(dispatch):
    behind = dispatch == "queued"
    host = replace(MACHINE, dispatch=dispatch).typical_host
    assert (host.name, host.estimate) == (("a typical host", True) if behind else ("the device itself", False))
    assert (host.launches, host.graph_start) == ({"default": 0.5}, 0.5)


def test_a_compiled_function_is_entered_and_a_graph_started_by_the_host():
    host = Host({"default": 1.0}, entry=100.0, graph_start=1000.0)
    free = replace(host, entry=0.0)
    compiled, without = (predict(SMALL, H200, Plan("compiled", host=one)) for one in (host, free))
    assert compiled.seconds == pytest.approx(without.seconds + 100.0)
    for mode in ("graphs", "eager_graphs"):
        p = predict(SMALL, H200, Plan(mode, host=host))
        assert p.seconds == pytest.approx(1000.0 + p.busy_s + H200.calibration.graph_gap * float(p.kernels))


@pytest.mark.parametrize("machine", [ARM, M7], ids=lambda m: m.slug)
def test_a_processor_is_its_own_host(machine):
    graph = workload("dscnn_kws", dtype="fp32")
    own, asked = predict(graph, machine), predict(graph, machine, Plan(host=VM))
    assert own.seconds == asked.seconds and asked.host is not VM
    assert any(f"{machine.slug} launches by itself" in source for source in asked.sources)


def test_a_given_launch_stands_for_any_hosts():
    p = predict(SMALL, H200, Plan(host=VM, launch=5e-6))
    assert p.host_s == pytest.approx(5e-6 * float(p.kernels))
    assert p.intervals.host == (p.host_s, p.host_s)


def test_another_hosts_interval_leans_to_neither_side():
    p = predict(SMALL, H200, Plan(host=il.host("bare")))
    low, high = p.intervals.host
    assert low < p.host_s < high and low * high == pytest.approx(p.host_s**2)


def test_a_host_that_nobody_named_is_less_sure_than_one_that_was_measured():
    """The profile in use is of some virtual machine, and yours may be twice as fast."""
    unnamed, named, bare = (predict(SMALL, H200, plan).intervals.host for plan in (Plan(), Plan(host=VM), Plan(host=il.host("bare"))))
    assert unnamed[1] / unnamed[0] > 1.35 * named[1] / named[0]
    assert bare[1] / bare[0] > 1.35 * named[1] / named[0]
    here = replace(VM, slug="")  # as it stands in the file of a machine that was measured here
    own = replace(H200, calibration=replace(H200.calibration, host=here))
    low, high = predict(SMALL, own).intervals.host
    assert high / low == pytest.approx(named[1] / named[0])


def test_two_hosts_of_a_kind_differ_as_far_as_is_said():
    """The same launches, timed on two virtual machines."""
    first, second = (
        [row for file in evidence("h200_sxm") if f"/{name}," in file.source for row in file.rows if row.kind == "launch" and row.wall_s]
        for name in ("micro", "machine")
    )
    ratios = [log(a.wall_s / b.wall_s) for a in first for b in second if a.op == b.op]
    assert len(ratios) == 44 and median(ratios) / sqrt(2.0) == pytest.approx(BETWEEN_HOSTS, abs=0.01)


# ---- what a model adds to its launches


def grown(plan, machine=H200, **settings):
    """How many times as long a graph's launches take with these settings."""
    with_them = replace(SMALL, settings={**SMALL.settings, **settings})
    return predict(with_them, machine, plan).host_s / predict(SMALL, machine, plan).host_s


def test_a_captured_model_runs_its_own_python():
    assert grown(Plan(host=VM), captured=True) == pytest.approx(IN_MODEL)
    assert grown(Plan(host=VM), captured=True, training=True) == pytest.approx(IN_MODEL * AUTOGRAD)
    for plan in (Plan("graphs", host=VM), Plan("eager_graphs", host=VM), Plan(launch=5e-6), Plan(calibrated=False)):
        assert grown(plan, captured=True, training=True) == 1.0  # one launch, none of the model's, or as given
    assert grown(Plan(), training=True) == 1.0  # ops that were written down, not run by a model
    assert grown(Plan(), ARM, captured=True) == 1.0  # its times are those of whole calls


def test_a_captured_model_enters_its_compiled_code_as_often_as_python_is_left_to_run():
    plan, host = Plan("compiled", host=VM), VM
    bare = predict(SMALL, H200, plan).host_s - host.entry
    for entries in (1, 5):
        captured = replace(SMALL, settings={**SMALL.settings, "captured": True, "entries": entries})
        assert predict(captured, H200, plan).host_s == pytest.approx(COMPILED * bare + entries * ENTRY * host.default)


def test_a_captured_model_has_the_same_host_before_every_gpu():
    captured = replace(SMALL, settings={**SMALL.settings, "captured": True})
    hosts = {predict(captured, il.hardware(slug)).host for slug in ("h200", "h100", "a100", "l4")}
    assert hosts == {il.host("typical")}
    assert predict(captured, H200, Plan(host=VM)).host is VM
    assert predict(captured, ARM).host.slug != "typical"  # a processor is its own


def test_what_was_fitted_to_runs_in_which_the_device_waits():
    """scripts/fit_host.py prints them; a second for a launch, and the rest by hand."""
    host, lists = Host({"default": 1.0}), tuple(Tensor(f"t{i}", (4,), "fp32") for i in range(20))
    call = make_op("foreach", "f", lists, (Tensor("y", (4,), "fp32"),), launches=2)
    assert host.launch(call, "eager", 2.0) == pytest.approx(2.0 + 20 * 0.15)
    steps, states = Tensor("x", (8, 2, 4), "fp32"), Tensor("h", (8, 2, 4), "fp32")
    layer = make_op("recurrent", "lstm", (steps,), (states,), cell="lstm", hidden=4, layers=1, directions=1)
    assert host.launch(layer, "eager", 40.0) == pytest.approx(30.0 + 40 * 0.5)
    inverse = make_op("solver", "i", (Tensor("a", (4, 4), "fp32"),), (Tensor("y", (4, 4), "fp32"),), how="inverse")
    assert host.launch(inverse, "eager", 15.0) == host.launch(inverse, "queued", 15.0) == pytest.approx(2.0 + 15 * 0.5)
    relu = make_op("relu", "r", lists[:1], lists[1:2])
    assert model_factor({}, relu, "eager") == pytest.approx(1.8)
    assert model_factor({"training": True}, relu, "eager") == pytest.approx(1.8 * 1.1)
    assert model_factor({}, relu, "compiled") == pytest.approx(1.6)


def test_the_lists_of_an_optimiser_are_beyond_autograd():
    x, y = (Tensor(name, (4,), "fp32") for name in "xy")
    relu, lists = (make_op(kind, kind, (x,), (y,)) for kind in ("relu", "foreach"))
    assert model_factor({"training": True}, lists, "eager") == model_factor({}, relu, "eager") == IN_MODEL
    assert model_factor({"training": True}, relu, "eager") == IN_MODEL * AUTOGRAD
    assert model_factor({"training": True}, relu, "compiled") == COMPILED  # nothing is recorded while compiled code runs
    assert model_factor({}, with_attrs(relu, uncompiled="eager"), "compiled") == IN_MODEL  # left to Python


def test_the_device_does_not_care_for_python():
    captured = replace(SMALL, settings={**SMALL.settings, "captured": True})
    assert predict(captured, H200).busy_s == predict(SMALL, H200).busy_s


def test_a_backward_op_is_launched_like_its_forward():
    host = Host({"default": 1.0, "conv2d": 8.0, "batch_norm": 4.0, "layer_norm": 2.0, "gelu": 16.0, "rowwise": 32.0})
    x, w = Tensor("x", (8, 16, 32, 32), "fp16"), Tensor("w", (16, 16, 3, 3), "fp16", "weight")
    both, one = (make_op("conv_backward", "b", (x, x, w), (x,), groups=1, wanted=count) for count in (2, 1))
    assert [host.launch(op, "eager", 5.0) for op in (both, one)] == [16.0, 8.0]
    like = {"batch_norm_backward": 4.0, "batch_norm_train": 4.0, "norm_backward": 2.0, "gelu_backward": 16.0}
    assert {kind: host.launch(make_op(kind, "b", (x, x), (x,)), "eager", 2.0) for kind in like} == like
    assert Host({"default": 1.0, "conv_backward": 3.0, "conv2d": 8.0}).launch(one, "eager", 5.0) == 3.0  # one that was measured


def test_a_call_on_lists_takes_time_for_each_tensor():
    host = Host({"default": 1.0})
    few, many = (
        make_op("foreach", "f", tuple(Tensor(f"t{i}", (4,), "fp32") for i in range(count)), (Tensor("y", (4,), "fp32"),), launches=2)
        for count in (10, 100)
    )
    assert host.launch(few, "eager", 2.0) == pytest.approx(2.0 + 10 * PER_TENSOR)
    assert host.launch(many, "eager", 2.0) - host.launch(few, "eager", 2.0) == pytest.approx(90 * PER_TENSOR)


def test_graphs_of_eager_code_are_eager_kernels_behind_one_launch():
    eager, graphs = predict(SMALL, H200), predict(SMALL, H200, Plan("eager_graphs"))
    assert graphs.busy_s == pytest.approx(eager.busy_s, rel=1e-12)  # Python 3.12 adds floats with one rounding less
    assert (graphs.kernels, graphs.graph) == (eager.kernels, eager.graph)
    assert graphs.seconds == pytest.approx(VM.graph_start + eager.busy_s + H200.calibration.graph_gap * float(eager.kernels))
    assert graphs.seconds < eager.seconds
    slots = timeline(graphs)
    assert slots[0].start == pytest.approx(VM.graph_start + H200.calibration.graph_gap * float(graphs.ops[0].kernels))
    assert slots[-1].end == pytest.approx(graphs.seconds)
    assert graphs.intervals.device == eager.intervals.device


@pytest.mark.parametrize("mode", ["eager", "compiled"])
def test_a_replay_runs_the_kernels_of_its_mode(mode):
    replay = {"eager": "eager_graphs", "compiled": "graphs"}[mode]
    assert Plan(mode=mode).lowering == Plan(mode=replay).lowering == mode


def test_a_host_is_checked():
    for names in ({"name": "A box", "slug": "box"}, {"slug": "A box"}):
        with pytest.raises(BadValue, match=r"^host 'A box' has no default launch; add"):
            Host({"add": 1e-6}, **names)
    with pytest.raises(BadValue, match="relu of host 'a'"):
        Host({"default": 1e-6, "relu": -1.0}, name="a")
    with pytest.raises(BadValue, match="graph start of host"):
        Host({"default": 1e-6}, graph_start=float("nan"))
    with pytest.raises(BadValue, match=r"^a host's factor is 0\.0"):
        VM.scaled(0.0)


def test_a_slower_host_is_slower_in_everything():
    slow = Host({"default": 1.0, "relu": 2.0}, entry=3.0, graph_start=5.0, name="A box").scaled(4.0)
    assert slow == Host({"default": 4.0, "relu": 8.0}, entry=12.0, graph_start=20.0, name="A box")


def test_a_label_says_what_is_estimated():
    host = Host({"default": 1.0}, slug="box")
    named = replace(host, name="A box")
    assert [one.label for one in (host, named, replace(named, estimate=True))] == ["box", "A box", "A box, estimated"]


def test_plans_with_hosts_can_be_kept_in_a_table():
    assert len({Plan(host=VM), Plan(host=VM.scaled(2.0)), Plan(host=replace(VM)), Plan()}) == 3
