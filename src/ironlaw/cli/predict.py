"""`ironlaw predict`: how long and why in a sentence, a row per machine and mode, and beneath them the figures that were used."""

from __future__ import annotations

import argparse

from ironlaw.cli.options import Parser, add_chrome_trace, add_json, add_notes, add_parameters, ask
from ironlaw.cli.show import comparison_text, draw
from ironlaw.cli.show import costs_text as show_costs
from ironlaw.cli.show.prediction_lines import answer, report
from ironlaw.report.predictions import Predictions
from ironlaw.report.too_large import too_large

EXAMPLE = """
ironlaw predict resnet50 --on h100_sxm,t4 --mode eager,compiled
ironlaw predict llama3_8b --on h200_sxm --decode --context 4096 --batch 1,8,64 --ops 5
ironlaw predict resnet50 --on h100_sxm,l40s,a10 --mode graphs --latency 5ms
"""


def add(parser: Parser) -> None:
    parser.usage = "ironlaw predict WORKLOAD --on HW[,HW] [options]"
    add_parameters(parser, Predictions)
    add_chrome_trace(parser)
    add_notes(parser)
    add_json(parser)


def run(args: argparse.Namespace) -> int:
    asked = ask(Predictions, args)
    if args.chrome_trace:
        asked.chrome_trace(args.chrome_trace)
    if args.json:
        draw.emit(asked.to_json() | ({"chrome_trace": args.chrome_trace} if args.chrome_trace else {}))
        return 0
    rows = asked.rows
    reasons = [*(large["reason"] for large in too_large(rows)), *asked.refused.values()]
    report(asked.graph, rows, reasons, args.ops or 0, args.notes, answer=answer(asked.graph, rows))
    if args.batch is not None:
        comparison_text.variants(asked.variants, "batches")
    if asked.costs:
        show_costs.report(asked.costs)
    if args.chrome_trace:
        draw.say(f"trace: {args.chrome_trace}", draw.GOOD)
    return 0
