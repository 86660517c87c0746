"""What is stored is valid, and nothing is stored of a noisy machine unless it is asked for."""

import json
import math
import os
import signal
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest
from fake import FakeDevice, Quiet

from ironlaw import Plan, hardware, predict, workload
from ironlaw.calibration import local_machine
from ironlaw.engine.device.uncertainty import FOUR_IN_FIVE
from ironlaw.errors import BadValue, UnknownName
from ironlaw.measure.evidence_file import today
from ironlaw.measure.machine import keep as keeping
from ironlaw.measure.machine.characterise import characterise
from ironlaw.measure.machine.datasheet import figures, toml
from ironlaw.measure.machine.keep import as_evidence, as_toml, checked, keep, read_figures, set_aside, source
from ironlaw.measure.machine.machine_sizes import Sizes
from ironlaw.measure.noise import Noise, Noisy
from ironlaw.registry.evidence import evidence, read
from ironlaw.registry.hosts import host

SMALL = Sizes("small", each=0.002, longest=0.05, streams=2)


DEVICE = FakeDevice()


@pytest.fixture(scope="module")
def found():
    return characterise(DEVICE, SMALL, watch=lambda: Quiet(DEVICE.clock))


@pytest.fixture
def noisy(found):
    return replace(found, noise=Noise(0.5, 0.0, 0.0))


def test_the_machine_appears(found, ironlaw_home):
    with pytest.raises(UnknownName, match="ironlaw measure"):
        hardware("this")
    told = read_figures(found, DEVICE)
    kept = keep(found, told, DEVICE)
    machine = hardware("this")
    assert machine.slug == "this_machine"
    assert machine.peak("fp32") == pytest.approx(told.peaks["fp32"][0], rel=1e-3)
    assert machine.bandwidth == pytest.approx(told.bandwidth, rel=1e-3)
    assert machine.launch == pytest.approx(told.launch, rel=1e-3)
    assert {f.source for f in machine.figures.values()} == {source(found)}
    assert all(f.estimate and f.why for f in machine.figures.values())  # none of them is a maker's
    assert machine.level("main").bandwidth == machine.bandwidth
    assert kept.evidence.is_relative_to(ironlaw_home) and kept.figures.is_relative_to(ironlaw_home)
    assert list(read(kept.evidence).rows) == found.rows
    assert [file.name for file in evidence("this_machine")] == ["this_machine/machine"]


def test_levels_are_ordered_and_end_in_main_memory(found):
    machine = checked(as_toml(found, read_figures(found, DEVICE), None))
    speeds = [level.bandwidth for level in machine.levels]
    assert speeds == sorted(speeds, reverse=True)
    assert machine.levels[-1].name == "main"


def test_a_noisy_machine_is_set_aside_and_can_be_taken_as_it_is(noisy, ironlaw_home):
    twice = replace(noisy, repeated=["products", "ops"])
    with pytest.raises(Noisy, match=r"other processes took 50%.*products and ops twice did not help.*--keep") as refused:
        keep(twice, read_figures(noisy, DEVICE), DEVICE)
    aside = ironlaw_home / keeping.ASIDE
    assert list(ironlaw_home.rglob("*.*")) == [aside] and str(refused.value).endswith(f"ironlaw measure --keep {aside}")
    found, date = set_aside(aside, DEVICE)
    assert found == replace(twice, software=found.software) and date == today()
    keep(found, read_figures(found, DEVICE), DEVICE, force=True, date="2026-01-02")
    machine = hardware("this")
    assert "noisy" in machine.figures["bandwidth"].source and machine.figures["bandwidth"].date == "2026-01-02"


def test_another_machines_measurement_is_not_kept_as_this(noisy, tmp_path):
    place = tmp_path / "aside.json"
    place.write_text(as_evidence(replace(noisy, machine=noisy.machine | {"cpu": "a Z80"})))
    with pytest.raises(BadValue, match="was measured on a Z80"):
        set_aside(place, DEVICE)


def test_unless_it_is_asked_for_and_then_it_says_so(noisy):
    kept = keep(noisy, read_figures(noisy, DEVICE), DEVICE, force=True)
    data = json.loads(kept.evidence.read_text())
    assert data["noise"]["noisy"] and "other processes" in data["noise"]["reasons"][0]
    machine = hardware("this")
    assert "noisy" in machine.figures["bandwidth"].source
    for plan in (Plan(), Plan(launch=1e-6), Plan(host=host("bare"))):  # whoever launches: the curves are noisy, too
        sources = predict(workload("mlp8_1024", dtype="fp32"), machine, plan).sources
        assert any(words.startswith("noisy: measured while the machine was busy") and "ironlaw measure" in words for words in sources)


def test_noise_widens_every_interval(found, noisy, monkeypatch):
    """Half of the processors gone is a factor of two: an sd of ln 2 beside whatever the sd was, of the device and of the host."""
    curves = hardware("neoverse_n1_2core").calibration
    monkeypatch.setattr(local_machine, "calibration", lambda *_: curves)
    graph = workload("mlp8_1024", dtype="fp32")
    sds = {}
    for name, result in (("quiet", found), ("noisy", noisy)):
        keep(result, read_figures(result, DEVICE), DEVICE, force=True)
        p = predict(graph, hardware("this"))
        sds[name] = [math.log(high / low) / (2 * FOUR_IN_FIVE) for low, high in (p.device_interval, p.host_interval)]
    for quiet, busy in zip(sds["quiet"], sds["noisy"], strict=True):
        assert busy == pytest.approx(math.hypot(quiet, math.log(2)), rel=0.02)


