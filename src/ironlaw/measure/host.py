"""What this machine is, without naming it: processors, caches, memory, accelerator; and the versions of what runs here.

Only the standard library, and PyTorch or NumPy where they were imported already or are asked for. No host name, no user, no path.
"""

from __future__ import annotations

import os
import platform
import subprocess
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

SLUG = "this_machine"
PACKAGES = ("torch", "numpy", "triton", "transformers")
THROTTLED = {
    0x1: "idle", 0x2: "clocks set by an application", 0x4: "power cap", 0x8: "hardware slowdown", 0x10: "sync boost",
    0x20: "heat (software)", 0x40: "heat (hardware)", 0x80: "power brake", 0x100: "display clocks",
}  # fmt: skip
CPU = Path("/sys/devices/system/cpu")


def machine(backend: str = "cpu") -> dict[str, Any]:
    """The machine as evidence files describe it. `backend`: cpu, cuda or mps, the device that was measured."""
    told: dict[str, Any] = {
        "hardware": SLUG, "backend": backend, "cpu": cpu_name(), "cores": cores(), "architecture": platform.machine(),
        "memory_bytes": memory(), "system": platform.system(), "virtual": virtual(),
    }  # fmt: skip
    sizes = {level: size for level, (size, _) in caches().items()}
    if backend == "cuda":
        told |= _cuda()
        told["host_caches"] = sizes or None
    else:
        told |= {f"{level}_bytes": size for level, size in sizes.items()}
        told["gpu"] = _mps() if backend == "mps" else None
    return {key: value for key, value in told.items() if value is not None}


def software() -> dict[str, Any]:
    """Versions: Python, and of PyTorch, NumPy, Triton, transformers and a C++ compiler those that are there."""
    from importlib.metadata import PackageNotFoundError, version  # slow to import, and needed once something was measured

    told: dict[str, Any] = {"python": platform.python_version()}
    for package in PACKAGES:
        try:
            told[package] = version(package)
        except PackageNotFoundError:
            continue
    torch = sys.modules.get("torch")
    if torch is not None:
        told["torch"] = str(torch.__version__)
        if torch.version.cuda:
            told |= {"cuda": torch.version.cuda, "cudnn": torch.backends.cudnn.version()}
    found = compiler()
    return told | ({"compiler": found} if found else {})


def cores() -> int:
    """Processors this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


@cache
def cpu_name() -> str:
    """`Intel(R) Xeon(R) …`, `Neoverse-N1`, `Apple M3 Max`; the architecture where nothing better is told."""
    if sys.platform == "darwin":
        return asked("sysctl", "-n", "machdep.cpu.brand_string") or platform.machine()
    for line in _lines(Path("/proc/cpuinfo")):
        key, _, value = line.partition(":")
        if key.strip() in ("model name", "Model") and value.strip():
            return value.strip()
    for line in asked("lscpu").splitlines():
        key, _, value = line.partition(":")
        if key.strip() == "Model name" and value.strip() not in ("", "-"):
            return value.strip()
    return platform.processor() or platform.machine()


def memory() -> int | None:
    """Bytes of main memory."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):  # Windows has no sysconf
        return None


@cache
def caches() -> dict[str, tuple[int, int]]:
    """Data caches as the system reports them: level -> (bytes of one, how many the allowed processors have)."""
    found: dict[str, tuple[int, set[str]]] = {}
    allowed = os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else set()
    for number in sorted(allowed):
        for index in sorted((CPU / f"cpu{number}" / "cache").glob("index*")):
            kind, level, size, shared = (_text(index / name) for name in ("type", "level", "size", "shared_cpu_list"))
            if kind in ("Data", "Unified") and level and size:
                _, users = found.setdefault(f"l{level}", (_bytes(size), set()))
                users.add(shared)
    if found:
        return {level: (size, len(users)) for level, (size, users) in sorted(found.items())}
    if sys.platform == "darwin":
        told = {"l1": asked("sysctl", "-n", "hw.l1dcachesize"), "l2": asked("sysctl", "-n", "hw.l2cachesize")}
        return {level: (int(size), 1) for level, size in told.items() if size.isdigit() and int(size)}
    return {}


