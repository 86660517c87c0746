"""What must hold of any prediction, and: a sweep is its points."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from small_graphs import MACHINE, graphs

from ironlaw.engine.device.machine import Plan
from ironlaw.engine.device.predict import predict
from ironlaw.engine.device.types import Graph, Tensor
from ironlaw.engine.device.work import op

H100 = replace(MACHINE, peaks={"fp16": 989e12}, bandwidth=3.35e12, capacity=80e9, launch=10e-6)
machines = st.builds(
    lambda bw, peak, launch: replace(MACHINE, bandwidth=bw, peaks={"fp16": peak}, launch=launch),
    st.floats(1e9, 1e13),
    st.floats(1e9, 1e15),
    st.floats(0, 1e-4),
)
modes = st.sampled_from(["eager", "compiled", "graphs"])
dispatches = st.sampled_from(["queued", "synchronous"])
plans = st.builds(Plan, modes, dispatches)
TINY = 1 - 1e-9


@given(graphs(), machines, plans)
def test_the_band_is_ordered_and_holds_the_time(graph, machine, plan):
    assume(graph.kernels)  # views alone take no time at all
    p = predict(graph, machine, plan)
    low, high = p.overlap
    assert low <= high
    assert low * TINY <= p.seconds <= high / TINY
    assert p.seconds >= p.busy_s * TINY
    assert 0 < p.utilization <= 1 / TINY
    assert p.overhead_s >= -1e-9 * p.seconds
    assert p.seconds >= max(p.data_s, p.compute_s) * TINY
    assert p.kernels == sum(row.kernels for row in p.ops)


@given(graphs(), machines, modes)
def test_queued_is_never_slower_than_synchronous(graph, machine, mode):
    assert predict(graph, machine, Plan(mode, "queued")).seconds <= predict(graph, machine, Plan(mode, "synchronous")).seconds / TINY


@given(graphs(), machines, plans, st.floats(1, 100))
def test_more_of_anything_never_slows(graph, machine, plan, factor):
    here = predict(graph, machine, plan).seconds / TINY
    assert predict(graph, replace(machine, bandwidth=machine.bandwidth * factor), plan).seconds <= here
    assert predict(graph, replace(machine, peaks={"fp16": machine.peaks["fp16"] * factor}), plan).seconds <= here
    assert predict(graph, replace(machine, launch=machine.launch / factor), plan).seconds <= here


@given(graphs(), machines)
def test_compiling_never_adds_work_and_graphs_never_add_launches(graph, machine):
    eager, compiled, graphed = (predict(graph, machine, Plan(mode, "synchronous")) for mode in ("eager", "compiled", "graphs"))
    assert compiled.busy_s <= eager.busy_s / TINY
    assert compiled.data_s <= eager.data_s / TINY
    assert compiled.compute_s == pytest.approx(eager.compute_s)
    assert compiled.kernels <= eager.kernels
    assert compiled.seconds <= eager.seconds / TINY
    if compiled.kernels:
        assert graphed.seconds <= compiled.seconds / TINY


@given(graphs(), machines, st.floats(0.05, 1.0))
def test_less_efficiency_never_speeds_up(graph, machine, efficiency):
    assert predict(graph, machine, Plan(efficiency=efficiency)).seconds >= predict(graph, machine).seconds * TINY


@settings(max_examples=20)
@given(graphs(), plans, st.sampled_from(["bandwidth", "peak", "launch", "plan launch", "efficiency"]))
def test_a_sweep_equals_its_points(graph, plan, what):
    points = np.array([0.25, 0.5, 0.75, 1.0])

    def at(value):
        if what == "bandwidth":
            return replace(H100, bandwidth=3.35e12 * value), plan
        if what == "peak":
            return replace(H100, peaks={"fp16": 989e12 * value}), plan
        if what == "launch":
            return replace(H100, launch=1e-5 * value), plan
        return H100, replace(plan, launch=1e-5 * value) if what == "plan launch" else replace(plan, efficiency=value)

    assume(graph.kernels)
    many = predict(graph, *at(points))
    for i, value in enumerate(points.tolist()):
        one = predict(graph, *at(value))
        for field in ("seconds", "data_s", "compute_s", "overhead_s", "busy_s", "utilization", "energy_j", "mfu"):
            assert np.broadcast_to(getattr(many, field), 4)[i] == pytest.approx(getattr(one, field), rel=1e-12, abs=1e-18)
        for end in (0, 1):
            assert np.broadcast_to(many.overlap[end], 4)[i] == pytest.approx(one.overlap[end])
        assert np.broadcast_to(many.bound, 4)[i] == one.bound


def layer(batch) -> Graph:
    """norm -> linear -> gelu -> linear -> residual -> softmax, for any batch."""
    names = ("x", "n", "h", "g", "o", "r", "s")
    widths = (64, 64, 256, 256, 64, 64, 64)
    t = {n: Tensor(n, (batch, w), "fp16", "input" if n == "x" else "activation") for n, w in zip(names, widths, strict=True)}
    up, down = Tensor("up", (256, 64), role="weight"), Tensor("down", (64, 256), role="weight")
    return Graph(
        "layer",
        (
            op("layer_norm", "norm", [t["x"]], [t["n"]]),
            op("linear", "up", [t["n"], up], [t["h"]]),
            op("gelu", "gelu", [t["h"]], [t["g"]]),
            op("linear", "down", [t["g"], down], [t["o"]]),
            op("add", "residual", [t["o"], t["x"]], [t["r"]]),
            op("softmax", "softmax", [t["r"]], [t["s"]]),
        ),
    )


@pytest.mark.parametrize("mode", ["eager", "compiled", "graphs"])
def test_a_sweep_of_batches_equals_its_points(mode):
    batches = np.array([1, 2, 17, 256, 4096])
    machine = replace(H100, capacity=2e6)
    many = predict(layer(batches), machine, Plan(mode))
    for i, batch in enumerate(batches.tolist()):
        one = predict(layer(batch), machine, Plan(mode))
        assert many.seconds[i] == pytest.approx(one.seconds, rel=1e-12)
        assert many.overlap[1][i] == pytest.approx(one.overlap[1], rel=1e-12)
        assert many.memory.total[i] == one.memory.total
        assert many.fits[i] == one.fits
        assert many.bound[i] == one.bound
        assert [np.broadcast_to(row.term, 5)[i] for row in many.ops] == [row.term for row in one.ops]
        assert [np.broadcast_to(row.regime, 5)[i] for row in many.ops] == [row.regime for row in one.ops]
        assert len(many.ops) == len(one.ops)
    assert set(many.fits.tolist()) == {True, False}
