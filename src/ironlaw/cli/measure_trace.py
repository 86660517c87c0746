"""`ironlaw measure --trace FILE`: what a trace of one's own run says of its machine, stored as `this`."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from ironlaw.cli.show import draw
from ironlaw.errors import BadValue
from ironlaw.formats import rate_unit
from ironlaw.report.trace_machine import SLOWED, TracedMachine, read_machine, store
from ironlaw.units import show

if TYPE_CHECKING:
    from ironlaw.outputs.measurement_output import MeasureTraceJson

OTHERS = ("short", "full", "host", "seconds", "part", "out", "device", "target")


def run(args: argparse.Namespace) -> int:
    for name in OTHERS:
        if getattr(args, name):
            what = args.target if name == "target" else f"--{name}"
            raise BadValue(f"--trace reads an existing trace and measures nothing; leave out {what}, or --trace")
    traced = read_machine(args.trace)
    places = store(traced, args.noisy)
    draw.emit(as_json(traced, places), "ironlaw-measure-trace/1") if args.json else report(traced, places)
    return 0


def report(traced: TracedMachine, places: list[Path]) -> None:
    rates = traced.rates
    draw.heading(traced.trace.device, f"{traced.trace.name}, {len(traced.trace.kernels):,} kernels")
    rows = [("bandwidth", show(one.value, "B/s"), show(one.known, "B/s"), _count(one.kernels)) for one in [rates.bandwidth] if one]
    for fmt, one in rates.rates.items():
        rows.append((fmt, show(one.value, rate_unit(fmt)), show(one.known, rate_unit(fmt)), _count(one.kernels) or "as its like"))
    if rows:
        draw.table(["rate", "in the trace", "datasheet", "kernels"], rows, left=("rate",))
    launches = [(kind, show(one.value, "s"), show(one.known, "s") if one.known else "–") for kind, one in rates.launches.items()]
    if launches:
        draw.table(["launch of", "in the trace", "typical server"], launches, left=("launch of",))
        draw.say(SLOWED, draw.DIM)
    if not rates.bandwidth:
        draw.say("No stream in the trace is longer than the caches, so the bandwidth is estimated as before.", draw.DIM)
    if not rates.rates:
        draw.say("No product in the trace is large enough to show a rate, so rates are estimated as before.", draw.DIM)
    for place in places:
        draw.say(f"stored: {place}", draw.GOOD)
    draw.say("Next: ironlaw analyze TARGET --on this", draw.STRONG)


def _count(kernels: int) -> str:
    return f"{kernels:,}" if kernels else ""


def as_json(traced: TracedMachine, places: list[Path]) -> MeasureTraceJson:
    rates = traced.rates
    return {
        "device": traced.trace.device,
        "datasheet": traced.machine.slug,
        "bandwidth": rates.bandwidth.value if rates.bandwidth else None,
        "rates": {fmt: one.value for fmt, one in rates.rates.items()},
        "launches": {kind: one.value for kind, one in rates.launches.items()},
        "stored": [str(place) for place in places],
    }
