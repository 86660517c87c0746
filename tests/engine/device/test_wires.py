"""Collectives run beside the passes, and are waited for where their results are needed; by hand."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

import ironlaw as il
from ironlaw.engine.advice.finding import finding
from ironlaw.engine.cluster.library import collective
from ironlaw.engine.device.dispatch import Schedule, beside, simulate
from ironlaw.engine.device.types import Graph, Op, Tensor
from ironlaw.engine.device.wires import AFTER, AT_ONCE, on_wires
from ironlaw.engine.device.work import BYTES, COLLECTIVE, RANKS, op
from ironlaw.registry.boxes import box_with
from ironlaw.report import chrome_trace
from ironlaw.systems.training.device_advice import several_devices


def test_a_sum_hides_behind_what_follows_and_is_waited_for_at_the_end_of_the_pass():
    """Work of 10, a sum of 6 that begins after it, work of 4 beside it, and the optimiser, which waits for the sum: 10 + 6 + 1."""
    run = simulate(Schedule("queued", [0.0] * 4, sends=[0, AFTER, 0, 0], joins=[-1, -1, -1, 1]), [10.0, 6.0, 4.0, 1.0])
    assert (run.wall, run.busy, run.starts) == (17.0, 15.0, (0.0, 10.0, 10.0, 16.0))
    assert beside(run) == (6.0, 2.0)


def test_a_gather_of_weights_begins_as_it_is_launched_and_the_wires_are_one_stream():
    run = simulate(Schedule("queued", [1.0] * 4, sends=[0, AT_ONCE, AT_ONCE, 0], joins=[-1, -1, -1, 2]), [10.0, 3.0, 3.0, 1.0])
    assert run.starts == (1.0, 2.0, 5.0, 11.0) and run.wall == 12.0  # nothing of it shows
    assert beside(run) == (6.0, 0.0)


def test_wires_that_nobody_waits_for_end_the_run():
    assert simulate(Schedule("queued", [0.0, 0.0], sends=[0, AFTER], joins=[-1, -1]), [2.0, 3.0]).wall == 5.0


def together(kind: str, name: str, source: Tensor, out: Tensor) -> Op:
    return op("copy", name, [source], [out], **{COLLECTIVE: kind, BYTES: float(out.bytes), RANKS: 8})


def step() -> Graph:
    """A layer whose gradient is summed up while another op of the backward pass runs, and an optimiser."""
    w, x, g = (Tensor(name, (4096, 4096), "fp32", role) for name, role in (("w", "weight"), ("x", "input"), ("g", "activation")))
    y, s, z = (replace(g, name=name) for name in "ysz")
    ops = (
        op("linear", "forward", [x, w], [y]),
        together("all_reduce", "sum", y, s),
        op("relu", "back", [y], [g]),
        op("add", "update", [w, s], [z]),
    )
    return replace(il.workload("gpt2"), ops=ops, outputs=(), settings={"backwards": (3,), "training": True, "captured": True})


def test_the_sum_joins_the_optimiser_and_takes_what_the_cluster_law_says():
    graph, machine = step(), il.hardware("h100")
    sends, joins = on_wires(graph, graph, [None, il.predict(graph, machine).ops[1].cost, None, None])
    assert (sends, joins) == ([0, AFTER, 0, 0], [-1, -1, -1, 1])
    p = il.predict(graph, machine)
    box: Any = box_with("h100_sxm")
    assert p.ops[1].seconds == collective(box, "all_reduce", 8, 4.0 * 4096 * 4096)
    alone = il.predict(replace(graph, ops=(*graph.ops[:1], *graph.ops[2:]), settings={**graph.settings, "backwards": (2,)}), machine)
    taken, shown = beside(p.run)
    assert 0 < shown < taken and abs(p.seconds - shown - alone.seconds) < 0.1 * alone.seconds
    assert "The wires between the GPUs take" in finding(p) and "wires" not in finding(alone)


def test_a_trace_shows_them_on_a_stream_of_their_own():
    p = il.predict(step(), il.hardware("h100"))
    kernels = [event for event in json.loads(chrome_trace.text([p]))["traceEvents"] if event.get("cat") == "kernel"]
    assert [event["args"]["operator"] for event in kernels if event["tid"] == chrome_trace.WIRES] == ["sum"]
    assert sum(e["dur"] for e in kernels if e["tid"] == chrome_trace.STREAM) == pytest.approx(1e6 * p.busy_s, rel=1e-3)


def test_a_step_that_runs_on_several_is_not_told_to():
    assert several_devices({}, il.predict(step(), il.hardware("h100"))) == ()


def test_a_machine_without_a_box_has_no_wires():
    assert beside(il.predict(step(), il.hardware("t4")).run) == (0.0, 0.0)


def test_a_gather_of_activations_waits_for_them():
    w, x = Tensor("w", (64, 64), "bf16", "weight"), Tensor("x", (64, 64), "bf16", "activation")
    cast = op("cast", "narrow", [replace(w, dtype="fp32")], [replace(x, name="narrow")])
    whole = Tensor("whole", (512, 64), "bf16", "activation")
    ops = (
        cast,
        together("all_gather", "weights", cast.outputs[0], whole),
        together("all_gather", "split", x, replace(whole, name="other")),
    )
    graph = replace(il.workload("gpt2"), ops=ops, outputs=(), settings={})
    cost = il.predict(graph, il.hardware("h100")).ops[1].cost
    assert on_wires(graph, graph, [None, cost, cost])[0] == [0, AT_ONCE, AFTER]
