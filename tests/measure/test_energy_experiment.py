"""The processor's energy counters, on a powercap folder made up for the test: wrap-around, rights, absence; and the rows of a run."""

import pytest

from ironlaw.errors import BadValue
from ironlaw.measure import rapl
from ironlaw.measure.clock import Clock
from ironlaw.measure.devices import choice
from ironlaw.measure.experiments import energy_trial
from ironlaw.measure.experiments.bench import Bench
from ironlaw.measure.experiments.run_experiment import run
from ironlaw.measure.progress_lines import Cancelled

RANGE = 1_000_000_000
WATTS = {0: 10, 1: 50, 64: 80}  # at rest, and with batches of so many rows


def zone(place, folder, name, counter=0, range=RANGE):
    (place / folder).mkdir()
    for file, value in (("name", name), ("energy_uj", counter), ("max_energy_range_uj", range)):
        (place / folder / file).write_text(f"{value}\n", encoding="ascii")
    return place / folder / "energy_uj"


@pytest.fixture
def place(tmp_path):
    """Two packages, one with its memory beside it; and zones that count some of the same joules again."""
    for folder, name, counter in (
        ("intel-rapl:0", "package-0", 999_000_000), ("intel-rapl:0:0", "core", 5), ("intel-rapl:0:1", "dram", 100),
        ("intel-rapl:1", "package-1", 7), ("intel-rapl:2", "psys", 9), ("intel-rapl-mmio:0", "package-0", 999_000_000),
    ):  # fmt: skip
        zone(tmp_path, folder, name, counter)
    return tmp_path


def test_zones_that_are_counted_once(place):
    counters = rapl.counters(place)
    assert [each.name for each in counters.zones] == ["package-0", "dram", "package-1"] and not counters.why
    before = counters.read()
    assert before == (999_000_000, 100, 7)
    (place / "intel-rapl:0" / "energy_uj").write_text("499999\n")  # 1 J to its range, one count to 0, and then on
    (place / "intel-rapl:0:1" / "energy_uj").write_text("2000100\n")
    assert counters.joules(before, counters.read()) == pytest.approx(1.0 + 0.5 + 2.0)


def test_a_counter_that_starts_again():
    assert rapl.spent(100, 40, 90) == 50 and rapl.spent(100, 90, 40) == 51 and rapl.spent(100, 5, 5) == 0
    for ends in ((-1, 5), (5, 101)):
        with pytest.raises(BadValue, match="range"):
            rapl.spent(100, *ends)


def test_no_counters_say_why(tmp_path, place, monkeypatch):
    empty = tmp_path / "empty"
    assert str(empty) in rapl.counters(empty).why and not rapl.counters(empty).zones
    (place / "intel-rapl:1" / "max_energy_range_uj").unlink()
    assert "intel-rapl:1" in rapl.counters(place).why and not rapl.counters(place).zones
    (place / "intel-rapl:1" / "max_energy_range_uj").write_text("many")
    assert "many" in rapl.counters(place).why


def test_a_refused_reading_is_told_from_an_absent_one(place, monkeypatch):
    def refuse(self):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(rapl.Zone, "read", refuse)
    counters = rapl.counters(place)
    assert not counters.zones and "administrators" in counters.why and str(place / "intel-rapl:0" / "energy_uj") in counters.why


class Meter(Clock):
    """A clock and a counter that go on together: a call takes its time and its watts."""

    def __init__(self, counter, broken=False):
        self.time, self.counter, self.broken = 0.0, counter, broken

    def now(self):
        return self.time

    def spend(self, seconds, watts):
        self.time += seconds
        if not self.broken:
            joules = int(self.counter.read_text()) + round(1e6 * watts * seconds)
            self.counter.write_text(str(joules % (RANGE + 1)))


def rows_of(tmp_path, broken=False):
    """A row takes 1 ms alone, 64 together 2 ms."""
    meter = Meter(zone(tmp_path, "intel-rapl:0", "package-0", RANGE - 3_000_000), broken)
    seconds = {1: 1e-3, 64: 2e-3}
    bench = Bench(choice.choose(library="numpy"), seconds=0.1, clock=meter)
    bench.visit = lambda: None
    return list(
        energy_trial.rows(
            bench, tmp_path, lambda: lambda batch: meter.spend(seconds[batch], WATTS[batch]), lambda rest: meter.spend(rest, WATTS[0])
        )
    )


def test_joules_of_a_row_by_hand(tmp_path):
    rows = {(row["name"], row["params"]["batch"]): row for row in rows_of(tmp_path)}
    assert rows["idle", 0]["value"] == pytest.approx(10) and rows["power", 1]["value"] == pytest.approx(50)
    assert rows["joules", 1]["value"] == pytest.approx(50e-3, rel=1e-3)
    assert rows["joules", 64]["value"] == pytest.approx(80 * 2e-3 / 64, rel=1e-3)  # the counter starts again on the way
    assert rows["time", 64]["wall_s"] == pytest.approx(2e-3, rel=1e-3) and rows["time", 64]["params"]["zones"] == ["package-0"]
    assert all(row["low"] <= row["value"] <= row["high"] for row in rows.values() if row["kind"] == "figure")


def test_counters_that_stand_still_count_for_nothing(tmp_path):
    rows = rows_of(tmp_path, broken=True)
    assert [row["name"] for row in rows] == ["time", "time"] and all("stand still" in row["params"]["why"] for row in rows)


def test_a_run_without_counters_has_times_and_the_reason(tmp_path, monkeypatch):
    monkeypatch.setattr(energy_trial, "WIDTH", 64)
    monkeypatch.setattr(energy_trial.rows, "__defaults__", (tmp_path, *energy_trial.rows.__defaults__[1:]))
    rows = run("energy", seconds=0.01)["rows"]
    assert [(row["name"], row["params"]["batch"]) for row in rows] == [("time", 1), ("time", 64)]
    assert all(str(tmp_path) in row["params"]["why"] and not row["params"]["zones"] for row in rows)
    with pytest.raises(Cancelled):
        run("energy", stop=lambda: True)
