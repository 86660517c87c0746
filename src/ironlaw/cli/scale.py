"""`ironlaw scale`: what more workers bring, from a serial share or from measured points."""

from __future__ import annotations

import argparse

from ironlaw.cli.options import Parser, add_json, add_parameters, ask
from ironlaw.cli.show import draw, scaling_text
from ironlaw.systems.questions.scale import Scale

EXAMPLE = """ironlaw scale --serial 15% --workers 8,64
ironlaw scale --speedups 2:1.8 --workers 64 --target 12
ironlaw scale --times "1:95 s,2:51 s,4:29 s,8:19 s,16:15 s" --workers 32,64"""


def add(parser: Parser) -> None:
    parser.usage = "ironlaw scale (--serial SHARE | --speedups POINTS | --times POINTS) [options]"
    add_parameters(parser, Scale)
    add_json(parser)


def run(args: argparse.Namespace) -> int:
    asked = ask(Scale, args)
    draw.emit(asked.to_json()) if args.json else scaling_text.report(asked.answer)
    return 0
