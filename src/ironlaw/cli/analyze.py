"""`ironlaw analyze`: a PyTorch model from a file, or from transformers by its configuration, predicted without running it."""

from __future__ import annotations

import argparse

from ironlaw.cli.options import Parser, add_json, add_notes, add_parameters, ask, size
from ironlaw.cli.show import analysis_text as terminal
from ironlaw.cli.show import draw
from ironlaw.report.analyze import Analyze

EXAMPLE = """
ironlaw analyze my.py:model --input 8x3x224x224 --on h100_sxm
ironlaw analyze my.py:model --input 8x3x224x224 --on h100_sxm,a100_80gb_sxm --html report.html --per-day 10000 --compile-s 45
ironlaw analyze llama3_8b --prefill 2048 --decode --context 4096 --batch 1,16,64 --on h200_sxm,h100_sxm
ironlaw analyze hf:LlamaConfig --set num_hidden_layers=16 --seq 512 --dtype bf16 --on h200_sxm,a100_80gb_sxm
"""


def add(parser: Parser) -> None:
    parser.usage = "ironlaw analyze TARGET --on HW[,HW] [options]"
    add_parameters(parser, Analyze)
    parser.add_argument("--ops", metavar="N", type=size, help="list the N operators that take longest (default 8; all with --json)")
    parser.add_argument("--html", metavar="FILE", help="also write a report with pictures and tables: one file that opens offline")
    add_notes(parser)
    add_json(parser)


def run(args: argparse.Namespace) -> int:
    asked = ask(Analyze, args)
    if args.html:
        from ironlaw.report.report_page import place_of

        place_of(args.html, asked.sources)
    analysis = asked.analysis()
    if args.html:
        from ironlaw.report.report_page import write

        write(analysis, args.html, asked.sources)
    if args.json:
        draw.emit(analysis.to_dict(args.ops) | ({"html": args.html} if args.html else {}))
        return 0
    terminal.report(analysis, args.ops, args.notes)
    if args.html:
        draw.say(f"report: {args.html}", draw.GOOD)
    return 0
