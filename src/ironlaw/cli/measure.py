"""`ironlaw measure`: this machine, in under a minute; with a TARGET, a model on it (cli/measure_model.py).

Nothing but the standard library and PyTorch or NumPy is needed here, so that a locked-down machine can run it from a bare checkout.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ironlaw import home
from ironlaw.cli import measure_model
from ironlaw.cli.options import Parser, add_json, checked, number
from ironlaw.cli.show import draw
from ironlaw.cli.show.progress_bar import ProgressBar
from ironlaw.errors import BadValue
from ironlaw.measure.devices.choice import choose
from ironlaw.measure.devices.device import Device
from ironlaw.measure.devices.kinds import KINDS
from ironlaw.measure.host import SLUG
from ironlaw.measure.machine.characterise import Characterisation, characterise, with_rows
from ironlaw.measure.machine.datasheet import Figures
from ironlaw.measure.machine.keep import Kept, as_evidence, described, keep, refuse
from ironlaw.measure.machine.sizes import QUICK, SHORT
from ironlaw.measure.noise import Noisy, settled
from ironlaw.measure.progress import within
from ironlaw.measure.suites.cuda.parts import PARTS
from ironlaw.units import show

EXAMPLE = """
ironlaw measure
ironlaw measure resnet50 --batch 1
ironlaw measure model.py:net --input 8x3x224x224
"""
LAUNCH = {"sync_s": "waited for", "graph_s": "in a graph", "busy_s": "kernel"}
QUIET = 10.0  # seconds to wait for others to end what they do
WIDE = 0.35  # share of the bar that the quick part takes when the wide sweep follows


def add(parser: Parser) -> None:
    parser.usage = "ironlaw measure [TARGET] [options]"
    parser.add_argument(
        "target", metavar="TARGET", nargs="?", help="a model to run: of the registry, or PATH.py:NAME; without one the machine is measured"
    )
    parser.add_argument("--short", action="store_true", help="the machine in under 20 s: coarser, no single ops, nothing compiled")
    parser.add_argument("--full", action="store_true", help="the machine and then a wide sweep of ops, for many minutes")
    parser.add_argument("--device", metavar="DEVICE", type=checked(_device), help=f"{', '.join(KINDS)}; the fastest there is by default")
    parser.add_argument("--force", dest="noisy", action="store_true", help="store it even though the machine was busy, marked so")
    parser.add_argument("--out", metavar="FILE", help="write the evidence to FILE; a machine is then not stored as this one")
    parser.add_argument("--seconds", metavar="N", type=number, help="with --full or a TARGET: how long to measure")
    parser.add_argument("--part", metavar="PART,…", help=f"with --full on CUDA: only some of {', '.join(PARTS)}")
    add_json(parser)
    measure_model.add(parser)


def _device(text: str) -> str:
    if text not in KINDS:
        raise BadValue(f"no device {text!r}; choose one of {', '.join(KINDS)}")
    return text


def run(args: argparse.Namespace) -> int:
    if args.target:
        for name in ("short", "full", "part"):
            if getattr(args, name):
                raise BadValue(f"--{name} is for measuring the machine; leave it out, or leave out {args.target}")
        return measure_model.run(args)
    if args.short and args.full:
        raise BadValue("--short and --full are two lengths of one measurement; give one of them")
    if args.seconds and not args.full:
        raise BadValue("--seconds is for --full or a TARGET; for less than the usual minute give --short")
    if args.part and not args.full:
        raise BadValue("--part chooses parts of the wide sweep; give --full too")
    for name in measure_model.OPTIONS:
        if getattr(args, name):
            raise BadValue(f"--{name} is for a model, and none is named; give one (ironlaw measure resnet50 --{name} …), or leave it out")
    device = choose(args.device)
    parts = _parts(device, args) if args.full else ()
    place = measure_model.writable(args.out) if args.out else home.path("evidence", SLUG, "machine.json")
    with ProgressBar() as meter:
        _wait(args, meter)
        found = _measured(device, args, parts, meter)
        told = described(found, device)
        meter(1.0, "fitting curves")
        kept = _stored(found, told, device, place, args)
    draw.emit(as_json(found, told, kept, args.out)) if args.json else report(found, told, kept, args.out)
    return 0


def _parts(device: Device, args: argparse.Namespace) -> tuple[str, ...]:
    """Those of the wide sweep that are asked for; what can't be had is said before anything is measured."""
    from ironlaw.measure.suites.sweep import chosen_parts

    return chosen_parts(device, args.part)


def _wait(args: argparse.Namespace, meter: ProgressBar) -> None:
    """Better to say at once that the machine is busy than after a minute."""
    noise = settled(
        0.5 if args.noisy else QUIET, lambda share: meter(0.0, f"waiting for a quiet moment: others take {share:.0%} of the processors")
    )
    if noise.noisy and not args.noisy:
        raise Noisy(
            f"for {QUIET:.0f} s {noise.reasons[0]}: nothing was measured. Close what else is running and try again, or measure all the same"
            " with --force (the evidence then says that it is noisy)"
        )


def _measured(device: Device, args: argparse.Namespace, parts: Sequence[str], meter: ProgressBar) -> Characterisation:
    if not args.full:
        return characterise(device, SHORT if args.short else QUICK, meter)
    from ironlaw.measure.suites.sweep import method, sweep

    found = characterise(device, QUICK, within(meter, 0.0, WIDE))
    rows = sweep(device, within(meter, WIDE, 1.0), None, args.seconds, parts)
    failed = sum("error" in row for row in rows)
    if failed:
        found.notes.append(f"{failed} of {len(rows)} cases of the wide sweep could not be measured; their rows say why")
    return with_rows(found, rows, f"Wide sweep: {method(device)}")


