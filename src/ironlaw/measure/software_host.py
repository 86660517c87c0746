"""What this machine is, without naming it: processors, caches, memory, and the versions of what runs here.

Only the standard library, and PyTorch or NumPy where they were imported already. No host name, no user, no path.
"""

from __future__ import annotations

import os
import platform
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Any

SLUG = "this_machine"
PACKAGES = ("torch", "numpy", "triton", "transformers", "torchvision", "timm", "diffusers")
CPU = Path("/sys/devices/system/cpu")


def in_browser() -> bool:
    """Whether this Python runs in a browser, where nothing can be measured and no process started."""
    return sys.platform == "emscripten"


def machine(on_host: bool = True) -> dict[str, Any]:
    """The machine as evidence files describe it. `on_host`: its processor is the device that was measured; else the processor's caches
    are `host_caches`, for they are not that device's."""
    sizes = {level: size for level, (size, _) in caches().items()}
    described: dict[str, Any] = {
        "hardware": SLUG, "backend": "cpu", "cpu": cpu_name(), "cores": cores(), "architecture": platform.machine(),
        "memory_bytes": memory(), "system": platform.system(), "virtual": virtual(),
    }  # fmt: skip
    described |= {f"{level}_bytes": size for level, size in sizes.items()} if on_host else {"host_caches": sizes or None}
    return {key: value for key, value in described.items() if value is not None}


def software() -> dict[str, Any]:
    """Versions: Python, and of the libraries that models come from and of a C++ compiler those that are there."""
    from importlib.metadata import PackageNotFoundError, version  # slow to import, and needed once something was measured

    versions: dict[str, Any] = {"python": platform.python_version()}
    for package in PACKAGES:
        try:
            versions[package] = version(package)
        except PackageNotFoundError:
            continue
    torch = sys.modules.get("torch")
    if torch is not None:
        versions["torch"] = str(torch.__version__)
        if torch.version.cuda:
            versions |= {"cuda": torch.version.cuda, "cudnn": torch.backends.cudnn.version()}
    cxx = compiler()
    return versions | ({"compiler": cxx} if cxx else {})


def cores() -> int:
    """Processors this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


@cache
def cpu_name() -> str:
    """`Intel(R) Xeon(R) …`, `Neoverse-N1`, `Apple M3 Max`; the architecture where nothing better is reported."""
    if sys.platform == "darwin":
        return output_of("sysctl", "-n", "machdep.cpu.brand_string") or platform.machine()
    for line in _lines(Path("/proc/cpuinfo")):
        key, _, value = line.partition(":")
        if key.strip() in ("model name", "Model") and value.strip():
            return value.strip()
    for line in output_of("lscpu").splitlines():
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
    shared_by: dict[str, tuple[int, set[str]]] = {}
    allowed = os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else set()
    for number in sorted(allowed):
        for index in sorted((CPU / f"cpu{number}" / "cache").glob("index*")):
            kind, level, size, shared = (_text(index / name) for name in ("type", "level", "size", "shared_cpu_list"))
            if kind in ("Data", "Unified") and level and size:
                _, users = shared_by.setdefault(f"l{level}", (_bytes(size), set()))
                users.add(shared)
    if shared_by:
        return {level: (size, len(users)) for level, (size, users) in sorted(shared_by.items())}
    if sys.platform == "darwin":
        sizes = {"l1": output_of("sysctl", "-n", "hw.l1dcachesize"), "l2": output_of("sysctl", "-n", "hw.l2cachesize")}
        return {level: (int(size), 1) for level, size in sizes.items() if size.isdigit() and int(size)}
    return {}


def virtual() -> bool | None:
    """Whether a hypervisor is beneath; None where nothing says so."""
    kind = output_of("systemd-detect-virt", "--vm")
    if kind:
        return kind != "none"
    flags = [line for line in _lines(Path("/proc/cpuinfo")) if line.startswith("flags")]
    return " hypervisor" in flags[0] if flags else None


@cache
def compiler() -> str:
    """The C++ compiler that torch.compile would use on a CPU; empty where there is none."""
    name = os.environ.get("CXX") or ("clang++" if sys.platform == "darwin" else "g++")
    lines = output_of(name, "--version").splitlines()
    return lines[0].strip() if lines else ""


def free_memory() -> float:
    """Bytes of main memory that are free; all of it where the system does not say."""
    try:
        with open("/proc/meminfo", encoding="ascii") as file:
            fields = dict(line.split(":", 1) for line in file)
        return 1024.0 * int(fields["MemAvailable"].split()[0])
    except (OSError, KeyError, ValueError):
        return float(memory() or 1 << 62)


def clock_notes() -> list[str]:
    """The processor's clock, as far as the system reports it."""
    now, most = (_text(CPU / "cpu0/cpufreq" / name) for name in ("scaling_cur_freq", "cpuinfo_max_freq"))
    governor = _text(CPU / "cpu0/cpufreq/scaling_governor")
    if now.isdigit() and most.isdigit():
        return [f"clock {int(now) / 1e6:.2f} GHz of at most {int(most) / 1e6:.2f}, governor {governor or 'unknown'}"]
    return ["the system does not report the processor's clock"]


def output_of(*command: str) -> str:
    """What a small program of the system prints; empty where it is missing or fails."""
    try:
        return subprocess.run(command, capture_output=True, text=True, timeout=10, check=True).stdout.strip()
    except (OSError, subprocess.SubprocessError):
        return ""


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
