"""A machine of the registry as a trace shows it, stored as this machine: `ironlaw measure --trace trace.json`."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from ironlaw import home
from ironlaw.calibration import local_machine
from ironlaw.engine.device.machine import Hardware
from ironlaw.errors import BadValue
from ironlaw.formats import rate_unit
from ironlaw.measure.evidence_file import today
from ironlaw.measure.machine.keep import checked, uninterrupted
from ironlaw.registry.machines import registered, reported
from ironlaw.report.kineto import Trace, read
from ironlaw.report.trace_rates import TraceRates, read_rates
from ironlaw.units import show

# resnet50 and a step of GPT-2 on an H200, traced with shapes, beside `ironlaw measure --host` on the same machine
SLOWED = (
    "While a profiler records shapes, launches take three to seven times as long, so these are not stored; `ironlaw measure --host` takes"
    " seconds and is exact."
)


@dataclass(frozen=True)
class TracedMachine:
    trace: Trace
    machine: Hardware  # of the registry
    rates: TraceRates


def read_machine(place: str | Path) -> TracedMachine:
    trace = read(place)
    slug = reported().get(trace.device, "")
    if trace.kernels and not slug:
        raise BadValue(
            f"{trace.name} was recorded on {trace.device or 'a device that it does not name'}, which is not in the registry,"
            " so there is nothing to correct; run `ironlaw measure` there"
        )
    machine = registered(slug or "h200_sxm")  # a trace without kernels is refused there
    rates = read_rates(trace, machine)
    if not rates.bandwidth and not rates.rates:
        raise BadValue(
            f"{trace.name} has no operator larger than the caches and no large matrix product; trace a few whole steps of a model"
        )
    return TracedMachine(trace, machine, rates)


def store(traced: TracedMachine, force: bool) -> list[Path]:
    """Stores the machine's figures in place of the old ones."""
    if local_machine.curves().exists() and not force:
        raise BadValue(
            "this machine was measured operator by operator, which says more than a trace; to replace it anyway, add --force,"
            " or compare the two with `ironlaw analyze TARGET --on this --trace FILE`"
        )
    written = as_toml(traced)
    checked(written)
    with uninterrupted():
        local_machine.store_curves(None)
        return [home.replace_text(home.path("hardware", f"{local_machine.SLUG}.toml"), written)]


def as_toml(traced: TracedMachine) -> str:
    """What the trace shows, and for the rest the registry's figures with their sources."""
    machine, rates = traced.machine, traced.rates
    source, date = f"ironlaw measure --trace, {traced.trace.name}", today()
    lines = [
        f"name = {json.dumps(traced.trace.device)}", f'kind = "{machine.kind}"', f'backend = "{machine.backend}"',
        f'context = "{machine.context}"', f'datasheet = "{machine.slug}"',
        f'note = "{machine.name}, with what a trace shows of it."',
    ]  # fmt: skip
    seen = {f"peak.{fmt}": (one.value, "Read off products in a trace; not the maker's figure.") for fmt, one in rates.rates.items()}
    if rates.bandwidth:
        seen["bandwidth"] = rates.bandwidth.value, "The best of the long streams in a trace, read and written together."
    units = {"memory": "B", "bandwidth": "B/s", "power": "W", "launch": "s"}
    for name, figure in machine.figures.items():
        unit = units.get(name) or (rate_unit(figure.format) if name.startswith("peak.") else "")
        if not unit:
            continue
        value, why = seen.get(name, (figure.value, figure.why))
        told = (source, date) if name in seen else (figure.source, figure.date)
        lines += ["", f"[{name}]", f'value = "{show(value, unit, 6).replace(",", "")}"']
        lines += ["estimate = true", f"why = {json.dumps(why, ensure_ascii=False)}"] if name in seen or figure.estimate else []
        lines += [f"source = {json.dumps(told[0], ensure_ascii=False)}", f'date = "{told[1]}"']
    return "\n".join([*lines, ""])