def _stored(found: Characterisation, told: Figures, device: Device, place: Path, args: argparse.Namespace) -> Kept | None:
    if not args.out:
        return keep(found, told, device, args.noisy)
    refuse(found, args.noisy)
    home.replace_text(place, as_evidence(found))
    return None


# ---- what is told


def report(found: Characterisation, told: Figures, kept: Kept | None, out: str | None) -> None:
    draw.heading(str(found.machine.get("gpu") or found.machine["cpu"]), _about(found))
    peaks = [(fmt, show(rate, "FLOP/s"), f"a product of side {n:,}") for fmt, (rate, n) in told.peaks.items()]
    peaks += [(fmt, show(rate, "FLOP/s"), "converted in software: no unit for it") for fmt, rate in told.emulated.items()]
    draw.table(["peak", "measured", "by"], peaks, left=("peak",), text=("by",))
    levels = [(lv.name, show(lv.bandwidth, "B/s"), show(lv.size, "B"), "yes" if lv.seen else "no") for lv in told.levels]
    main = ("main", show(told.bandwidth, "B/s"), show(found.machine.get("memory_bytes", 0), "B"), "")
    draw.table(["memory", "bandwidth", "size", "a step seen"], [*levels, main], left=("memory",))
    _launches(found, told)
    made = compiled(found)
    if made:
        draw.table(["compiling", "takes", "the first function", "then a call"], made, left=("compiling",))
    for note in found.notes:
        draw.say(f"note: {note}", draw.DIM)
    draw.say(f"noise: {verdict(found)}", draw.BAD if found.noise.noisy else draw.GOOD)
    _next(found, told, kept, out)


def _launches(found: Characterisation, told: Figures) -> None:
    """Op kinds, the cheapest first: queued back to back, and what else is known on a device."""
    rows = sorted((row for row in found.rows if row["kind"] == "launch"), key=lambda row: float(row["wall_s"]))
    more = [name for name in LAUNCH if any(row.get(name) for row in rows)]
    seen = {}
    for row in rows:
        cells = [show(row[name], "s") if row.get(name) else "–" for name in more]
        seen.setdefault(row["op"], (row["op"], show(row["wall_s"], "s"), *cells))
    draw.table(["launch", "queued", *(LAUNCH[name] for name in more)], seen.values(), left=("launch",))
    draw.say(f"launch of an element-wise op {show(told.launch, 's')} (median); floor {show(told.floor, 's')}")


def _next(found: Characterisation, told: Figures, kept: Kept | None, out: str | None) -> None:
    if kept is None:
        draw.say(f"written to {out}: {len(found.rows)} rows of evidence; not stored as this machine")
        return
    fitted = f"{len(kept.curves)} fitted" if kept.curves else "too few rows to fit any: predictions for this machine are bounds"
    draw.pairs([("figures", str(kept.figures)), ("evidence", f"{kept.evidence}, {len(found.rows)} rows"), ("curves", fitted)])
    fmt = "" if "fp16" in told.peaks else " --dtype fp32"
    draw.say(f"It is `this` everywhere now, and a context in every lab. Next: ironlaw predict resnet50 --on this{fmt}", draw.STRONG)


def _about(found: Characterisation) -> str:
    machine, software = found.machine, found.software
    library = f"PyTorch {software.get('torch')}" if machine["library"] == "torch" else f"NumPy {software.get('numpy')}"
    where = f"{machine['sms']} SMs" if "sms" in machine else f"{machine['cores']} processors, {machine['threads']} threads"
    return f"{where}, {show(machine.get('memory_bytes', 0), 'B')}, {library} on {machine['backend']}"


def compiled(found: Characterisation) -> list[tuple[str, str, str, str]]:
    return [
        (row["name"], show(row["compile_s"], "s"), show(row["startup_s"], "s"), show(row["wall_s"], "s"))
        for row in found.rows
        if row["kind"] == "function" and row.get("compile_s")
    ]


def verdict(found: Characterisation) -> str:
    noise, repeated = found.noise, found.repeated
    others = "unknown" if noise.others is None else f"{noise.others:.0%}"
    told = f"others took {others} of the processors, the reference varied by {noise.drift:.0%}"
    twice = f"; measured twice: {', '.join(repeated)}" if repeated else ""
    return (f"NOISY: {'; '.join(noise.reasons)}" if noise.noisy else f"quiet ({told})") + twice


def as_json(found: Characterisation, told: Figures, kept: Kept | None, out: str | None) -> dict[str, Any]:
    return {
        "slug": SLUG,
        "machine": found.machine,
        "software": found.software,
        "peaks": {fmt: rate for fmt, (rate, _) in told.peaks.items()},
        "emulated": told.emulated,
        "bandwidth": told.bandwidth,
        "levels": [{"name": lv.name, "size": lv.size, "bandwidth": lv.bandwidth, "step_seen": lv.seen} for lv in told.levels],
        "curve": [{"working_set": size, "bandwidth": rate} for size, rate in told.curve],
        "launch": told.launch,
        "floor": told.floor,
        "launches": {row["op"]: row["wall_s"] for row in found.rows if row["kind"] == "launch"},
        "compile_s": next((row["compile_s"] for row in found.rows if row.get("compile_s")), None),
        "notes": found.notes,
        "noise": found.noise.as_json() | {"repeated": found.repeated},
        "rows": len(found.rows),
        "curves": list(kept.curves) if kept else [],
        "stored": [str(kept.evidence), str(kept.figures)] if kept else [out],
    }
