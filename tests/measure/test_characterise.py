"""The whole characterisation on a machine of known figures, and what happens when it is disturbed."""

from dataclasses import replace

import pytest
from fake import CALL, LEVELS, RATES, FakeDevice, Quiet

from ironlaw.backends.rows import Row
from ironlaw.measure.clock import Timing
from ironlaw.measure.devices.device_kinds import KINDS
from ironlaw.measure.machine import machine_sections
from ironlaw.measure.machine.characterise import LOOKS, characterise, steady, with_rows, worst
from ironlaw.measure.machine.datasheet import figures
from ironlaw.measure.machine.machine_sizes import QUICK, SHORT, Sizes
from ironlaw.measure.noise import Noise
from ironlaw.measure.progress_lines import Cancelled, quiet

SMALL = Sizes("small", each=0.002, longest=0.05, streams=2)


def run(backend=None, sizes=SMALL, others=0.0, **more):
    backend = backend or FakeDevice()
    return characterise(backend, sizes, watch=lambda: Quiet(backend.clock, others), **more)


def kinds(found):
    return {(row.kind, row.op or row.name) for row in found.rows}


def test_the_machine_is_found_again():
    found = run()
    told = figures(found.rows, {"backend": "cpu", "threads": 1}, {"l1": 128e3, "l2": 2e6})
    assert told.peaks["fp32"][0] == pytest.approx(RATES["fp32"], rel=0.02)
    assert told.peaks["bf16"][0] == pytest.approx(RATES["bf16"], rel=0.05)
    assert told.bandwidth == pytest.approx(LEVELS[-1][1], rel=0.02)
    assert [level.bandwidth for level in told.levels] == pytest.approx([400e9, 200e9], rel=0.05)
    assert all(level.has_step for level in told.levels)
    assert told.launch == pytest.approx(CALL, rel=0.02)
    assert told.floor == pytest.approx(CALL, rel=0.02)


def test_a_format_that_is_only_emulated_is_no_peak():
    told = figures(run().rows, {"backend": "cpu", "threads": 1}, {})
    assert "fp16" not in told.peaks
    assert told.emulated["fp16"] == pytest.approx(RATES["fp16"], rel=0.05)


def test_what_the_machine_lacks_is_noted():
    assert "this device can't multiply matrices in int8" in run().notes


def test_rows_are_evidence_that_the_engine_knows():
    from ironlaw.backends.evidence_ops import OPS

    found = run()
    assert {("op", "matmul"), ("op", "copy"), ("op", "add"), ("op", "relu"), ("launch", "softmax")} <= kinds(found)
    for row in found.rows:
        assert row.wall_s > 0 and row.low_s <= row.wall_s <= row.high_s
        if row.kind == "op":
            assert OPS[row.op](row.params).work.bytes > 0


def test_a_side_that_would_take_too_long_is_left_out():
    sides = [row.params["n"] for row in run().rows if row.kind == "op" and row.op == "matmul" and row.dtype == "fp32"]
    assert sides == sorted(sides)
    assert 2 * sides[-1] ** 3 / RATES["fp32"] < SMALL.longest
    assert 2 * machine_sections.SIDES[machine_sections.SIDES.index(sides[-1]) + 1] ** 3 / RATES["fp32"] > SMALL.longest


def test_the_short_measurement_leaves_ops_and_compiling_out():
    found = run(sizes=SHORT)
    assert ("op", "relu") not in kinds(found)
    assert any("short" in note for note in found.notes)
    assert QUICK.ops and QUICK.compiled


def test_a_quiet_machine_is_measured_once():
    found = run()
    assert not found.noise.noisy
    assert found.repeated == []


def test_a_busy_machine_is_measured_twice_and_said():
    found = run(others=0.8)
    assert found.noise.others == pytest.approx(0.4)
    assert found.repeated == ["launches", "products", "streams", "ops"]
    assert "other processes" in found.noise.reasons[0]


