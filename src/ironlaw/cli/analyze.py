"""`ironlaw analyze`: a PyTorch model from a file, or from transformers by its configuration, predicted without running it."""

from __future__ import annotations

import argparse
import gc

from ironlaw.cli.options import Parser, add_chrome_trace, add_json, add_notes, add_parameters, ask, size
from ironlaw.cli.show import analysis_text as terminal
from ironlaw.cli.show import draw
from ironlaw.report.analyze_question import Analyze

EXAMPLE = """
ironlaw analyze train.py --on h100_sxm -- --batch-size 64
ironlaw analyze my.py:model --input 8x3x224x224 --on h100_sxm
ironlaw analyze my.py:model --input 8x3x224x224 --on h100_sxm,a100_80gb_sxm --html report.html --per-day 10000 --compile-s 45
ironlaw analyze llama3_8b --prefill 2048 --decode --context 4096 --batch 1,16,64 --on h200_sxm,h100_sxm
ironlaw analyze hf:LlamaConfig --set num_hidden_layers=16 --seq 512 --dtype bf16 --on h200_sxm,a100_80gb_sxm
"""


def add(parser: Parser) -> None:
    parser.usage = "ironlaw analyze TARGET --on HW[,HW] [options] [-- ARGUMENTS OF A SCRIPT]"
    parser.after = "arguments"
    add_parameters(parser, Analyze, leave=("arguments",))
    parser.add_argument("--ops", metavar="N", type=size, help="list the N operators that take longest (default 8; all with --json)")
    parser.add_argument("--html", metavar="FILE", help="also write a report with pictures and tables: one file that opens offline")
    add_chrome_trace(parser)
    add_notes(parser)
    add_json(parser)


SELDOM = 200_000, 20, 100  # graphs are many values that stay: the collector need not look through them again and again


def run(args: argparse.Namespace) -> int:
    gc.set_threshold(*SELDOM)
    asked = ask(Analyze, args)
    if args.html:
        from ironlaw.report.report_page import place_of

        place_of(args.html, asked.sources)
    if args.chrome_trace:
        from ironlaw.report.chrome_trace import place_of as trace_place

        trace_place(args.chrome_trace, asked.sources)
    analysis = asked.analysis()
    if args.chrome_trace:
        analysis.chrome_trace(args.chrome_trace, asked.sources)
    if args.html:
        from ironlaw.report.report_page import write

        write(analysis, args.html, asked.sources)
    if args.json:
        written = {"html": args.html, "chrome_trace": args.chrome_trace}
        draw.emit(analysis.to_dict(args.ops) | {name: place for name, place in written.items() if place})
        return 0
    terminal.report(analysis, args.ops, args.notes)
    if args.html:
        draw.say(f"report: {args.html}", draw.GOOD)
    if args.chrome_trace:
        draw.say(f"trace: {args.chrome_trace}", draw.GOOD)
    return 0
