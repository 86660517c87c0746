"""`ironlaw hardware`: all machines, or one with every figure, its source and its date."""

from __future__ import annotations

import argparse
import sys
from dataclasses import asdict
from typing import Any

from ironlaw.calibration import local_machine
from ironlaw.cli.hardware_check import as_json as check_json
from ironlaw.cli.hardware_check import show_check
from ironlaw.cli.options import Parser, add_json
from ironlaw.cli.show import draw
from ironlaw.cli.show.sources_text import value
from ironlaw.engine.device.machine import Hardware
from ironlaw.errors import BadValue, IronlawError, UnknownName
from ironlaw.formats import rate_unit
from ironlaw.registry import own_files
from ironlaw.registry.loader import folder
from ironlaw.registry.machines import local, own_machines, registered
from ironlaw.units import show, show_capacity, significant

EXAMPLE = """
ironlaw hardware
ironlaw hardware h100_sxm
ironlaw hardware check
ironlaw hardware check mi300x
ironlaw hardware l40s --toml
"""
CONTEXTS = ("cloud", "desktop", "edge", "mobile", "tiny")  # from large to small
NAMES = {"reserved": "kept by driver, runtime and system", "launch": "launch cost", "flash": "flash, for weights"}
RIDGES = {"peak": "matrix", "vector": "vector"}
GROUPS = {"peak": "peak, dense", "sparse": "peak, 2:4 sparse", "vector": "outside the matrix units"}


def add(parser: Parser) -> None:
    parser.usage = "ironlaw hardware [check] [NAME] [--json | --toml]\n       ironlaw hardware add FILE [NAME]"
    parser.add_argument(
        "name",
        metavar="[check | add FILE] [NAME]",
        nargs="*",
        help="a machine, such as h100_sxm, h100 or this; without it, all machines."
        " check: whether its times are measured, estimated or bounds, and what is missing for an estimate. add: a machine, from the"
        " file that `ironlaw measure --export` wrote on it",
    )
    parser.add_argument(
        "--toml", action="store_true", help="print the machine's file, to start one of your own from (docs/own-machines.md)"
    )
    add_json(parser)


def run(args: argparse.Namespace) -> int:
    from ironlaw import hardware, machines

    if args.toml:
        return _file(args)
    if args.name[:1] == ["add"]:
        from ironlaw.cli import hardware_add  # fits curves

        return hardware_add.run(args.name[1:], args.json)
    checks, names = args.name[:1] == ["check"], args.name[args.name[:1] == ["check"] :]
    if len(names) > 1:
        raise BadValue(f"name one machine, not {' and '.join(names)}; if it is one name, join its words: {'-'.join(names)}")
    every = [hardware(name) for name in names or machines()]
    if checks:
        draw.emit({"machines": check_json(every)}, "ironlaw-hardware-check/1") if args.json else show_check(every)
    elif names:
        draw.emit(as_json(every[0]), "ironlaw-hardware/1") if args.json else in_full(every[0])
    else:
        draw.emit({"machines": [as_json(hw) for hw in every]}, "ironlaw-machines/1") if args.json else listing(every)
    return 0


def _file(args: argparse.Namespace) -> int:
    """The file as it stands, header and sources included."""
    if args.json or len(args.name) != 1 or args.name == ["check"]:
        raise BadValue("`--toml` prints one machine's file; write `ironlaw hardware l40s --toml`")
    slug = registered(args.name[0]).slug
    sys.stdout.write((own_files.own("hardware").get(slug) or folder("hardware") / f"{slug}.toml").read_text(encoding="utf-8"))
    return 0


def listing(every: list[Hardware]) -> None:
    rows = sorted(every, key=_place)
    ends = [i for i, hw in enumerate(rows[:-1]) if _place(hw)[0] != _place(rows[i + 1])[0]]
    width = draw.width()
    name = ["name"] if width >= 140 else []
    launch = ["launch"] if width >= 100 else []
    usable = ["usable"] if width >= 90 else []
    columns = ["slug", *name, "16-bit", "int8", "bandwidth", "memory", *usable, "power", *launch, "ridge"]
    draw.table(columns, [_row(hw, columns) for hw in rows], left=("slug", "name"), sections=ends)
    draw.say(
        "16-bit (fp16 or bf16), int8: dense peaks in FLOP/s and OP/s. ridge: operations per byte at 16 bits, or in the format named."
        " ~ marks estimates.",
        draw.DIM,
    )
    if usable:
        draw.say("memory: as the maker counts it. usable: what the driver, runtime and system leave of it.", draw.DIM)
    draw.say("`ironlaw hardware SLUG` shows every figure with its source.", draw.DIM)
    if not any(hw.slug == local_machine.SLUG for hw in rows):
        draw.say(*absent())
    for why in filter(None, own_machines().values()):
        draw.say(f"✗ left out: {why}", draw.BAD)


def _place(hw: Hardware) -> tuple[int, str]:
    """This machine first, then from large to small."""
    return (-1 if hw.slug == local_machine.SLUG else CONTEXTS.index(hw.context)), hw.slug


def absent() -> tuple[str, str]:
    """Why this machine is not among them, in its style."""
    try:
        return f"{local().slug} was measured just now; ask again to see it.", draw.DIM
    except UnknownName:
        return "`ironlaw measure` adds this machine.", draw.DIM
    except IronlawError as error:
        return f"✗ this machine: {error}", draw.BAD


