"""`ironlaw analyze`: a PyTorch model from a file, or from transformers by its configuration, predicted without running it."""

from __future__ import annotations

import argparse

from ironlaw.cli.options import (
    Parser,
    add_fp32,
    add_host,
    add_json,
    add_limit,
    add_machines,
    add_phases,
    add_set,
    ask,
    checked,
    figure,
    modes,
    number,
    number_format,
    size,
    sizes,
)
from ironlaw.cli.price_options import add_costs
from ironlaw.cli.show import analysis_text as terminal
from ironlaw.cli.show import draw
from ironlaw.engine.device.stored_weights import OWN
from ironlaw.report.analyze import Analyze, read_storage
from ironlaw.systems.captures import CAPTURE_S
from ironlaw.systems.value_readers import read_several

EXAMPLE = """
ironlaw analyze my.py:model --input 8x3x224x224 --on h100_sxm
ironlaw analyze my.py:model --input 8x3x224x224 --on h100_sxm,a100_80gb_sxm --html report.html --per-day 10000 --compile-s 45
ironlaw analyze llama3_8b --prefill 2048 --decode --context 4096 --batch 1,16,64 --on h200_sxm,h100_sxm
ironlaw analyze hf:LlamaConfig --set num_hidden_layers=16 --seq 512 --dtype bf16 --on h200_sxm,a100_80gb_sxm
"""


def add(parser: Parser) -> None:
    parser.usage = "ironlaw analyze TARGET --on HW[,HW] [options]"
    what = (
        "FILE.py:NAME: a module, a class or factory of one, a function (your own training step, too), or an exported program; FILE.pt2;"
        " hf:CONFIG, such as hf:LlamaConfig, or hf:FOLDER with a config.json; or, without PyTorch, a model of the registry or FOLDER"
    )
    parser.add_argument("target", metavar="TARGET", help=what)
    add_machines(parser)
    parser.add_argument(
        "--input",
        metavar="SHAPE[:FMT]",
        action="append",
        default=[],
        help="an argument of the call, such as 8x3x224x224 or 8x128:int64; once for each (else NAME_inputs or example_inputs of the file)",
    )
    parser.add_argument("--batch", metavar="N[,N]", type=sizes, help="the first size of every input; several are shown side by side")
    parser.add_argument("--seq", metavar="N", type=size, help="tokens, for hf: models that take them (default 128)")
    parser.add_argument(
        "--dtype",
        metavar="FMT",
        type=number_format,
        help="fp64, fp32, tf32, fp16 or bf16, or as PyTorch spells them; default: the model's own",
    )
    add_phases(parser.add_argument_group("a language model's phases: one or both of them"))
    add_fp32(parser)
    add_set(parser)
    parser.add_argument(
        "--weights",
        metavar="FMT[,FMT]",
        type=checked(lambda text: read_several(text, read_storage)),
        default=(OWN,),
        help="store the weights of linear layers in int8 or int4 (or own: as they are); several are shown side by side",
    )
    parser.add_argument("--training", action="store_true", help="a training step: forward, backward and AdamW")
    parser.add_argument(
        "--mode",
        metavar="MODE[,MODE]",
        type=modes,
        default=("eager", "compiled", "graphs"),
        help="eager, compiled, graphs (of compiled code; default: these three), eager_graphs (of eager code)",
    )
    parser.add_argument("--ops", metavar="N", type=size, help="the N operators that take most device time (default 8; with --json all)")
    parser.add_argument("--html", metavar="FILE", help="also write a report with pictures and tables: one file, opens offline")
    parser.add_argument(
        "--trace",
        metavar="FILE",
        help="a trace of torch.profiler (.json or .json.gz) of one or more eager runs, to compare with the prediction operator by operator",
    )
    parser.add_argument(
        "--compile-s", metavar="TIME", type=figure("s", zero=True), help="what compiling takes: 30, or '2 min'; else predicted"
    )
    parser.add_argument("--per-day", metavar="N", type=number, help="calls a day: adds the day on which compiling has paid")
    add_limit(parser, CAPTURE_S, CAPTURE_S)
    add_json(parser)
    add_host(parser)
    add_costs(parser)


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
    terminal.report(analysis, args.ops)
    if args.html:
        draw.say(f"report: {args.html}", draw.GOOD)
    return 0