def test_without_a_figure_of_the_noise_it_counts_as_half():
    assert local_machine.noise_sd() == pytest.approx(math.log(2))


def test_a_quiet_machine_says_nothing_of_noise(found):
    keep(found, read_figures(found, DEVICE), DEVICE)
    assert not any("noisy" in words for words in predict(workload("mlp8_1024", dtype="fp32"), hardware("this")).sources)


def test_an_interrupt_leaves_the_old_machine(found, monkeypatch, ironlaw_home):
    keep(found, read_figures(found, DEVICE), DEVICE)
    before = {path: path.read_bytes() for path in ironlaw_home.rglob("*.*")}

    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr("ironlaw.home.os.fsync", interrupted)
    with pytest.raises(KeyboardInterrupt):
        keep(replace(found, rows=found.rows[::-1]), read_figures(found, DEVICE), DEVICE)
    assert {path: path.read_bytes() for path in ironlaw_home.rglob("*.*")} == before


@pytest.mark.usefixtures("ctrl_c")
def test_ctrl_c_between_the_files_is_heard_after_the_last(found, monkeypatch, ironlaw_home):
    write = keeping.home.replace_text

    def interrupted(path, text):
        if path.name == "machine.json":
            os.kill(os.getpid(), signal.SIGINT)
        return write(path, text)

    monkeypatch.setattr(keeping.home, "replace_text", interrupted)
    with pytest.raises(KeyboardInterrupt):
        keep(found, read_figures(found, DEVICE), DEVICE)
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    assert {"machine.json", "this_machine.toml"} <= {path.name for path in ironlaw_home.rglob("*.*")}
    assert hardware("this").slug == "this_machine"


def test_it_can_be_kept_from_a_thread(found):
    with ThreadPoolExecutor(1) as pool:
        assert pool.submit(keep, found, read_figures(found, DEVICE), DEVICE).result().figures.exists()


def test_a_machine_that_would_not_load_is_never_stored(found, monkeypatch, ironlaw_home):
    monkeypatch.setattr(keeping.datasheet, "toml", lambda *_: 'name = "half"')
    with pytest.raises(ValueError, match="memory"):
        keep(found, read_figures(found, DEVICE), DEVICE)
    assert list(ironlaw_home.rglob("*.*")) == []


@pytest.mark.parametrize(
    ("machine", "kind", "backend", "context"),
    [
        ({"backend": "cuda", "gpu": "NVIDIA H200", "sms": 132, "virtual": True}, "gpu", "cuda", "cloud"),
        ({"backend": "mps", "gpu": "Apple M3 Max, integrated GPU"}, "gpu", "mps", "desktop"),
        ({"backend": "cpu", "reserved_bytes": 3_000_000_000}, "cpu", "cpu", "desktop"),
    ],
)
def test_every_kind_of_device_is_a_valid_machine(found, machine, kind, backend, context):
    told = {"cpu": 'A "quoted" \\ name', "cores": 8, "threads": 8, "memory_bytes": 2**34} | machine
    made = checked(toml(figures(found.rows, told, {"l2": 2e6}), told, "a test", "2026-11-15", 350.0 if kind == "gpu" else None))
    assert (made.kind, made.backend, made.context) == (kind, backend, context)
    assert made.power == (350 if kind == "gpu" else 40)
    assert made.capacity == pytest.approx(2**34, rel=1e-5)
    assert made.reserved == (0 if kind == "gpu" else pytest.approx(3e9, rel=1e-3))  # what was in use, where the device says
    assert ('A "quoted" \\ name' in made.name) == (kind == "cpu")


def test_a_gpu_of_the_registry_is_recognised_by_what_its_driver_reports(found):
    told = replace(found, machine={**found.machine, "backend": "cuda", "gpu": "NVIDIA A100-SXM4-80GB", "sms": 108})
    assert 'datasheet = "a100_80gb_sxm"' in as_toml(told, figures(found.rows, told.machine, {}), 400.0)
    unheard = replace(told, machine={**told.machine, "gpu": "NVIDIA Z1000"})
    assert "datasheet" not in as_toml(unheard, figures(found.rows, told.machine, {}), 400.0).partition("[memory]")[0]


def test_a_gpu_that_tells_no_power_limit(found):
    told = {"cpu": "x", "cores": 64, "backend": "cuda", "gpu": "AMD Instinct MI300X", "hip": "6.2"}
    made = checked(toml(figures(found.rows, told, {}), told, "a test", "2026-11-15"))
    assert (made.backend, made.power) == ("rocm", 300)
    assert "assumed" in made.figures["power"].why


def test_too_little_to_describe_a_machine(found):
    for kind in ("op", "launch"):
        with pytest.raises(BadValue, match="too little was measured"):
            figures([row for row in found.rows if row.kind != kind], found.machine, {})


def test_the_evidence_holds_notes_and_noise(found):
    data = json.loads(as_evidence(found, "2026-11-15"))
    assert data["machine"]["notes"] == found.notes
    assert data["noise"]["noisy"] is False and data["noise"]["repeated"] == []
