"""`ironlaw breakeven`: after how many calls compiling has paid for itself."""

from __future__ import annotations

import argparse
import math
from collections.abc import Mapping
from typing import Any

from ironlaw.cli.options import Parser, add_json, figure, number
from ironlaw.cli.show import draw
from ironlaw.engine.device.compilation import breakeven, saving, sensitivity
from ironlaw.errors import BadValue
from ironlaw.units import show, significant

EXAMPLE = "ironlaw breakeven --compile-s 30 --eager-rate 1450 --compiled-rate 2150 --per-day 10000 --days 30"
INPUTS = {"compile_s": "compile time", "eager_rate": "eager rate", "compiled_rate": "compiled rate"}


def add(parser: Parser) -> None:
    parser.usage = "ironlaw breakeven --compile-s TIME --eager-rate N --compiled-rate N [options]"
    parser.add_argument(
        "--compile-s", metavar="TIME", type=figure("s", zero=True), required=True, help="compile time, such as 30 (seconds) or '2 min'"
    )
    parser.add_argument("--eager-rate", metavar="N", type=number, required=True, help="calls per second in eager mode")
    parser.add_argument("--compiled-rate", metavar="N", type=number, required=True, help="calls per second once compiled")
    parser.add_argument("--per-day", metavar="N", type=number, help="calls per day, to say on which day it has paid for itself")
    parser.add_argument("--days", metavar="N", type=number, help="with --per-day: also the net saving after N days")
    add_json(parser)


def run(args: argparse.Namespace) -> int:
    if args.days is not None and args.per_day is None:
        raise BadValue("--days needs the number of calls per day; add --per-day 10000")
    result = answer(args)
    draw.emit(result, "ironlaw-breakeven/1") if args.json else report(args, result)
    return 0


def answer(args: argparse.Namespace) -> dict[str, Any]:
    """The figures. "never" stands where compiling saves nothing per call."""
    rates = (args.compile_s, args.eager_rate, args.compiled_rate)
    calls = breakeven(*rates)
    moves = sensitivity(*rates)
    pays = math.isfinite(calls)
    result: dict[str, Any] = {
        "pays": pays,
        "calls": calls if pays else "never",
        "saved_per_call_s": 1 / args.eager_rate - 1 / args.compiled_rate,
    }
    if args.per_day is not None:
        result["days"] = calls / args.per_day if pays else "never"
    if args.days is not None:
        result["net_saving_s"] = saving(args.days, *rates, args.per_day)
    result["sensitivity"] = {name: getattr(moves, name) for name in INPUTS} if pays else None
    result["strongest"] = moves.strongest if pays else None
    return result


def report(args: argparse.Namespace, result: Mapping[str, Any]) -> None:
    rows: list[tuple[str, Any]] = [
        ("compiling", f"{show(args.compile_s, 's')}, once"),
        ("saved per call", _signed(result["saved_per_call_s"])),
    ]
    if result["pays"]:
        rows.append(("pays after", (f"about {significant(result['calls'])} calls", draw.STRONG)))
    else:
        rows.append(("pays after", ("never, because a compiled call is no faster than an eager one", draw.BAD)))
    if "days" in result:
        days = result["days"]
        rows.append(("that is", f"{significant(days)} days of {draw.count(args.per_day)} calls" if result["pays"] else "no day"))
    if "net_saving_s" in result:
        net = result["net_saving_s"]
        rows.append((f"after {significant(args.days)} days", (f"{_signed(net)} net", draw.GOOD if net > 0 else draw.BAD)))
    draw.say()
    draw.pairs(rows)
    if result["pays"]:
        draw.heading("what moves it", "1% more of …")
        draw.pairs(
            [
                (label, f"{abs(result['sensitivity'][name]):.2f}% {_more(result['sensitivity'][name])} calls")
                for name, label in INPUTS.items()
            ]
        )


def _more(elasticity: float) -> str:
    return "more" if elasticity > 0 else "fewer"


def _signed(seconds: float) -> str:
    """+37.4 s, −30 s."""
    return f"{'−' if seconds < 0 else '+'}{show(abs(seconds), 's')}" if seconds else "0 s"
