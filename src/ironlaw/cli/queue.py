"""`ironlaw queue`: how long requests wait, one by one or in batches, and how loaded the servers are."""

from __future__ import annotations

import argparse

from ironlaw.cli.options import Parser, add_json, add_parameters, ask
from ironlaw.cli.show import draw, queueing
from ironlaw.systems.questions.queue import Queue

EXAMPLE = """ironlaw queue --rate 160 --service "5 ms"
ironlaw queue --rate 144 --service "50 ms" --spread exponential --servers 8 --target "300 ms"
ironlaw queue --rate 1000 --rate 10000 --workload resnet50 --on h200_sxm --mode compiled --batch 64
ironlaw queue --rate 500 --times "1:0.5 ms,32:3.6 ms" --batch 32 --policy fixed"""


def add(parser: Parser) -> None:
    parser.usage = "ironlaw queue --rate N (--service TIME | --times SIZES | --workload NAME --on HW) [options]"
    add_parameters(parser, Queue)
    add_json(parser)


def run(args: argparse.Namespace) -> int:
    asked = ask(Queue, args)
    if args.json:
        draw.emit(asked.to_json())
        return 0
    for machine, mode, result in asked.variants:
        if machine is not None:
            draw.heading(args.workload, f"{machine.slug}, {mode}")
        queueing.report(result)
    return 0
