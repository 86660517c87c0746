"""Starts on the device: by hand on a toy machine, and on whole models the last end is the predicted time."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from small_graphs import MACHINE, chain, graphs

from ironlaw.engine.device.machine import Plan
from ironlaw.engine.device.predict import predict
from ironlaw.engine.device.timeline import timeline
from ironlaw.errors import BadValue
from ironlaw.registry.machines import hardware
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


@pytest.mark.parametrize("machine", ["h200_sxm", "t4"])
@pytest.mark.parametrize("mode", ["eager", "compiled", "graphs"])
def test_real_models_calibrated_or_not(machine: str, mode: str):
    p = predict(workload("resnet50", batch=1), hardware(machine), Plan(mode))
    slots = timeline(p)
    assert slots[-1].end == pytest.approx(p.seconds)
    assert [slot.row for slot in slots] == list(p.ops)


def test_a_sweep_has_no_timeline():
    with pytest.raises(BadValue, match="give a single size"):
        timeline(predict(workload("resnet50", batch=np.array([1, 2])), hardware("t4")))
