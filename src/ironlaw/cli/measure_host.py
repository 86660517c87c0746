"""`ironlaw measure --host`: what launching costs this machine's processor, in seconds; stored, and used as `--host here`."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from ironlaw import home
from ironlaw.calibration.local_machine import SLUG, store_host
from ironlaw.calibration.stored_curves import host_json
from ironlaw.cli.show import draw
from ironlaw.cli.show.progress_bar import ProgressBar
from ironlaw.engine.device.host import Host
from ironlaw.errors import BadValue
from ironlaw.measure.devices.choice import choose
from ironlaw.measure.machine.launch_costs import LaunchCosts, judged, measure_launches
from ironlaw.units import show

if TYPE_CHECKING:
    from ironlaw.outputs.measurement_output import MeasureHostJson

SHOWN = ("default", "add", "relu", "linear", "matmul", "conv2d", "layer_norm", "softmax", "attention", "embedding", "view")
OTHERS = ("short", "full", "seconds", "part", "out")


def run(args: argparse.Namespace) -> int:
    if args.target:
        raise BadValue(f"--host measures launches on this machine, not a model; leave out --host or {args.target}")
    for name in OTHERS:
        if getattr(args, name):
            raise BadValue(f"--{name} is for measuring the whole machine; leave it out, or --host")
    device = choose(args.device)
    home.path("host", f"{SLUG}.json")  # a folder that can't be written is reported before anything is measured
    with ProgressBar() as meter:
        measured = measure_launches(device, meter)
    host = judged(measured, args.noisy)
    place = store_host(host)
    draw.emit(as_json(host, measured, place), "ironlaw-measure-host/1") if args.json else report(host, place)
    return 0


def report(host: Host, place: Path) -> None:
    draw.heading(host.name, f"{host.source}, {host.date}")
    rows = [(kind, show(host.launches[kind], "s")) for kind in SHOWN if kind in host.launches]
    draw.table(["launch of", "takes"], [*rows, ("a graph's replay", show(host.graph_start, "s"))], left=("launch of",))
    if host.estimate:
        draw.say(host.why, draw.DIM)
    for words in host.caveats:
        draw.say(f"! {words}", draw.BAD)
    draw.say(f"stored: {place}; predict with it as --host here", draw.GOOD)


def as_json(host: Host, measured: LaunchCosts, place: Path) -> MeasureHostJson:
    noise = measured.noise.as_json() | {"unsteady": round(measured.unsteady, 3), "reasons": list(measured.reasons)}
    return {"host": host_json(host) | {"estimate": host.estimate}, "noise": noise, "stored": str(place)}
