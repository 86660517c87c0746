"""What is left of the minute goes to the cases that tell most, in their order."""

import json
from dataclasses import replace

import pytest
from fake import FakeDevice, Quiet

import ironlaw as il
from ironlaw.backends import require
from ironlaw.backends.rows import Row
from ironlaw.calibration.fit import fit
from ironlaw.calibration.local_fit import fitting
from ironlaw.cli.show.measured_machine import worth
from ironlaw.measure.devices.device_kinds import KINDS
from ironlaw.measure.machine import minute as minutes
from ironlaw.measure.machine.characterise import characterise
from ironlaw.measure.machine.machine_sections import Minute
from ironlaw.measure.machine.machine_sizes import Sizes
from ironlaw.measure.machine.minute import judged, minute, until
from ironlaw.measure.progress_lines import quiet
from ironlaw.measure.suites import chosen_cases as listed
from ironlaw.measure.suites.chosen_cases import ChosenCases, chosen_cases

SIZES = Sizes("small", each=0.002, longest=0.05, streams=1, whole=4.0)
RELU = tuple(("relu", {"numel": 2**n, "dtype": "fp32"}) for n in (20, 10, 24, 22))
CASES = ChosenCases(RELU, {1: 0.3, 2: 0.2, 4: 0.1})


@pytest.fixture
def device(monkeypatch):
    """One whose wide sweep has relu at many sizes."""
    fake = FakeDevice()
    fake.chosen = "cpu"
    case = next(iter(fake.cases()))
    made = {2**n: case.prepare for n in range(8, 24)}
    monkeypatch.setattr(minutes, "chosen_cases", lambda name: CASES)
    monkeypatch.setattr(minutes, "fitting", lambda: lambda rows: 0.1 * rows)
    monkeypatch.setattr(
        "ironlaw.measure.suites.cpu.cases.cases",
        lambda: (type(case)("relu", {"numel": n, "dtype": "fp32"}, prepare) for n, prepare in made.items()),
    )
    return fake


def test_cases_are_timed_in_their_order_and_one_that_is_not_there_is_left_out(device):
    part = minute(device, SIZES, quiet, lambda: False, device.clock.now() + 10.0)
    assert [row["params"]["numel"] for row in part.rows] == [2**20, 2**10, 2**22] and not part.stopped
    assert all(row["wall_s"] > 0 for row in part.rows)


def test_a_gpus_minute_times_enough_of_an_optimisers_steps_for_a_curve():
    library, h200 = require("cuda"), il.hardware("h200_sxm")
    steps = [(op, params) for op, params in chosen_cases("cuda").specs[:100] if op == "adamw"]
    rows = [Row(kind="op", op=op, params={**params}, busy_s=1e-3, kernels=3) for op, params in steps]
    assert "foreach" in fit(library.samples(rows, h200), 5e7)


def test_no_case_begins_when_the_time_is_up(device):
    assert minute(device, SIZES, quiet, lambda: False, device.clock.now() - 1.0).rows == []


def test_time_is_left_to_fit_curves_to_what_was_timed(device, monkeypatch):
    monkeypatch.setattr(minutes, "fitting", lambda: lambda rows: 10.0 * max(rows - 1, 0))
    part = minute(device, SIZES, quiet, lambda: False, device.clock.now() + 10.0)
    assert [row["params"]["numel"] for row in part.rows] == [2**20, 2**10]


def test_what_a_fit_will_take_grows_faster_than_its_rows():
    takes = fitting()
    assert takes(0) > 0.0 and takes(1400) > 1.9 * takes(600)


def test_an_interrupt_keeps_what_is_there(device):
    def interrupted(share, doing):
        raise KeyboardInterrupt

    part = minute(device, SIZES, interrupted, lambda: False, device.clock.now() + 10.0)
    assert part.stopped and len(part.rows) == 1


def test_they_come_last_and_say_what_another_minute_would_add(device):
    found = characterise(device, SIZES, watch=lambda: Quiet(device.clock, 0.0), rest=until)
    assert [row.params["numel"] for row in found.rows[-3:]] == [2**20, 2**10, 2**22]
    assert found.minute == Minute(3, 4, 0.2, 0.1) and not found.stopped
    assert "Timed 3 of 4 operators" in worth(found.minute) and "Another minute would bring that to 10%" in worth(found.minute)