def _row(hw: Hardware, columns: list[str]) -> list[str]:
    def text(key: str) -> str:
        return value(hw.figures[key]).replace("≈ ", "~") if key in hw.figures else "–"

    base = usual(hw)
    wide = base in ("fp16", "bf16")
    cells = {"slug": hw.slug, "name": hw.name, "int8": text("peak.int8").removesuffix(rate_unit("int8"))}
    cells["16-bit"] = text(f"peak.{base}").removesuffix(rate_unit(base)) if wide else "–"
    cells["ridge"] = significant(hw.ridge(base)) + ("" if wide else f" {base}")
    cells["memory"] = show_capacity(float(hw.capacity))
    cells["usable"] = (text("reserved")[:1] if text("reserved").startswith("~") else "") + show(hw.usable, "B")
    return [cells.get(name) or text(name) for name in columns]


def usual(hw: Hardware) -> str:
    """The number format to quote a ridge in."""
    return next((fmt for fmt in ("fp16", "bf16", "fp32", "int8") if fmt in hw.peaks), next(iter(hw.peaks)))


def in_full(hw: Hardware) -> None:
    behind = [*(f.source for f in hw.figures.values()), *(level.source for level in hw.levels), *(link.source for link in hw.links)]
    sources = list(dict.fromkeys(filter(None, behind)))
    draw.heading(hw.name, hw.slug)
    units = ", ".join(_unit(key, value) for key, value in hw.units.items())
    draw.pairs(
        [
            ("kind", f"{hw.kind}, {hw.context}, {hw.backend}"),
            ("also called", ", ".join(hw.aliases) or "–"),
            ("units", units or "–"),
            *([("process", hw.process)] if hw.process else []),
        ]
    )
    if hw.note:
        draw.say(hw.note)
    figures = []
    for key, f in hw.figures.items():
        group, _, fmt = key.partition(".")
        name = f"{GROUPS[group]}, {fmt}" if fmt else NAMES.get(key, key)
        ridge = significant(hw.ridge(fmt, work=RIDGES[group])) if group in RIDGES else ""
        shown = show_capacity(f.value) if key == "memory" else value(f, 4)
        figures.append((name, shown, ridge, f"[{sources.index(f.source) + 1}]", f.date))
        if key == "reserved":
            figures.append(("memory that models can use", f"≈ {show(hw.usable, 'B', 4)}", "", "", ""))
    draw.table(["figure", "value", "ridge", "source", "date"], figures, left=("figure",))
    if hw.levels:
        memory_levels(hw, sources)
    if hw.links:
        rows = [(one.name, show(one.per_direction, "B/s", 4), f"[{sources.index(one.source) + 1}]", one.date) for one in hw.links]
        draw.table(["link", "each direction", "source", "date"], rows, left=("link",))
    for i, source in enumerate(sources, 1):
        draw.say(f"[{i}] {source}", draw.DIM)
    reasons = {name: f.why for name, f in hw.figures.items() if f.estimate} | {
        level.name: level.why for level in hw.levels if level.estimate
    }
    for name, why in reasons.items():
        draw.say(f"≈ {name}: {why}", draw.DIM)


def _unit(name: str, amount: float) -> str:
    """`132 SMs`, `1.98 GHz`, `227 KiB shared per block`."""
    if name.endswith("clock"):
        return f"{show(amount, 'Hz')}{' tensor' if name != 'clock' else ''}"
    words = "SMs" if name == "sms" else name.replace("_", " ")
    return f"{show_capacity(amount) if name == 'shared_per_block' else draw.count(amount)} {words}"


def memory_levels(hw: Hardware, sources: list[str]) -> None:
    base = usual(hw)
    rows = []
    for level in hw.levels:
        mark = "≈ " if level.estimate else ""
        where = f"[{sources.index(level.source) + 1}]" if level.source else ""
        rows.append(
            (
                level.name,
                level.label,
                show(level.size, "B"),
                mark + show(level.bandwidth, "B/s", 4),
                significant(hw.peak(base) / level.bandwidth),
                where,
                level.date,
            )
        )
    draw.table(["level", "what", "size", "bandwidth", f"ridge {base}", "source", "date"], rows, left=("level",), text=("what",))


def as_json(hw: Hardware) -> dict[str, Any]:
    out: dict[str, Any] = {name: getattr(hw, name) for name in ("slug", "name", "kind", "backend", "context", "aliases", "note")}
    out |= {name: getattr(hw, name) for name in ("bandwidth", "capacity", "reserved", "usable", "power", "launch")}
    out |= {
        "peaks": dict(hw.peaks),
        "sparse": dict(hw.sparse),
        "vector": dict(hw.vector),
        "ridge": {fmt: hw.ridge(fmt) for fmt in hw.peaks},
        "vector_ridge": {fmt: hw.ridge(fmt, work="vector") for fmt in hw.peaks},
    }
    out |= {"units": dict(hw.units), "calibrated": hw.calibration is not None}
    out["figures"] = {key: asdict(f) for key, f in hw.figures.items()}
    out["levels"] = [asdict(level) for level in hw.levels]
    out |= {"links": [asdict(link) for link in hw.links], "process": hw.process}
    return out