def virtual() -> bool | None:
    """Whether a hypervisor is beneath; None where that can't be told."""
    kind = asked("systemd-detect-virt", "--vm")
    if kind:
        return kind != "none"
    flags = [line for line in _lines(Path("/proc/cpuinfo")) if line.startswith("flags")]
    return " hypervisor" in flags[0] if flags else None


@cache
def compiler() -> str:
    """The C++ compiler that torch.compile would use on a CPU; empty where there is none."""
    name = os.environ.get("CXX") or ("clang++" if sys.platform == "darwin" else "g++")
    lines = asked(name, "--version").splitlines()
    return lines[0].strip() if lines else ""


def clock_notes(backend: str = "cpu", work: Callable[[], None] = lambda: None) -> list[str]:
    """Clocks and throttling, as far as the system tells; `work` keeps a GPU busy while it is asked, for an idle one clocks down."""
    notes = []
    now, most = (_text(CPU / "cpu0/cpufreq" / name) for name in ("scaling_cur_freq", "cpuinfo_max_freq"))
    governor = _text(CPU / "cpu0/cpufreq/scaling_governor")
    if now.isdigit() and most.isdigit():
        notes.append(f"clock {int(now) / 1e6:.2f} GHz of at most {int(most) / 1e6:.2f}, governor {governor or 'unknown'}")
    else:
        notes.append("the system does not tell the processor's clock")
    if backend == "cuda":
        work()
        wanted = "clocks.sm,clocks.max.sm,clocks.mem,temperature.gpu,power.draw,power.limit,clocks_throttle_reasons.active,utilization.gpu"
        row = [cell.strip() for cell in asked("nvidia-smi", f"--query-gpu={wanted}", "--format=csv,noheader").partition("\n")[0].split(",")]
        if len(row) == 8:
            notes.append(f"GPU clock {row[0]} of at most {row[1]}, memory {row[2]}, {row[3]} °C, {row[4]} of {row[5]}, in use {row[7]}")
            notes.append(f"GPU throttled: {throttled(row[6])}")
        else:
            notes.append("nvidia-smi tells no clocks here")
    return notes


def throttled(bits: str) -> str:
    """nvidia-smi's mask of reasons, in words."""
    try:
        mask = int(bits, 16)
    except ValueError:
        return "not told"
    return ", ".join(word for bit, word in THROTTLED.items() if mask & bit) or ("no" if not mask else f"for reasons {bits}")


def power_limit() -> float | None:
    """The first GPU's power limit in watts, from nvidia-smi."""
    text = asked("nvidia-smi", "--query-gpu=power.limit", "--format=csv,noheader,nounits").partition("\n")[0].strip()
    try:
        return float(text)
    except ValueError:
        return None


def asked(*command: str) -> str:
    """What a small program of the system prints; empty where it is missing or fails."""
    try:
        return subprocess.run(command, capture_output=True, text=True, timeout=10, check=True).stdout.strip()
    except (OSError, subprocess.SubprocessError):
        return ""


def _cuda() -> dict[str, Any]:
    import torch

    properties = torch.cuda.get_device_properties(0)
    driver = asked("nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader").partition("\n")[0]
    return {
        "gpu": properties.name, "sms": properties.multi_processor_count, "l2_bytes": getattr(properties, "L2_cache_size", None),
        "memory_bytes": properties.total_memory, "driver": driver or None, "hip": torch.version.hip,
    }  # fmt: skip


def _mps() -> str:
    return f"{cpu_name()}, integrated GPU"


def _bytes(text: str) -> int:
    """`"64K"` -> 65536."""
    factor = {"K": 2**10, "M": 2**20, "G": 2**30}.get(text[-1:], 1)
    return int(text.rstrip("KMG")) * factor


def _text(path: Path) -> str:
    try:
        return path.read_text().strip()
    except OSError:
        return ""


def _lines(path: Path) -> list[str]:
    return _text(path).splitlines()
