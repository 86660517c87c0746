"""`ironlaw measure --full`: the wide sweep of whichever device there is, so that each kind of kernel gets a curve of its own."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from ironlaw.backends.rows import Row
from ironlaw.errors import BadValue
from ironlaw.measure.devices.device import Device
from ironlaw.measure.progress_lines import Progress, Stop, quiet
from ironlaw.measure.rows import Draft, typed
from ironlaw.measure.suites.cpu import cpu_sweep as cpu
from ironlaw.measure.suites.cuda import cuda_sweep as cuda
from ironlaw.measure.suites.cuda.parts import PARTS, named


@dataclass(frozen=True)
class Suite:
    """The sweep of one kind of device; `parts`: those it comes in, where there are any."""

    sweep: Callable[[Any, Progress, Stop | None, float | None, Sequence[str]], list[Draft]]
    method: Callable[[Any], str]
    parts: tuple[str, ...] = ()


SUITES = {"cpu": Suite(cpu.sweep, cpu.method), "cuda": Suite(cuda.sweep, cuda.method, tuple(PARTS))}


def suite(device: Device) -> Suite:
    if device.kind.name not in SUITES:
        raise BadValue(f"there is no wide sweep for {device.kind.name} yet; leave --full out, or measure the processor with --device cpu")
    if device.library != "torch":
        raise BadValue("the wide sweep of --full needs PyTorch (pip install torch); leave --full out to measure with NumPy")
    return SUITES[device.kind.name]


def sweep(
    device: Device, progress: Progress = quiet, stop: Stop | None = None, seconds: float | None = None, parts: Sequence[str] = ()
) -> list[Row]:
    """Rows of evidence for the wide sweep, op and launch rows alike; stops after `seconds` if given. `parts`: which, all by default."""
    chosen = suite(device)
    return typed(chosen.sweep(device, progress, stop, seconds, parts or chosen.parts))


def chosen_parts(device: Device, text: str | None = None) -> tuple[str, ...]:
    """The parts of the sweep that `--part a,b` names; all without it. Only a GPU's sweep has parts."""
    parts = suite(device).parts
    if text and not parts:
        raise BadValue(f"only the sweep of a GPU comes in parts, and this one is for {device.kind.name}; leave --part out")
    return named(text) if text else parts


def method(device: Device) -> str:
    """How the sweep was timed."""
    return suite(device).method(device)
