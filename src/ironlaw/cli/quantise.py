"""`ironlaw quantise`: what fewer bits and fewer weights do to noise and bytes, and which configurations are worth having."""

from __future__ import annotations

import argparse

from ironlaw.cli.options import Parser, add_json, add_parameters, ask
from ironlaw.cli.show import draw, quantising
from ironlaw.errors import BadValue
from ironlaw.systems.questions.frontier import COLUMNS, SCOREBOARD, Frontier
from ironlaw.systems.questions.quantise import BITS, Quantise

EXAMPLE = """ironlaw quantise
ironlaw quantise llama3_8b --bits 8,4 --group 128 --zero-bits 16
ironlaw quantise --bits 8 --pruned 90%
ironlaw quantise --frontier llama_cpp_scoreboard"""


def add(parser: Parser) -> None:
    parser.usage = "ironlaw quantise [MODEL] [--bits N,N] [--group N] [--pruned SHARE] [options]\n       ironlaw quantise --frontier TABLE"
    add_parameters(parser, Quantise)
    parser.add_argument("--frontier", metavar="TABLE", help=f"{SCOREBOARD}, or a CSV file with the columns {', '.join(COLUMNS)}")
    add_json(parser)


def run(args: argparse.Namespace) -> int:
    if args.frontier:
        if args.model or args.pruned is not None or args.group or args.bits is not BITS or args.zero_bits:
            raise BadValue("--frontier compares configurations that are measured already; leave the model and all other options out")
        compared = Frontier(args.frontier)
        draw.emit(compared.to_json()) if args.json else quantising.frontier(compared.answer, args.frontier == SCOREBOARD)
        return 0
    asked = ask(Quantise, args)
    draw.emit(asked.to_json()) if args.json else quantising.report(asked.answer)
    return 0
