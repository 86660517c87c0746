"""Hosts: who launches, and that the device does not care."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from small_graphs import chain

import ironlaw as il
from ironlaw.engine.device.host import Host
from ironlaw.engine.device.machine import Plan
from ironlaw.engine.device.predict import predict
from ironlaw.engine.device.timeline import timeline
from ironlaw.errors import BadValue

H200, H100, ARM, M7 = (il.hardware(name) for name in ("h200_sxm", "h100_sxm", "neoverse_n1_2core", "cortex_m7"))
VM = il.host("xeon_vm")
MODES = ("eager", "compiled", "graphs", "eager_graphs")
SMALL = il.workload("dscnn_kws", batch=1, dtype="fp16")  # kernels far shorter than launches


def test_a_launch_is_its_kinds_or_its_categorys_or_the_default():
    host = Host({"default": 1.0, "relu": 2.0, "rowwise": 4.0, "linear": 8.0}, entry=16.0)
    relu, softmax, gelu = (chain(kind).ops[0] for kind in ("relu", "softmax", "gelu"))
    assert [host.launch(op, "eager", 3.0) for op in (relu, softmax, gelu)] == [2.0, 4.0, 1.0]  # one call, however many kernels
    assert [host.launch(op, "compiled", 3.0) for op in (relu, softmax, gelu)] == [3.0] * 3  # a compiler's kernels, one by one
    linear = next(op for op in il.workload("mlp8_1024").ops if op.kind == "linear")
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
    plain, named = predict(SMALL, H100), predict(SMALL, H100, Plan(host=VM))
    assert (plain.host.default, plain.host.estimate, plain.host.name) == (H100.launch, True, "a typical host")
    assert plain.host_s == pytest.approx(H100.launch * float(plain.kernels))
    assert named.host_s == pytest.approx(sum(VM.launch(op, "eager", 1.0) for op in SMALL.ops if op.work.launches))
    assert named.busy_s == plain.busy_s


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
    graph = il.workload("dscnn_kws", dtype="fp32")
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


def test_graphs_of_eager_code_are_eager_kernels_behind_one_launch():
    eager, graphs = predict(SMALL, H200), predict(SMALL, H200, Plan("eager_graphs"))
    assert (graphs.busy_s, graphs.kernels, graphs.graph) == (eager.busy_s, eager.kernels, eager.graph)
    assert graphs.seconds == pytest.approx(VM.graph_start + eager.busy_s + H200.calibration.graph_gap * float(eager.kernels))
    assert graphs.seconds < eager.seconds
    slots = timeline(graphs)
    assert slots[0].start == pytest.approx(VM.graph_start + H200.calibration.graph_gap * float(graphs.ops[0].kernels))
    assert slots[-1].end == pytest.approx(graphs.seconds)
    assert graphs.intervals.device == eager.intervals.device


def test_a_host_is_checked():
    with pytest.raises(BadValue, match="has no default launch; add"):
        Host({"add": 1e-6})
    with pytest.raises(BadValue, match="relu of host 'a'"):
        Host({"default": 1e-6, "relu": -1.0}, name="a")
    with pytest.raises(BadValue, match="graph start of host"):
        Host({"default": 1e-6}, graph_start=float("nan"))
    with pytest.raises(BadValue, match="a host's factor"):
        VM.scaled(0.0)


def test_plans_with_hosts_can_be_kept_in_a_table():
    assert len({Plan(host=VM), Plan(host=VM.scaled(2.0)), Plan(host=replace(VM)), Plan()}) == 3
