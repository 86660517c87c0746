"""`ironlaw measure TARGET`: a model run on this machine, stored as evidence, and compared with its prediction."""

from __future__ import annotations

import argparse
import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ironlaw import home
from ironlaw.calibration import local_machine
from ironlaw.cli.options import Parser, modes, number_format, size
from ironlaw.cli.show import draw
from ironlaw.cli.show.measured_model import MeasuredModel, as_json, report
from ironlaw.cli.show.progress_bar import ProgressBar
from ironlaw.engine.device.machine import Plan
from ironlaw.engine.device.predict import predict
from ironlaw.engine.device.types import Graph
from ironlaw.errors import BadRegistry, BadValue, IronlawError, UnknownName
from ironlaw.files import regular
from ironlaw.measure.devices.kinds import device_name
from ironlaw.registry.evidence import read
from ironlaw.registry.loader import normal
from ironlaw.registry.machines import local
from ironlaw.report.kineto import parse
from ironlaw.report.trace_join import join

if TYPE_CHECKING:
    from ironlaw.measure.devices.torch_device import TorchDevice
    from ironlaw.measure.models.run import Run

EVIDENCE = ("evidence", local_machine.SLUG, "models.json")
SECONDS = 2.0  # of timing, for each mode
OPS = 8  # operators that are shown
OPTIONS = ("batch", "seq", "dtype", "mode", "input", "set", "ops")  # meaningless without a model


@dataclass
class Chosen:
    """What to run, and how its rows name it: `workload` and `params` as the registry takes them, or `model`."""

    call: Any
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    row: dict[str, Any]
    dtype: str = ""


def add(parser: Parser) -> None:
    from ironlaw.cli.analyze import setting

    group = parser.add_argument_group("for a model")
    group.add_argument("--batch", metavar="N", type=size, help="samples at once: the first size of every input")
    group.add_argument("--seq", metavar="N", type=size, help="tokens, for models that take them")
    group.add_argument("--dtype", metavar="FMT", type=number_format, help="fp32, fp16 or bf16; default: the model's own, fp32 on a CPU")
    group.add_argument("--mode", metavar="MODE[,MODE]", type=modes, help="eager, compiled, and graphs on CUDA; default: all that run here")
    group.add_argument(
        "--input",
        metavar="SHAPE[:FMT]",
        action="append",
        default=[],
        help="an argument of the call, such as 8x3x224x224 or 8x128:int64 (else NAME_inputs or example_inputs of the file)",
    )
    group.add_argument("--set", metavar="KEY=VALUE", type=setting, action="append", default=[], help="a config field or factory argument")
    group.add_argument("--ops", metavar="N", type=size, help=f"the N operators with the widest gaps (default {OPS})")


def run(args: argparse.Namespace) -> int:
    """`args` as `add` and `ironlaw measure` itself read them."""
    device, places = _runs_on(args.device), kept_at(args.out)
    from ironlaw.measure.models.run import measure
    from ironlaw.measure.models.run import modes as runnable

    wanted = args.mode or runnable(device)
    chosen = choose(args, device)
    graph, reason = capture_or_reason(chosen)
    with ProgressBar() as meter:
        runs = measure(
            chosen.call, chosen.args, chosen.kwargs, device=device, modes=wanted, seconds=args.seconds or SECONDS, progress=meter
        )
    model = compared(args.target, chosen, device, runs, graph, reason)
    store(model, device, places, args.noisy)
    draw.emit(as_json(model)) if args.json else report(model, args.ops or OPS)
    return 0


def _runs_on(wanted: str | None) -> TorchDevice:
    from ironlaw.measure.devices.choice import choose_torch

    return choose_torch(wanted)


# ---- what to run


def choose(args: argparse.Namespace, device: TorchDevice) -> Chosen:
    """The target with its weights and inputs on the device."""
    if args.target.startswith("hf:") or ":" in args.target or args.target.endswith(".py"):
        return _from_code(args, device)
    for name in ("input", "set"):
        if getattr(args, name):
            raise BadValue(f"--{name} is for a model of your own; {args.target} is the registry's and takes --batch, --seq and --dtype")
    from ironlaw.measure.models.builders import build
    from ironlaw.registry.workloads import about

    try:
        about(args.target)  # an unknown name is reported before anything is built
    except UnknownName as error:
        raise UnknownName(f"{error}; a model of your own is given as PATH.py:NAME") from None
    dtype = args.dtype or device.default_format
    built = build(args.target, batch=args.batch, seq=args.seq, dtype=dtype, device=device.NAME, room=device.free_memory())
    return Chosen(built.module, built.args, built.kwargs, {"workload": normal(args.target), "params": built.settings}, dtype)


