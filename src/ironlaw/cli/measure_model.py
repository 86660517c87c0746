"""`ironlaw measure TARGET`: a model run on this machine, stored as evidence, and compared with its prediction."""

from __future__ import annotations

import argparse
import os
from pathlib import Path

from ironlaw import home, worker
from ironlaw.calibration import local_machine
from ironlaw.cli.model_run import Outcome, is_own_code, read, run_model
from ironlaw.cli.options import Parser, add_limit, add_set, modes, number_format, size
from ironlaw.cli.show import draw
from ironlaw.cli.show.measured_model import MeasuredModel, as_json, report
from ironlaw.cli.show.progress_bar import ProgressBar
from ironlaw.engine.device.machine import Plan
from ironlaw.engine.device.predict import predict
from ironlaw.errors import BadRegistry, BadValue, IronlawError
from ironlaw.files import regular
from ironlaw.measure.devices.device_kinds import KINDS, device_name
from ironlaw.measure.progress_lines import Progress
from ironlaw.registry import evidence
from ironlaw.registry.machines import local
from ironlaw.report.kineto import parse
from ironlaw.report.trace_join import join
from ironlaw.systems.captures import file_of
from ironlaw.worker.json_values import encode

EVIDENCE = ("evidence", local_machine.SLUG, "models.json")
LONGEST_S = 1800.0  # that the user's code may take, and for each second of timing that is asked for:
SHARE = 12.0  # three modes, each timed up to three times, and profiled
OPS = 8  # operators that are shown
OPTIONS = ("batch", "seq", "dtype", "mode", "input", "set", "ops", "limit")  # meaningless without a model


def add(parser: Parser) -> None:
    group = parser.add_argument_group("for a model")
    group.add_argument("--batch", metavar="N", type=size, help="batch size, the first dimension of every input")
    group.add_argument("--seq", metavar="N", type=size, help="tokens per sequence, for models that take tokens")
    group.add_argument("--dtype", metavar="FMT", type=number_format, help="fp32, fp16 or bf16; default: the model's own, fp32 on a CPU")
    group.add_argument("--mode", metavar="MODE[,MODE]", type=modes, help="eager, compiled, and graphs on CUDA; default: all that run here")
    group.add_argument(
        "--input",
        metavar="SHAPE[:FMT]",
        action="append",
        default=[],
        help="shape of an input, such as 8x3x224x224 or 8x128:int64 (default: NAME_inputs or example_inputs in the file)",
    )
    add_set(group)
    add_limit(group, None, LONGEST_S)
    group.add_argument("--ops", metavar="N", type=size, help=f"how many operators to show, the widest gaps first (default {OPS})")


def run(args: argparse.Namespace) -> int:
    """`args` as `add` and `ironlaw measure` itself read them."""
    places = kept_at(args.out)
    with ProgressBar() as meter:
        outcome = measured(args, meter)
    model = compared(args.target, outcome)
    store(model, outcome, places, args.noisy)
    draw.emit(as_json(model), "ironlaw-measure-model/1") if args.json else report(model, args.ops or OPS)
    return 0


def measured(args: argparse.Namespace, progress: Progress) -> Outcome:
    """The user's own code runs in a process of its own; so PyTorch is imported there."""
    request = {name: getattr(args, name) for name in ("target", "input", "batch", "dtype", "seq", "mode", "seconds", "device")}
    request["set"] = dict(args.set)
    if not is_own_code(args.target):
        return run_model(request, progress)
    limit = args.limit if args.limit is not None else LONGEST_S + SHARE * (args.seconds or 0.0)
    name = file_of(args.target)
    return read(worker.run("ironlaw.cli.model_run:job", encode(request), name=name, limit_s=limit, on_part=lambda part: progress(*part)))


# ---- what is predicted for it


def compared(name: str, outcome: Outcome) -> MeasuredModel:
    graph, runs = outcome.graph, outcome.runs
    model = MeasuredModel(name, outcome.device, outcome.dtype, outcome.weights, runs, reason=outcome.reason)
    for run in runs:
        if not run.error:
            run.row |= {**outcome.row, "parameters": outcome.weights}
    if graph is None:
        return model
    try:
        machine = local()
        if machine.backend not in KINDS[outcome.device].registry:
            raise BadValue(
                f"{machine.name} was measured on its {machine.backend}, but the model ran on {outcome.device}; run it with --device"
                f" {device_name(machine.backend)}, or measure the machine with `ironlaw measure --device {outcome.device}`"
            )
        model.predictions = {run.mode: predict(graph, machine, Plan(run.mode)) for run in runs if not run.error}
    except IronlawError as error:
        model.reason = str(error)
        return model
    if machine.calibration is None:
        model.note = grounds(model)
    if model.eager is not None and model.eager.events:
        model.joined = join(model.predictions["eager"], parse(model.eager.events, "the profile", machine.name))
    return model


def grounds(model: MeasuredModel) -> str:
    """What a prediction without curves is: a bound, unless a run was shorter."""
    beaten = [run.mode for run in model.runs if not run.error and run.row["wall_s"] < float(model.predictions[run.mode].seconds)]
    if beaten:
        said = (
            f"predicted from the machine's best measured rates, which are not bounds: {' and '.join(beaten)} took less time than predicted"
        )
    else:
        said = "a bound from the machine's best rates"
    return f"{said}; too little was measured for curves: measure the machine with `ironlaw measure`"


# ---- what is kept of it


def kept_at(out: str | None) -> list[Path]:
    """Where rows are added: in ironlaw's home, and to `out` as well. A place that can't take them is reported first."""
    own = home.path(*EVIDENCE)
    if own.exists():
        evidence.read(own)
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
            evidence.read(place)
    except BadRegistry:
        raise BadValue(f"{place} exists but can't be read as evidence, so it is left as it is; {other}") from None
    return place


def store(model: MeasuredModel, outcome: Outcome, places: list[Path], noisy: bool) -> None:
    """Rows of modes that ran, on a quiet machine."""
    from ironlaw.measure.evidence_file import append
    from ironlaw.measure.models.model_run import METHOD
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
        append(place, typed(rows), machine=outcome.machine, software=outcome.software, method=METHOD)
    model.stored = ", ".join(map(str, places))
