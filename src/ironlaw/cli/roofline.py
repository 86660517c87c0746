"""`ironlaw roofline`: work and bytes against machines' roofs."""

from __future__ import annotations

import argparse
from typing import Any

from ironlaw.cli.options import Parser, add_json, add_machines, checked, figure, number_format, size
from ironlaw.cli.show import draw
from ironlaw.engine.device.machine import Hardware
from ironlaw.engine.device.roofline import Roofline, roofline
from ironlaw.engine.device.types import bytes_per_element
from ironlaw.errors import BadValue, IronlawError
from ironlaw.formats import intensity_unit, operation, rate_unit
from ironlaw.units import show, significant

EXAMPLE = """
ironlaw roofline --flops 8.2e9 --bytes "51 MB" --on h100_sxm,t4 --dtype fp16
ironlaw roofline --gemm 4096,4096,4096 --on h100_sxm --levels
"""


@checked
def gemm(text: str) -> tuple[int, int, int]:
    parts = text.split(",")
    if len(parts) != 3:
        raise BadValue(f"{text!r} is not M,N,K; write three sizes such as 4096,4096,4096")
    try:
        m, n, k = map(size, parts)
    except argparse.ArgumentTypeError as error:
        raise BadValue(f"in {text!r}: {error}") from None
    return m, n, k


def add(parser: Parser) -> None:
    parser.usage = 'ironlaw roofline (--flops N --bytes "51 MB" | --gemm M,N,K) --on HW[,HW] [options]'
    parser.add_argument("--flops", metavar="N", type=figure("FLOP"), help="operations, such as 8.2e9 or '8.2 GFLOP'")
    parser.add_argument("--bytes", metavar="SIZE", type=figure("B"), help="bytes moved to and from memory, such as 51e6 or '51 MB'")
    parser.add_argument(
        "--gemm", metavar="M,N,K", type=gemm, help="instead of both: a matrix product in which each matrix crosses memory once"
    )
    add_machines(parser)
    parser.add_argument("--dtype", metavar="FMT", type=number_format, default="fp16", help="number format (default fp16)")
    parser.add_argument("--vector", action="store_true", help="element-wise work: use the peak outside the matrix units")
    level = parser.add_mutually_exclusive_group()
    level.add_argument("--level", metavar="NAME", default="main", help="the memory level, such as l2 (default main)")
    level.add_argument("--levels", action="store_true", help="show every memory level of each machine")
    add_json(parser)


def run(args: argparse.Namespace) -> int:
    flops, moved = amounts(args)
    reached, refused = points(args, flops, moved)
    if not reached:
        raise BadValue("; ".join(refused.values()))
    if args.json:
        refusals = [{"hardware": slug, "reason": reason} for slug, reason in refused.items()]
        draw.emit(
            {
                "flops": flops,
                "bytes": moved,
                "dtype": args.dtype,
                "work": _work(args),
                "points": [as_json(*point) for point in reached],
                "refused": refusals,
            },
            "ironlaw-roofline/1",
        )
    else:
        report(args, flops, moved, reached, refused)
    return 0


def amounts(args: argparse.Namespace) -> tuple[float, float]:
    """FLOP and bytes, from one way of giving them."""
    if args.gemm is not None:
        if args.flops is not None or args.bytes is not None:
            raise BadValue("--gemm gives the FLOPs and the bytes already; leave --flops and --bytes out, or --gemm")
        if args.vector:
            raise BadValue("--gemm is matrix work; leave --vector out, or give element-wise work as --flops and --bytes")
        m, n, k = args.gemm
        return 2.0 * m * n * k, (m * k + k * n + m * n) * bytes_per_element(args.dtype)
    if args.flops is None or args.bytes is None:
        raise BadValue('give the work as --flops 8.2e9 --bytes "51 MB", or as --gemm 4096,4096,4096')
    return args.flops, args.bytes


Point = tuple[Hardware, str, Roofline]


def points(args: argparse.Namespace, flops: float, moved: float) -> tuple[list[Point], dict[str, str]]:
    rows: list[Point] = []
    refused: dict[str, str] = {}
    for machine in args.on:
        levels = [level.name for level in machine.levels] if args.levels else [args.level]
        try:
            rows += [(machine, level, roofline(flops, moved, machine, args.dtype, level, _work(args))) for level in levels]
        except IronlawError as error:
            refused[machine.slug] = str(error)
    return rows, refused


def _work(args: argparse.Namespace) -> str:
    return "vector" if args.vector else "matrix"


def report(args: argparse.Namespace, flops: float, moved: float, reached: list[Point], refused: dict[str, str]) -> None:
    unit = operation(args.dtype)
    what = "gemm " + "×".join(map(str, args.gemm)) if args.gemm else show(flops, unit)
    more = [
        *([show(flops, unit)] if args.gemm else []),
        f"over {show(moved, 'B')}",
        f"{significant(flops / moved)} {intensity_unit(args.dtype)}",
        args.dtype,
    ]
    draw.heading(what, " · ".join(more))
    rows = [
        (
            hw.slug,
            level,
            significant(r.ridge),
            draw.term(r.regime),
            show(r.attainable, rate_unit(args.dtype)),
            f"≤ {draw.percent(r.mfu)}",
            f"≥ {show(r.seconds, 's')}",
        )
        for hw, level, r in reached
    ]
    draw.table(["machine", "level", "ridge", "bound by", "attainable", "of peak", "time"], rows, left=("machine", "level", "bound by"))
    for reason in refused.values():
        draw.say(f"✗ {reason}", draw.BAD)
    draw.say("A bound: attainable = min(peak, bandwidth × intensity). A real kernel stays below it.", draw.DIM)


def as_json(hw: Hardware, level: str, r: Roofline) -> dict[str, Any]:
    out: dict[str, Any] = {"hardware": hw.slug, "level": level, "bound": True}
    return out | {name: getattr(r, name) for name in ("intensity", "ridge", "peak", "attainable", "regime", "mfu", "seconds")}
