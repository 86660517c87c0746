"""What is left of the minute, spent on those cases of the wide sweep that tell most about models (`suites.chosen_cases`)."""

from __future__ import annotations

import time
from collections.abc import Iterator
from functools import partial

from ironlaw.calibration.local_fit import fitting
from ironlaw.measure.clock import halt
from ironlaw.measure.devices.device import Case, Device
from ironlaw.measure.devices.torch_device import TorchDevice
from ironlaw.measure.machine.machine_sections import Minute, Section, SectionResult, per_call
from ironlaw.measure.machine.machine_sizes import Sizes
from ironlaw.measure.progress_lines import Progress, Stop
from ironlaw.measure.rows import Draft, op_row
from ironlaw.measure.suites.chosen_cases import ChosenCases, chosen_cases

MINUTE = 60.0  # seconds
AT_ONCE = 32  # cases in one session of the profiler


def until(moment: float) -> Section:
    """The part of a characterisation that lasts until the device's clock says `moment`."""
    return partial(minute, until=moment)


def minute(device: Device, sizes: Sizes, progress: Progress, stop: Stop, until: float) -> SectionResult:
    """Rows of chosen cases; with curves fitted to them, all is over when the device's clock says `until`."""
    chosen, result = chosen_cases(device.chosen), SectionResult()
    fitted = fitting()
    began, whole = device.clock.now(), until
    until -= fitted(0)
    rows = _profiled(device, chosen, until, progress, stop) if device.times_kernels else _called(device, chosen, sizes, until, stop)
    try:
        for row in rows:
            result.rows.append(row)
            if device.clock.now() > whole - fitted(len(result.rows)):
                break
            progress((device.clock.now() - began) / max(until - began, 1e-9), f"{row['op']}, {len(result.rows)} of {len(chosen.specs)}")
    except KeyboardInterrupt:
        result.stopped = True
    result.until = whole - fitted(len(result.rows))
    result.minute = judged(device, len(result.rows), device.clock.now() - began)
    return result


def judged(device: Device, timed: int, seconds: float) -> Minute | None:
    """What the cases are worth, of which `timed` took so many seconds; None where the device has no list."""
    chosen = chosen_cases(device.chosen)
    if not chosen.specs:
        return None
    more = timed + round(timed * MINUTE / max(seconds, 1e-9))
    return Minute(timed, len(chosen.specs), chosen.left(timed), chosen.left(more))


def _profiled(device: Device, chosen: ChosenCases, until: float, progress: Progress, stop: Stop) -> Iterator[Draft]:
    """On a device whose kernels the profiler times."""
    from ironlaw.measure.suites.cuda import cuda_sweep  # PyTorch's part
    from ironlaw.measure.suites.cuda.inputs import SweepInputs, elements_of
    from ironlaw.measure.suites.cuda.parts import SweepPart

    if not isinstance(device, TorchDevice):
        return
    seconds = until - device.clock.now()
    part, inputs = SweepPart((lambda: iter(chosen.specs),), seconds, AT_ONCE), SweepInputs(device.NAME, elements_of(device))
    with cuda_sweep.settings():
        for rows in cuda_sweep.run(device, part, inputs, lambda *_: None, stop, time.monotonic() + seconds):
            yield from rows
    device.release_memory()


def _called(device: Device, chosen: ChosenCases, sizes: Sizes, until: float, stop: Stop) -> Iterator[Draft]:
    """One call after the other, from outside."""
    from ironlaw.measure.suites.cpu import cases

    made: dict[str, Case] = {key(case.op, case.params): case for case in cases.cases()} if chosen.specs else {}
    for op, params in chosen.specs:
        if device.clock.now() > until:
            return
        halt(stop)
        case = made.get(key(op, params))
        if case is not None:
            yield op_row(op, params, per_call(case.prepare(), device, sizes.each, stop))


def key(op: str, params: object) -> str:
    return f"{op} {params}"
