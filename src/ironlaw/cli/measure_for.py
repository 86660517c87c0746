"""`ironlaw measure --for TARGET`: the operators of one model, each timed alone on this machine, so that its predictions rest on them."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from typing import Any

from ironlaw import worker
from ironlaw.cli.model_run import is_own_code
from ironlaw.cli.show import draw
from ironlaw.cli.show.measured_operators import as_json, report
from ironlaw.cli.show.progress_bar import ProgressBar
from ironlaw.engine.device.machine import Hardware, Plan
from ironlaw.engine.device.predict import predict
from ironlaw.engine.device.types import Graph
from ironlaw.errors import BadValue
from ironlaw.measure.devices.choice import choose_torch
from ironlaw.measure.devices.torch_device import TorchDevice
from ironlaw.measure.noise import OTHERS, Noisy
from ironlaw.measure.progress_lines import Progress
from ironlaw.measure.rows import Draft, typed
from ironlaw.registry.machines import known_local, local
from ironlaw.systems.captures import CAPTURE_S, file_of
from ironlaw.systems.model_operators import MeasuredOperators, Operator, in_order, operators
from ironlaw.tracing.graph_json import from_json
from ironlaw.worker.json_values import decode, encode

SECONDS = 60.0
MeasureFirst = Callable[[argparse.Namespace, TorchDevice, Progress], None]


def run(args: argparse.Namespace, measure_first: MeasureFirst) -> int:
    """`measure_first` measures the machine itself, where that was not done yet."""
    device = choose_torch(args.device)
    with ProgressBar() as meter:
        graph, calls = captured(args, meter, device)
        machine = measured_machine(args, device, meter, measure_first)
        measured = chosen(args.model, graph, calls, machine)
        drafts: list[Draft] = []
        try:
            _sweep(device, measured.asked, drafts, args.seconds or SECONDS, meter)
        except KeyboardInterrupt:
            measured.interrupted = True
        sort(measured, drafts, args.noisy)
        keep(measured, device)
    measured.after = predict(graph, local(), Plan())
    draw.emit(as_json(measured), "ironlaw-measure-for/1") if args.json else report(measured)
    return 130 if measured.interrupted else 0


def captured(args: argparse.Namespace, progress: Progress, device: TorchDevice) -> tuple[Graph, list[Any]]:
    """The model's operators and the calls behind them, captured without weights. The user's file is read in a process of its own."""
    progress(0.0, "capturing the model")
    if not is_own_code(args.model):
        return of_registry(args, device)
    request = {name: getattr(args, name) for name in ("input", "batch", "dtype", "seq")}
    request |= {"target": args.model, "set": encode(dict(args.set))}
    limit = args.limit if args.limit is not None else CAPTURE_S
    data = worker.run("ironlaw.tracing.op_calls:job", request, name=file_of(args.model), limit_s=limit)
    return from_json(data["graph"]), decode(data["calls"])


def of_registry(args: argparse.Namespace, device: TorchDevice) -> tuple[Graph, list[Any]]:
    from ironlaw.measure.models.builders import build  # PyTorch
    from ironlaw.tracing.op_calls import calls_of

    for name in ("input", "set"):
        if getattr(args, name):
            raise BadValue(f"--{name} is for a model of your own; {args.model} is the registry's and takes --batch, --seq and --dtype")
    dtype = args.dtype or device.default_format
    built = build(args.model, batch=args.batch, seq=args.seq, dtype=dtype, device="meta", room=float("inf"))
    return calls_of(built.module, built.args, built.kwargs)


def measured_machine(args: argparse.Namespace, device: TorchDevice, progress: Progress, measure_first: MeasureFirst) -> Hardware:
    """`this`, once it has curves for the device; measured first where it has none."""
    machine = known_local()
    if machine is None or machine.calibration is None or machine.backend not in device.kind.registry:
        measure_first(args, device, progress)
        machine = local()
    if machine.calibration is None:
        raise BadValue(
            f"{machine.name} has no curves for single operators, so those of a model can't correct them; measure it with `ironlaw measure`"
        )
    return machine


def chosen(target: str, graph: Graph, calls: Sequence[Any], machine: Hardware) -> MeasuredOperators:
    found = operators(graph, calls, machine)
    asked, sds = in_order(found)
    if not asked:
        raise BadValue(
            f"no operator of {target} can be called alone, so there is nothing to measure; measure it whole: ironlaw measure {target}"
        )
    return MeasuredOperators(target, predict(graph, machine, Plan()), found, asked, sds)


def _sweep(device: TorchDevice, asked: Sequence[Operator], drafts: list[Draft], seconds: float, progress: Progress) -> None:
    """Rows go into `drafts` as they come, so that an interrupt leaves those that are there."""
    from ironlaw.measure.suites.model_sweep import Asked, sweep

    for row in sweep(device, [Asked(one.params, one.call) for one in asked], seconds, progress):
        drafts.append(row)


def sort(measured: MeasuredOperators, drafts: Sequence[Draft], noisy: bool) -> None:
    """Rows to keep, those that failed, and those that others disturbed."""
    for row in typed(drafts):
        if row.error:
            measured.failed[str(row.params["kind"])] = row.error
        elif row.extra.get("others", 0.0) > OTHERS and not noisy:
            measured.disturbed += 1
        else:
            measured.rows.append(row)


def keep(measured: MeasuredOperators, device: TorchDevice) -> None:
    from ironlaw.measure.machine.keep import keep_operators
    from ironlaw.measure.suites.model_sweep import METHOD

    if measured.rows:
        measured.stored = str(keep_operators(measured.rows, device, METHOD))
    elif measured.disturbed:
        raise Noisy(
            f"nothing was stored: other processes took more than {OTHERS:.0%} of the processors during all {measured.disturbed} operators."
            " Close other programs and try again, or store the best call of each with --force"
        )
    elif measured.interrupted:
        raise KeyboardInterrupt
    else:
        kind, why = next(iter(measured.failed.items()))
        raise BadValue(f"none of the operators could be called here; {kind}: {why}")
