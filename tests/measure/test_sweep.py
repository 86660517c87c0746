"""The wide sweep of a processor on a fake clock: its rows, the time that is up, and turns that others disturbed."""

import pytest
from fake import FakeClock, FakeDevice

from ironlaw.errors import BadValue
from ironlaw.measure.devices.device import Case
from ironlaw.measure.devices.device_kinds import KINDS
from ironlaw.measure.noise import Reading, Watch
from ironlaw.measure.suites import suite_sweep as suites
from ironlaw.measure.suites.cpu import cpu_sweep


def case(op, clock, seconds):
    def call():
        clock.time += seconds

    return Case(op, {"numel": 8, "dtype": "fp32"}, lambda: call)


def test_rows_of_the_sweep():
    clock, told = FakeClock(), []
    rows = cpu_sweep.run([case("relu", clock, 2e-3), case("gelu", clock, 5e-3)], lambda *step: told.append(step), clock=clock)
    assert [(row["kind"], row["op"], row["params"]["numel"]) for row in rows] == [("op", "relu", 8), ("op", "gelu", 8)]
    assert [row["wall_s"] for row in rows] == pytest.approx([2e-3, 5e-3], rel=1e-3)
    assert told == [(0.0, "relu 1 of 2"), (0.5, "gelu 2 of 2"), (1.0, "done")]


def test_time_that_is_up_ends_it(monkeypatch):
    clock, now = FakeClock(), iter((0.0, 5.0, 11.0))
    monkeypatch.setattr(cpu_sweep.time, "monotonic", lambda: next(now))
    rows = cpu_sweep.run([case(op, clock, 1e-3) for op in ("relu", "gelu", "silu")], seconds=10.0, clock=clock)
    assert [row["op"] for row in rows] == ["relu"]


@pytest.mark.parametrize(("others", "turns", "kept"), [((0.0,), 1, 0.0), ((0.5, 0.02), 2, 0.02), ((0.5, 0.3, 0.4), 3, 0.3)])
def test_the_quietest_turn_is_kept(others, turns, kept):
    """A turn during which others took over a tenth of the processors' time is not the last, up to three of them."""
    clock, shares, made = FakeClock(), iter(others), []

    def watch():
        share = next(shares)
        read = iter([Reading(0.0, 0.0, 0.0), Reading(share, 1.0, 0.0)])
        made.append(Watch(lambda: next(read), lambda: 0.0))
        return made[-1]

    timing, found = cpu_sweep.quietest(case("relu", clock, 1e-3).prepare(), clock=clock, watch=watch)
    assert (len(made), found) == (turns, pytest.approx(kept))
    assert timing.median == pytest.approx(1e-3, rel=1e-3)


def test_a_device_without_a_sweep_is_told():
    device = FakeDevice()
    with pytest.raises(BadValue, match="only the sweep of a GPU comes in parts"):
        suites.chosen_parts(device, "ops")
    assert suites.chosen_parts(device) == ()
    assert "no_grad" in suites.method(device)
    device.kind = KINDS["mps"]
    for ask in (suites.sweep, suites.chosen_parts, suites.method):
        with pytest.raises(BadValue, match="there is no wide sweep for mps yet; leave --full out"):
            ask(device)