@pytest.mark.parametrize(("each", "compiles"), [(0.1, True), (60.0, False)])
def test_compiling_comes_after_them_and_only_if_there_is_time(device, monkeypatch, each, compiles):
    asked = []
    monkeypatch.setattr(minutes, "fitting", lambda: lambda rows: each * rows)
    monkeypatch.setattr(device, "compiles", lambda longest: (asked.append((device.clock.time, longest)), ([], ["compiled"]))[1])
    sizes = replace(SIZES, whole=60.0, compiled=40.0)
    begun = device.clock.time
    found = characterise(device, sizes, watch=lambda: Quiet(device.clock, 0.0), rest=until)
    over = begun + sizes.whole - each * found.minute.timed
    assert bool(asked) == compiles == ("compiled" in found.notes) and found.minute.timed == (3 if compiles else 1)
    assert all(longest == pytest.approx(min(40.0, over - now), abs=0.1) for now, longest in asked)
    assert any("before compiling a function" in note for note in found.notes) != compiles


def test_an_interrupt_while_it_compiles_keeps_what_is_there(device, monkeypatch):
    def interrupted(longest):
        raise KeyboardInterrupt

    monkeypatch.setattr(device, "compiles", interrupted)
    found = characterise(device, replace(SIZES, whole=60.0, compiled=40.0), watch=lambda: Quiet(device.clock, 0.0), rest=until)
    assert found.stopped and found.minute.timed == 3


def test_before_them_a_device_is_sampled_a_third_as_often(device):
    taken = {}
    for rest in (None, until):
        fake = FakeDevice()
        fake.kind, fake.chosen = KINDS["cuda"], "cpu"
        fake.clock.sync = fake.takes(1e-5)
        found = characterise(fake, replace(SIZES, each=0.05, ops=False, whole=1e3), watch=lambda f=fake: Quiet(f.clock), rest=rest)
        taken[rest] = sum(row.samples for row in found.rows if row.kind == "launch" and row.op in fake.launches())
    assert 2.8 < taken[None] / taken[until] < 3.2


def test_where_kernels_are_timed_the_chosen_cases_stand_for_the_single_ops(device, monkeypatch):
    device.times_kernels = True
    monkeypatch.setattr(device, "busy", lambda calls: [{"busy_s": 1e-6} for _ in calls])
    monkeypatch.setattr(device, "cases", lambda: pytest.fail("timed twice"))
    found = characterise(device, SIZES, watch=lambda: Quiet(device.clock, 0.0), rest=until)
    assert found.minute.timed == 0 and all(row.busy_s for row in found.rows)  # this one has no PyTorch to time them with
    assert "over before any of 4 operators" in worth(found.minute) and "--seconds 120" in worth(found.minute)


@pytest.mark.parametrize(
    ("result", "words"),
    [(Minute(4, 4, 0.1, 0.1), "All of them were timed"), (Minute(3, 4, 0.101, 0.1), "would hardly change that")],
)
def test_where_another_minute_adds_little_it_says_what_does(result, words):
    assert words in worth(result)


def test_without_a_list_there_is_nothing_to_say(device, monkeypatch):
    monkeypatch.setattr(minutes, "chosen_cases", chosen_cases)
    device.chosen = ""
    assert judged(device, 3, 1.0) is None and chosen_cases("").left(5) == 0.0


@pytest.mark.parametrize("kind", ["cuda", "cpu"])
def test_the_stored_lists_are_cases_of_the_wide_sweeps_in_one_order(kind):
    data = json.loads(listed.written(kind).read_text())
    places = sorted(row[0] for group in data["cases"] for row in group["rows"])
    chosen = chosen_cases(kind)
    assert places == list(range(len(chosen.specs))) and len({repr(spec) for spec in chosen.specs}) == len(places) > 500
    steps = [chosen.left(count) for count in (1, 100, 400, 10_000)]
    assert steps == sorted(steps, reverse=True) and steps[0] > steps[-1] > 0.0
    if kind == "cuda":
        from ironlaw.measure.suites.cuda.parts import PARTS

        swept = {repr(spec) for part in PARTS.values() for spec in part.specs()}
        assert {repr(spec) for spec in chosen.specs} <= swept
