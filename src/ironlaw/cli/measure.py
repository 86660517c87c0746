"""`ironlaw measure`: this machine, in under a minute; with a TARGET, a model on it (cli/measure_model.py).

Nothing but the standard library and PyTorch or NumPy is needed here, so that a locked-down machine can run it from a bare checkout.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from ironlaw import files, home
from ironlaw.cli import measure_model
from ironlaw.cli.options import Parser, add_json, checked, number
from ironlaw.cli.show import draw
from ironlaw.cli.show.measured_machine import as_json, report
from ironlaw.cli.show.progress_bar import ProgressBar
from ironlaw.errors import BadValue
from ironlaw.measure.devices.choice import choose, named
from ironlaw.measure.devices.device import Device
from ironlaw.measure.devices.device_kinds import KINDS
from ironlaw.measure.machine import minute
from ironlaw.measure.machine.characterise import Characterisation, characterise, with_rows
from ironlaw.measure.machine.datasheet import Figures
from ironlaw.measure.machine.keep import Kept, as_evidence, keep, read_figures, refuse_if_noisy, set_aside
from ironlaw.measure.machine.machine_sizes import MINUTE, QUICK, SHORT
from ironlaw.measure.noise import Noisy, settled
from ironlaw.measure.progress_lines import Progress, within
from ironlaw.measure.software_host import SLUG
from ironlaw.measure.suites.cuda.parts import PARTS

EXAMPLE = """
ironlaw measure
ironlaw measure --host
ironlaw measure --trace trace.json
ironlaw measure resnet50 --batch 1
ironlaw measure model.py:net --input 8x3x224x224
ironlaw measure --for model.py:net
ironlaw measure --export my_machine.json
"""
QUIET = 10.0  # seconds to wait for other processes to finish
START = 2.0  # seconds that starting Python and storing the result take
WIDE = 0.35  # share of the bar that the quick part takes when the wide sweep follows


def add(parser: Parser) -> None:
    parser.usage = "ironlaw measure [TARGET] [options]"
    parser.add_argument(
        "target",
        metavar="TARGET",
        nargs="?",
        help="a model to run: a name from the registry or FILE.py:NAME; without one, the machine is measured",
    )
    parser.add_argument("--short", action="store_true", help="a quick measurement, under 20 s: peaks and bandwidth only")
    parser.add_argument("--full", action="store_true", help="measure the machine, then a wide sweep of operators; takes many minutes")
    parser.add_argument(
        "--host",
        action="store_true",
        help="measure only how long this machine's processor takes to launch kernels; then `--host here` uses it",
    )
    parser.add_argument(
        "--trace",
        metavar="FILE",
        help="run nothing; give `this` the GPU's bandwidth and rates from a torch.profiler trace (record_shapes=True)",
    )
    parser.add_argument(
        "--loader",
        metavar="FILE.py:NAME",
        help="only read batches from this loader, and say how many samples per second it delivers (--seconds N, default 5)",
    )
    parser.add_argument(
        "--for",
        dest="model",
        metavar="TARGET",
        help="spend a minute on the operators of one model (NAME, FILE.py:NAME or hf:CONFIG); then its predictions with"
        " `--on this` rest on them",
    )
    parser.add_argument(
        "--export",
        metavar="FILE",
        help="write what was measured here to FILE, for others to add (ironlaw hardware add FILE); measures nothing",
    )
    parser.add_argument(
        "--keep",
        metavar="FILE",
        help="store a measurement of this machine that was set aside because the machine was noisy; measures nothing",
    )
    parser.add_argument(
        "--device",
        metavar="DEVICE",
        type=checked(_device),
        help=f"{', '.join(KINDS)}, or of several GPUs cuda:1; default: the fastest here",
    )
    parser.add_argument("--force", dest="noisy", action="store_true", help="store the result even if the machine was busy, marked as noisy")
    parser.add_argument("--out", metavar="FILE", help="write the evidence to FILE, and don't store the machine as `this`")
    parser.add_argument("--seconds", metavar="N", type=number, help="how long to measure; a minute by default")
    parser.add_argument("--part", metavar="PART,…", help=f"with --full on CUDA: measure only these parts, of {', '.join(PARTS)}")
    add_json(parser)
    measure_model.add(parser)


def _device(text: str) -> str:
    named(text)
    return text


def run(args: argparse.Namespace) -> int:
    if args.loader:
        from ironlaw.cli import measure_loader

        return measure_loader.run(args)
    if args.trace:
        from ironlaw.cli import measure_trace

        return measure_trace.run(args)
    if args.export:
        return _export(args)
    if args.keep:
        return _keep(args)
    if args.model:
        return _for_model(args)
    if args.host:
        from ironlaw.cli import measure_host

        return measure_host.run(args)
    if args.target:
        for name in ("short", "full", "part"):
            if getattr(args, name):
                raise BadValue(f"--{name} is for measuring the machine; leave it out, or leave out {args.target}")
        return measure_model.run(args)
    if args.short and args.full:
        raise BadValue("--short and --full can't be combined; give one of them")
    if args.seconds and args.short:
        raise BadValue("--short takes as long as it takes; leave --seconds out, or leave out --short")
    if args.part and not args.full:
        raise BadValue("--part chooses parts of the wide sweep; give --full too")
    for name in measure_model.OPTIONS:
        if getattr(args, name):
            raise BadValue(f"--{name} needs a model; name one (ironlaw measure resnet50 --{name} …), or leave it out")
    began = time.perf_counter()
    device = choose(args.device)
    parts = _parts(device, args) if args.full else ()
    place = measure_model.writable(args.out) if args.out else home.path("evidence", SLUG, "machine.json")
    with ProgressBar() as meter:
        _wait(args, meter)
        result = _measure(device, args, parts, meter, time.perf_counter() - began + START)
        figures = read_figures(result, device)
        meter(1.0, "fitting curves")
        stored = _store(result, figures, device, place, args)
    _show(result, figures, stored, args)
    return 130 if result.stopped else 0


def _show(result: Characterisation, figures: Figures, stored: Kept | None, args: argparse.Namespace) -> None:
    if args.json:
        draw.emit(as_json(result, figures, stored, args.out), "ironlaw-measure/1")
    else:
        report(result, figures, stored, args.out)


def _export(args: argparse.Namespace) -> int:
    from ironlaw.registry import shared_machines  # evidence, which measuring does without

    for name in ("target", "model", "short", "full", "part", "out", "seconds", "noisy", *measure_model.OPTIONS):
        if getattr(args, name):
            raise BadValue("--export writes what was measured before and measures nothing; give it alone")
    place, text = shared_machines.place_for(args.export), shared_machines.exported()
    files.replace_text(place, text)
    said = {"file": str(place), "holds": shared_machines.HOLDS, "bytes": len(text.encode())}
    if args.json:
        draw.emit(said, "ironlaw-measure-export/1")
    else:
        draw.say(f"Wrote {place}. {shared_machines.HOLDS}")
        draw.say(f"Elsewhere: ironlaw hardware add {place.name}", draw.STRONG)
    return 0


def _keep(args: argparse.Namespace) -> int:
    for name in ("target", "model", "short", "full", "part", "out", "seconds", "noisy", *measure_model.OPTIONS):
        if getattr(args, name):
            raise BadValue("--keep stores what was measured before and measures nothing; give it alone, or with --device")
    device = choose(args.device)
    result, date = set_aside(Path(args.keep), device)
    figures = read_figures(result, device)
    _show(result, figures, keep(result, figures, device, True, date), args)
    return 0


def _for_model(args: argparse.Namespace) -> int:
    from ironlaw.cli import measure_for  # PyTorch's part, which a machine with NumPy alone does without

    for name in ("target", "short", "full", "part", "out", "mode"):
        if getattr(args, name):
            what = args.target if name == "target" else f"--{name}"
            raise BadValue(f"{what} and --for can't be combined; leave one of them out")
    return measure_for.run(args, measure_and_keep)


def measure_and_keep(args: argparse.Namespace, device: Device, progress: Progress) -> None:
    """The quick measurement of the machine, stored as `this`."""
    _wait(args, progress)
    result = characterise(device, MINUTE, progress, rest=minute.until)  # a minute of its own
    keep(result, read_figures(result, device), device, args.noisy)
    if result.stopped:
        raise KeyboardInterrupt


def _parts(device: Device, args: argparse.Namespace) -> tuple[str, ...]:
    """The parts of the wide sweep to run; an impossible one is reported before anything is measured."""
    from ironlaw.measure.suites.suite_sweep import chosen_parts

    return chosen_parts(device, args.part)


def _wait(args: argparse.Namespace, meter: Progress) -> None:
    """Better to say at once that the machine is busy than after a minute."""
    noise = settled(
        0.5 if args.noisy else QUIET, lambda share: meter(0.0, f"waiting for a quiet moment: others take {share:.0%} of the processors")
    )
    if noise.noisy and not args.noisy:
        raise Noisy(
            f"nothing was measured, because for {QUIET:.0f} s {noise.reasons[0]}. Close other programs and try again, or measure anyway"
            " with --force (the evidence then says that it is noisy)"
        )


def _measure(device: Device, args: argparse.Namespace, parts: Sequence[str], meter: ProgressBar, spent: float) -> Characterisation:
    """`spent`: seconds since the command began."""
    if not args.full:
        if args.short:
            return characterise(device, SHORT, meter)
        return characterise(device, replace(MINUTE, whole=max((args.seconds or MINUTE.whole) - spent, 1.0)), meter, rest=minute.until)
    from ironlaw.measure.suites.suite_sweep import method, sweep

    result = characterise(device, QUICK, within(meter, 0.0, WIDE))
    if result.stopped:
        return result
    rows = sweep(device, within(meter, WIDE, 1.0), None, args.seconds, parts)
    failed = sum(bool(row.error) for row in rows)
    if failed:
        result.notes.append(f"{failed} of {len(rows)} cases of the wide sweep could not be measured; their rows say why")
    return with_rows(result, rows, f"Wide sweep: {method(device)}")


def _store(result: Characterisation, figures: Figures, device: Device, place: Path, args: argparse.Namespace) -> Kept | None:
    if not args.out:
        return keep(result, figures, device, args.noisy)
    refuse_if_noisy(result, args.noisy, place.with_name(f"{place.stem}_noisy.json"))
    home.replace_text(place, as_evidence(result))
    return None
