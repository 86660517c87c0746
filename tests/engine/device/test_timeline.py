"""Starts on the device: by hand on a toy machine, and on whole models the last end is the predicted time."""

from itertools import pairwise

import numpy as np
import pytest
from how_thorough import RELEASE
from hypothesis import given
from small_graphs import MACHINE, chain, graphs

from ironlaw.engine.device.machine import DISPATCHES, MODES, Plan
from ironlaw.engine.device.predict import predict
from ironlaw.engine.device.timeline import timeline
from ironlaw.errors import BadValue
from ironlaw.registry.machines import hardware, machines
from ironlaw.registry.workloads import workload


def spans(plan: Plan, *kinds: str, shape=(4, 8)) -> list[tuple[float, float, float]]:
    return [(slot.start, slot.end, slot.idle) for slot in timeline(predict(chain(*kinds, shape=shape), MACHINE, plan))]


def test_launch_bound_by_hand():
    # 4×8 in fp16 is read and written: 128 B at 100 B/s is 1.28 s a kernel, launched each 0.5 s: only the first is waited for
    assert spans(Plan(), "relu", "exp") == [(0.5, pytest.approx(1.78), 0.5), (pytest.approx(1.78), pytest.approx(3.06), 0.0)]
    # 1×8: 0.32 s a kernel; the device waits 0.18 s for the second launch
    assert spans(Plan(), "relu", "exp", shape=(1, 8)) == [
        (0.5, pytest.approx(0.82), 0.5),
        (1.0, pytest.approx(1.32), pytest.approx(0.18)),
    ]


def test_synchronous_and_replayed_by_hand():
    waits = spans(Plan(dispatch="synchronous"), "relu", "exp", shape=(1, 8))
    assert waits == [(0.5, pytest.approx(0.82), 0.5), (pytest.approx(1.32), pytest.approx(1.64), pytest.approx(0.5))]
    replayed = timeline(predict(chain("relu", "exp", shape=(1, 8)), MACHINE, Plan("graphs", launch=0.25)))
    assert replayed[0].start == 0.25
    assert replayed[-1].end == pytest.approx(0.25 + sum(float(slot.row.seconds) for slot in replayed))


@given(graphs())
def test_it_ends_with_the_prediction(graph):
    for plan in (Plan(), Plan(dispatch="synchronous"), Plan("compiled"), Plan("graphs")):
        p = predict(graph, MACHINE, plan)
        slots = timeline(p)
        assert slots[-1].end == pytest.approx(p.seconds)
        assert sum(slot.idle for slot in slots) == pytest.approx(p.seconds - p.busy_s, abs=1e-12)
        assert all(a.end <= b.start + 1e-12 for a, b in pairwise(slots))


PLANS = [
    Plan(mode, dispatch, calibrated, launch)
    for mode in MODES
    for dispatch in DISPATCHES
    for calibrated in (True, False)
    for launch in (None, 3e-6)
]


@pytest.mark.parametrize("machine", machines())
def test_a_timeline_ends_when_the_prediction_does_on_every_machine_mode_and_dispatch(machine: str):
    """A third of the plans on each, others on the next, and all before a release. The processors among them too, which once ran ahead of
    themselves here, and what entering a compiled function costs."""
    target = hardware(machine)
    dtype = next(fmt for fmt in ("fp16", "bf16", "fp32", "int8") if fmt in target.peaks)
    some = PLANS if RELEASE else PLANS[machines().index(machine) % 3 :: 3]
    for name, plans in (("gpt2_layer", some), ("resnet18", (Plan(), Plan("compiled")))):
        graph = workload(name, dtype=dtype)
        for plan in plans:
            p = predict(graph, target, plan)
            slots = timeline(p)
            assert slots[-1].end == pytest.approx(p.seconds, rel=1e-12), plan
            assert sum(slot.idle for slot in slots) == pytest.approx(p.seconds - p.busy_s, abs=1e-12 * p.seconds), plan
            assert all(a.end <= b.start * (1 + 1e-12) for a, b in pairwise(slots)), plan
            assert [slot.row for slot in slots] == list(p.ops)


def test_a_processor_waits_for_each_call_and_enters_a_compiled_function_first():
    target = hardware("neoverse_n1_2core")
    graph = workload("gpt2_layer", dtype="fp32")
    eager = timeline(predict(graph, target, Plan()))
    assert all(b.start - a.end == pytest.approx(float(b.row.launch_s), abs=1e-12) for a, b in pairwise(eager))
    assert timeline(predict(graph, target, Plan("compiled")))[0].start == pytest.approx(target.calibration.host.entry)


def test_resnet18_in_fp32_on_a_laptop():
    """A second dispatcher once ended this timeline at 4.89 ms, where the prediction said 5.03."""
    p = predict(workload("resnet18", dtype="fp32"), hardware("laptop_cpu"))
    assert timeline(p)[-1].end == pytest.approx(p.seconds, rel=1e-12)


def test_a_sweep_has_no_timeline():
    with pytest.raises(BadValue, match="give a single size"):
        timeline(predict(workload("resnet50", batch=np.array([1, 2])), hardware("t4")))