def _from_code(args: argparse.Namespace, device: TorchDevice) -> Chosen:
    from ironlaw.measure.models.run import described, real
    from ironlaw.tracing.load import load

    target = load(args.target, args.input, args.batch, args.dtype, args.seq, dict(args.set), device.NAME)
    vocabulary = int(getattr(getattr(target.call, "config", None), "vocab_size", 0) or 0)
    inputs = real((target.args, target.kwargs), device.NAME, vocabulary)
    params = {"inputs": described(inputs), **({"settings": dict(args.set)} if args.set else {})}
    name = args.target if args.target.startswith("hf:") else Path(args.target).name
    return Chosen(target.call, tuple(inputs[0]), inputs[1], {"model": name, "params": params}, args.dtype or "")


def capture_or_reason(chosen: Chosen) -> tuple[Graph | None, str]:
    """The graph of the same call, or the reason why it can't be captured."""
    from ironlaw.tracing.capture import capture

    try:
        return capture(chosen.call, chosen.args, chosen.kwargs), ""
    except IronlawError as error:
        return None, str(error)


# ---- what is predicted for it


def compared(name: str, chosen: Chosen, device: TorchDevice, runs: list[Run], graph: Graph | None, reason: str) -> MeasuredModel:
    weights = sum(w.numel() for w in chosen.call.parameters()) if hasattr(chosen.call, "parameters") else 0
    dtype = chosen.dtype or (graph.dtype if graph else "")
    model = MeasuredModel(name, device.NAME, dtype, weights, runs, reason=reason)
    for run in runs:
        if not run.error:
            run.row |= {**chosen.row, "parameters": weights}
    if graph is None:
        return model
    try:
        machine = local()
        if machine.backend not in device.kind.registry:
            raise BadValue(
                f"{machine.name} was measured on its {machine.backend}, and the model ran on {device.NAME}; run it with --device"
                f" {device_name(machine.backend)}, or measure the machine with `ironlaw measure --device {device.NAME}`"
            )
        model.predictions = {run.mode: predict(graph, machine, Plan(run.mode)) for run in runs if not run.error}
    except IronlawError as error:
        model.reason = str(error)
        return model
    if machine.calibration is None:
        model.note = "a bound: too little was measured of this machine for curves, so a real run is slower than predicted"
    if model.eager is not None and model.eager.events:
        model.joined = join(model.predictions["eager"], parse(model.eager.events, "the profile", machine.name))
    return model


# ---- what is kept of it


def kept_at(out: str | None) -> list[Path]:
    """Where rows are added: in ironlaw's home, and to `out` as well. A place that can't take them is reported first."""
    own = home.path(*EVIDENCE)
    if own.exists():
        read(own)
    if not out:
        return [own]
    other = writable(out)
    return [own] if other.exists() and own.exists() and other.samefile(own) else [own, other]


def writable(out: str) -> Path:
    """The place that `--out` names, its folder made. A file that exists must be evidence: no other is overwritten."""
    place, other = Path(out), "give another --out"
    if place.is_dir():
        raise BadValue(f"{place} is a folder; give a file in it, such as --out {place / 'evidence.json'}")
    regular(place, "the evidence")
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise BadValue(f"cannot create the folder {place.parent} ({error.strerror}); {other}") from None
    if not os.access(place.parent, os.W_OK | os.X_OK):
        raise BadValue(f"cannot write to the folder {place.parent}; {other}")
    try:
        if place.exists():
            read(place)
    except BadRegistry:
        raise BadValue(f"{place} exists and is not readable as evidence; it is left as it is, {other}") from None
    return place


def store(model: MeasuredModel, device: TorchDevice, places: list[Path], noisy: bool) -> None:
    """Rows of modes that ran, on a quiet machine."""
    from ironlaw.measure.evidence_file import append
    from ironlaw.measure.host import software
    from ironlaw.measure.models.run import METHOD
    from ironlaw.measure.rows import typed

    rows = []
    for run in model.runs:
        if run.error:
            continue
        if run.noise is not None and run.noise.noisy and not noisy:
            why = "; ".join(run.noise.reasons)
            model.left_out.append(f"{run.mode} is not stored: {why}. Close what else runs and measure again, or give --force to store it")
        else:
            rows.append(run.row)
    if not rows:
        return
    for place in places:
        append(place, typed(rows), machine=device.machine(), software=software(), method=METHOD)
    model.stored = ", ".join(map(str, places))