def test_a_minute_ends_on_a_machine_that_others_slow_down(monkeypatch):
    """Calls take 300 times as long: what there is by then is kept, describes the machine, and says what is missing."""
    backend, asked = FakeDevice(), []
    backend.slower = lambda: 300.0
    monkeypatch.setattr(backend, "launches", lambda: {"add": backend.takes(CALL)} | {str(i): backend.takes(CALL) for i in range(300)})
    monkeypatch.setattr(backend, "cases", lambda: iter(list(FakeDevice.cases(backend)) * 100))
    monkeypatch.setattr(backend, "compiles", lambda longest: asked.append(longest) or ([], []))
    found = run(backend, replace(QUICK, whole=40.0, patience=15.0), others=0.8)
    assert 25.0 < backend.clock.now() < 40.0 and not asked and any("compiling a function" in note for note in found.notes)
    told = figures(found.rows, {"backend": "cpu", "threads": 1}, {"l1": 128e3, "l2": 2e6})
    assert told.bandwidth == pytest.approx(LEVELS[-1][1] / 300.0, rel=0.05) and told.launch == pytest.approx(300.0 * CALL, rel=0.05)
    note = next(note for note in found.notes if note.startswith("time was up before"))
    for words in ("launches of", "of 300 single operators", "another minute measures more"):
        assert words in note


def test_a_few_working_sets_span_the_whole_first():
    assert machine_sections.coarse_first([float(i) for i in range(20)])[:4] == [0.0, 3.0, 11.0, 19.0]
    assert sorted(machine_sections.coarse_first([float(i) for i in range(20)])) == [float(i) for i in range(20)]


def test_a_disturbance_that_passes_is_measured_again_and_forgotten():
    backend = FakeDevice()
    seen = []

    def progress(share, doing):
        seen.append(doing)

    backend.slower = lambda: 3.0 if seen and "matrix" in seen[-1] and not any("once more" in s for s in seen) else 1.0
    found = run(backend, progress=progress)
    assert found.repeated == ["products"]
    assert not found.noise.noisy
    told = figures(found.rows, {"backend": "cpu", "threads": 1}, {})
    assert told.peaks["fp32"][0] == pytest.approx(RATES["fp32"], rel=0.02)  # of the second time


def test_a_machine_that_throttles_is_noisy():
    backend = FakeDevice()
    backend.slower = lambda: 1.0 + backend.clock.time
    found = run(backend)
    assert found.noise.drift > 0.2
    assert found.noise.noisy


def test_a_clock_that_fell_while_it_waited_is_no_noise():
    """A GPU that waits clocks down to a third and takes 60 ms of work to come back; the reference waits for it."""
    backend, idle = FakeDevice(), [0.0]

    def progress(share, doing):  # nothing runs for a second, as while a compiler does
        backend.clock.time += 1.0
        idle[0] = backend.clock.time

    backend.slower = lambda: 3.0 if backend.clock.time - idle[0] < 0.06 else 1.0
    assert run(backend, progress=progress).noise.drift > 1.0
    backend.kind = KINDS["mps"]
    assert run(backend, progress=progress).noise.drift < 0.05


def test_a_device_that_stays_slow_is_seen_as_slow_and_one_as_fast_as_before_is_looked_at_once():
    backend, looks = FakeDevice(), []
    backend.kind, backend.slower = KINDS["mps"], lambda: 2.0
    assert steady(backend, backend.reference(), 3e-5, lambda: False) == pytest.approx(6e-5, rel=0.01)
    backend.reference_s = lambda call, seconds, stop: looks.append(1) or 1.0
    for fastest, looked in ((0.97, 1), (0.5, LOOKS)):
        looks.clear()
        assert steady(backend, backend.reference(), fastest, lambda: False) == 1.0 and len(looks) == looked


