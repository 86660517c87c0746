"""What the machine is, told without naming it."""

import json
import os
import platform
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from ironlaw.measure import software_host as describe


def test_no_host_user_or_path_is_told():
    told = json.dumps([describe.machine(), describe.software(), describe.clock_notes()])
    for private in (socket.gethostname(), str(Path.home())):
        assert len(private) < 3 or private not in told


def test_the_machine():
    told = describe.machine()
    assert told["hardware"] == "this_machine"
    assert 1 <= told["cores"] <= os.cpu_count()
    assert told["architecture"] == platform.machine()
    assert told["memory_bytes"] > 2**28
    assert None not in told.values()


def test_software():
    assert describe.software()["python"] == platform.python_version()


def test_neither_torch_nor_numpy_nor_rich_is_imported():
    code = (
        "import sys; import ironlaw.measure, ironlaw.measure.clock, ironlaw.measure.noise, ironlaw.measure.evidence_file;"
        "from ironlaw.measure.software_host import machine, software; machine(), software();"
        "print([m for m in ('torch', 'numpy', 'rich') if m in sys.modules])"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip() == "[]"


def cpu(root, number, caches):
    for i, (kind, level, size, shared) in enumerate(caches):
        folder = root / f"cpu{number}" / "cache" / f"index{i}"
        folder.mkdir(parents=True)
        for name, text in (("type", kind), ("level", level), ("size", size), ("shared_cpu_list", shared)):
            (folder / name).write_text(text + "\n")


def test_caches_from_sysfs(tmp_path, monkeypatch):
    for n in (0, 1):
        cpu(
            tmp_path, n, [("Data", "1", "48K", str(n)), ("Instruction", "1", "32K", str(n)), ("Unified", "2", "2M", str(n)),
                          ("Unified", "3", "36864K", "0-1")],
        )  # fmt: skip
    monkeypatch.setattr(describe, "CPU", tmp_path)
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 1}, raising=False)
    assert describe.caches.__wrapped__() == {"l1": (49152, 2), "l2": (2 * 2**20, 2), "l3": (36 * 2**20, 1)}


def test_no_caches_are_told(tmp_path, monkeypatch):
    monkeypatch.setattr(describe, "CPU", tmp_path)
    monkeypatch.setattr(sys, "platform", "linux")
    assert describe.caches.__wrapped__() == {}


def test_the_processors_clock(tmp_path, monkeypatch):
    monkeypatch.setattr(describe, "CPU", tmp_path)
    assert describe.clock_notes() == ["the system does not report the processor's clock"]
    folder = tmp_path / "cpu0/cpufreq"
    folder.mkdir(parents=True)
    for name, text in (("scaling_cur_freq", "2400000"), ("cpuinfo_max_freq", "3500000"), ("scaling_governor", "powersave")):
        (folder / name).write_text(text)
    assert describe.clock_notes() == ["clock 2.40 GHz of at most 3.50, governor powersave"]


def test_another_device_s_caches_are_not_the_processor_s(monkeypatch):
    monkeypatch.setattr(describe, "caches", lambda: {"l1": (65536, 2), "l3": (2**25, 1)})
    assert {"l1_bytes", "l3_bytes"} <= describe.machine().keys() and "host_caches" not in describe.machine()
    beside = describe.machine(on_host=False)
    assert beside["host_caches"] == {"l1": 65536, "l3": 2**25} and not {"l1_bytes", "l3_bytes"} & beside.keys()


def test_free_memory_is_some_of_it():
    assert 0 < describe.free_memory() <= describe.memory()


def test_a_program_that_is_missing_or_fails_tells_nothing():
    assert describe.output_of("no-such-program-here") == ""
    assert describe.output_of(sys.executable, "-c", "raise SystemExit(3)") == ""
    assert describe.output_of(sys.executable, "-c", "print(' 7 ')") == "7"


@pytest.mark.parametrize(
    ("lines", "printed", "name"),
    [
        (["processor : 0", "model name : ", "Model : Pi 5"], {}, "Pi 5"),
        ([], {("lscpu",): "Architecture: aarch64\nModel name: -\nModel name: Neoverse-N1"}, "Neoverse-N1"),
        ([], {}, "an architecture"),
    ],
)
def test_the_processors_name_wherever_the_system_says_it(lines, printed, name, monkeypatch):
    monkeypatch.setattr(describe.sys, "platform", "linux")
    monkeypatch.setattr(describe, "_lines", lambda path: lines)
    monkeypatch.setattr(describe, "output_of", lambda *command: printed.get(command, ""))
    monkeypatch.setattr(describe.platform, "processor", lambda: "")
    monkeypatch.setattr(describe.platform, "machine", lambda: "an architecture")
    assert describe.cpu_name.__wrapped__() == name


def test_a_mac(monkeypatch):
    said = {"machdep.cpu.brand_string": "Apple M3 Max", "hw.l1dcachesize": "65536", "hw.l2cachesize": "unknown"}
    monkeypatch.setattr(describe.sys, "platform", "darwin")
    monkeypatch.setattr(describe, "output_of", lambda *command: said.get(command[-1], ""))
    monkeypatch.setattr(describe.os, "sched_getaffinity", lambda _: set(), raising=False)
    assert describe.cpu_name.__wrapped__() == "Apple M3 Max" and describe.caches.__wrapped__() == {"l1": (65536, 1)}


@pytest.mark.parametrize(
    ("printed", "lines", "virtual"),
    [("kvm", [], True), ("none", [], False), ("", ["flags : fpu hypervisor sse"], True), ("", ["flags : fpu sse"], False), ("", [], None)],
)
def test_whether_a_hypervisor_is_beneath(printed, lines, virtual, monkeypatch):
    monkeypatch.setattr(describe, "output_of", lambda *command: printed)
    monkeypatch.setattr(describe, "_lines", lambda path: lines)
    assert describe.virtual() is virtual


def test_memory_where_the_system_does_not_say(monkeypatch):
    def unknown(*asked, **more):
        raise OSError

    monkeypatch.setattr(describe, "open", unknown, raising=False)
    assert describe.free_memory() == describe.memory()
    monkeypatch.setattr(describe.os, "sysconf", unknown)
    assert describe.memory() is None and describe.free_memory() == 2.0**62


def test_processors_where_none_are_set_apart(monkeypatch):
    monkeypatch.delattr(describe.os, "sched_getaffinity", raising=False)
    monkeypatch.setattr(describe.os, "cpu_count", lambda: 12)
    assert describe.cores() == 12
