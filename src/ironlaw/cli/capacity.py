"""`ironlaw capacity`: the fewest devices that serve some traffic within an SLO, the cheapest of them, and the bottleneck."""

from __future__ import annotations

import argparse
import gc
from pathlib import Path

from ironlaw.cli.options import Parser, add_json, add_notes, add_parameters, ask
from ironlaw.cli.show import draw, serving_text
from ironlaw.cli.show.progress_bar import ProgressBar
from ironlaw.systems.questions.capacity import Capacity

EXAMPLE = """
ironlaw capacity llama3_8b --on h100,h200 --rate 20 --prompt 1155 --output 211 --ttft 1s --tbt 50ms --price h100=2.5,h200=3.5
ironlaw capacity llama3_8b --on h200 --trace azure_chat_2023 --rate 10 --cache fp8 --simulate
ironlaw capacity llama3_8b --on h200 --rate 30 --acceptance 0.7 --prefix 500 --tbt 20ms
"""
YOUNG = 200_000  # objects before the collector looks: a run writes down hundreds of thousands, none of them in a circle
SOON = 3.0  # seconds that nobody minds waiting without a word


def add(parser: Parser) -> None:
    parser.usage = "ironlaw capacity MODEL --on HW[,HW] (--rate N | --trace NAME|FILE) [options]"
    add_parameters(parser, Capacity)
    parser.add_argument("--html", metavar="FILE", help="also write a page with pictures and the run over time: one file that opens offline")
    add_notes(parser)
    add_json(parser)


def run(args: argparse.Namespace) -> int:
    read = [args.trace] if args.trace and Path(args.trace).is_file() else []  # files that may not be written over
    if args.html:
        from ironlaw.report.report_page import place_of

        place_of(args.html, read)  # a bad place is reported before the search begins
    asked = ask(Capacity, args, simulate=args.simulate or bool(args.html))
    before = gc.get_threshold()
    gc.set_threshold(YOUNG, *before[1:])
    try:
        with ProgressBar(after=SOON) as progress:
            result = asked.answered(progress)
    finally:
        gc.set_threshold(*before)
    if args.html:
        from ironlaw.report.report_page import put
        from ironlaw.report.serving_page import html

        put(html(result), args.html, read)
    draw.emit(asked.to_json()) if args.json else serving_text.report(result, args.notes)
    return 0 if result["choices"] else 1
