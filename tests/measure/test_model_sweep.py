"""Operators of a model, timed one by one on a fake clock: rows, what can't be called, a busy machine, time that is up, a profiler."""

from contextlib import nullcontext
from types import SimpleNamespace

import pytest
from fake import FakeClock

from ironlaw.measure.noise import Reading, Watch
from ironlaw.measure.suites.model_sweep import AT_ONCE, sweep


class Machine:
    """As a TorchDevice is asked: 2 ms a call; the profiler says 5 µs for each."""

    torch = SimpleNamespace(no_grad=nullcontext)

    def __init__(self, times_kernels=False):
        self.clock, self.times_kernels, self.sessions = FakeClock(), times_kernels, []

    def busy(self, calls):
        self.sessions.append(len(calls))
        return [{"busy_s": 5e-6} for _ in calls]

    def release_memory(self):
        self.released = True


class Operator:
    def __init__(self, name, fails=""):
        self.name, self.params, self.fails = name, {"kind": name}, fails

    def prepared(self, machine):
        if self.fails:
            raise RuntimeError(f"{self.fails}\nand a traceback")

        def call():
            machine.clock.time += 2e-3

        return call


def watch(share):
    def start():
        read = iter([Reading(0.0, 0.0, 0.0), Reading(share, 1.0, 0.0)])
        return Watch(lambda: next(read), lambda: 0.0)

    return start


def test_a_row_for_each_and_one_that_can_t_be_called_says_why():
    machine, told = Machine(), []
    asked = [Operator("relu"), Operator("attention", "no kernel for that"), Operator("gelu")]
    rows = list(sweep(machine, asked, 10.0, lambda *step: told.append(step[1]), watch=watch(0.0)))
    assert [row["params"]["kind"] for row in rows] == ["relu", "attention", "gelu"] and told[2] == "gelu, 3 of 3"
    assert rows[1]["error"] == "no kernel for that" and "wall_s" not in rows[1]
    assert rows[0]["wall_s"] == pytest.approx(2e-3, rel=1e-3) and "others" not in rows[0] and machine.released


def test_on_a_busy_machine_the_best_call_counts_and_the_row_says_so():
    (row,) = sweep(Machine(), [Operator("relu")], 10.0, watch=watch(0.4))
    assert row["others"] == 0.4 and row["wall_s"] == pytest.approx(2e-3, rel=1e-3)


def test_time_that_is_up_ends_it():
    assert len(list(sweep(Machine(), [Operator("relu")] * 9, 0.2, watch=watch(0.0)))) in (2, 3)  # 0.12 s for each


def test_a_profiler_takes_several_at_once():
    machine = Machine(times_kernels=True)
    asked = [Operator("relu")] * AT_ONCE + [Operator("attention", "no kernel"), Operator("gelu")]
    rows = list(sweep(machine, asked, 10.0))
    assert machine.sessions == [AT_ONCE, 1] and [row.get("busy_s") for row in rows] == [5e-6] * AT_ONCE + [None, 5e-6]
    assert rows[AT_ONCE]["error"] == "no kernel"