def test_rows_of_a_disturbed_part_are_marked():
    found = run(others=0.8)
    assert all(row.extra["noisy"] for row in found.rows)
    assert not any("noisy" in row.extra for row in run().rows)


def test_progress_goes_from_start_to_end():
    shares = []
    run(progress=lambda share, doing: shares.append(share))
    assert shares == sorted(shares)
    assert shares[0] == 0 and shares[-1] == 1


def test_it_can_be_stopped():
    backend = FakeDevice()
    with pytest.raises(Cancelled):
        run(backend, stop=lambda: backend.calls > 500)
    assert backend.calls < 5000


def test_further_rows_join_the_method():
    found = run()
    wide = with_rows(found, [Row(kind="op")], "A wide sweep.")
    assert wide.rows[-1] == Row(kind="op") and wide.method.endswith("A wide sweep.")


def test_the_worst_of_all_parts_counts():
    assert worst([Noise(0.1, None, 0.0), Noise(0.3, 0.01, 0.2)]) == Noise(0.3, 0.01, 0.2)
    assert worst([Noise(None, None, 0.1)]) == Noise(None, None, 0.1)


def test_long_calls_are_timed_three_times():
    backend = FakeDevice()
    assert machine_sections.brief(backend.takes(1.0), backend, 0.1).count == 3
    assert machine_sections.brief(backend.takes(1e-4), backend, 0.1).count > 100


def test_an_op_that_fails_is_noted_and_the_rest_goes_on():
    class Broken(FakeDevice):
        def launches(self):
            def fail():
                raise RuntimeError("not on this device\nmore")

            return {"conv2d": fail, **super().launches()}

    part = machine_sections.launches(Broken(), SMALL, quiet, lambda: False)
    assert part.notes == ["conv2d can't be run here (not on this device)"]
    assert len(part.rows) == 4


def test_a_device_is_waited_for_and_graphs_are_replayed():
    class Queued(FakeDevice):
        """Calls are queued; a graph costs a tenth."""

        def __init__(self):
            super().__init__()
            self.kind, self.queue = KINDS["cuda"], 0.0
            self.clock.sync = self.wait

        def wait(self):
            self.clock.time, self.queue = self.clock.time + self.queue + 1e-5, 0.0

        def takes(self, seconds):
            def call():
                self.clock.time += 1e-6
                self.queue += seconds

            return call

        def record(self, call, times=1):
            return self.takes(times * CALL / 10)

    part = machine_sections.launches(Queued(), SMALL, quiet, lambda: False)
    rows = {row["op"]: row for row in part.rows}
    assert rows["add"]["sync_s"] > 4 * rows["add"]["wall_s"]
    assert rows["add"]["graph_s"] < rows["add"]["wall_s"]
    assert {"sync_roundtrip", "sync_idle", "graph_replay"} <= rows.keys()


def test_kernel_times_are_put_into_the_rows_some_at_a_time():
    sizes = []

    class Profiled(FakeDevice):
        def busy(self, calls):
            sizes.append(len(calls))
            return [{"busy_s": 1e-6, "kernels": 1} if i else {"error": "lost"} for i in range(len(calls))]

    backend = Profiled()

    def too_large():
        raise RuntimeError("out of memory")

    rows = [{"op": str(i)} for i in range(40)]
    work = [(row, lambda: backend.takes(1)) for row in rows[:-1]] + [(rows[-1], too_large)]
    notes = machine_sections.kernels(work, backend, quiet, lambda: False)
    assert sizes == [machine_sections.AT_ONCE, 40 - machine_sections.AT_ONCE - 1]
    assert rows[1]["busy_s"] == 1e-6 and "busy_s" not in rows[0] and "busy_s" not in rows[-1]
    assert notes == ["the profiler gave no device time for 3 of 40 rows"]


def test_a_timing_is_rounded_in_its_row():
    assert isinstance(Timing.of([1.0, 2.0, 3.0]).row()["samples"], int)
