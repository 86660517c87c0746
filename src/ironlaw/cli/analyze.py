"""`ironlaw analyze`: a PyTorch model from a file, or from transformers by its configuration, predicted without running it."""

from __future__ import annotations

import argparse
from dataclasses import replace
from typing import Any

from ironlaw.cli.options import (
    Parser,
    add_fp32,
    add_host,
    add_json,
    add_limit,
    add_machines,
    add_phases,
    add_set,
    checked,
    figure,
    fp32,
    launching,
    modes,
    number,
    number_format,
    size,
    sizes,
)
from ironlaw.cli.predict import predictions
from ironlaw.cli.price_options import add_costs, known_prices
from ironlaw.cli.show import analysis as terminal
from ironlaw.cli.show import draw
from ironlaw.engine.device.machine import Plan
from ironlaw.engine.device.predict import Prediction, predict
from ironlaw.engine.device.stored_weights import OWN, STORED
from ironlaw.errors import BadValue, unknown
from ironlaw.report.analysis import Analysis, Compiling, compiling
from ironlaw.report.costs import costs
from ironlaw.report.kineto import Trace, read
from ironlaw.report.language import Language, Phase
from ironlaw.report.model_variants import Variant
from ironlaw.report.trace_join import join
from ironlaw.systems.captures import CAPTURE_S, Captures, capture_phases, file_of
from ironlaw.systems.largest_sizes import capacities
from ironlaw.systems.registry_graphs import as_captured, build_all, is_ours

EXAMPLE = """
ironlaw analyze my.py:model --input 8x3x224x224 --on h100_sxm
ironlaw analyze my.py:model --input 8x3x224x224 --on h100_sxm,a100_80gb_sxm --html report.html --per-day 10000 --compile-s 45
ironlaw analyze llama3_8b --prefill 2048 --decode --context 4096 --batch 1,16,64 --on h200_sxm,h100_sxm
ironlaw analyze hf:LlamaConfig --set num_hidden_layers=16 --seq 512 --dtype bf16 --on h200_sxm,a100_80gb_sxm
"""


CONTEXT = 512  # tokens in the cache where nothing is said


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
        type=storages,
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


@checked
def storages(text: str) -> tuple[str, ...]:
    names = tuple(dict.fromkeys(part.strip() for part in text.split(",")))
    for name in names:
        if name not in (OWN, *STORED):
            raise unknown("storage of weights", name, (OWN, *STORED))
    return names


def run(args: argparse.Namespace) -> int:
    args.target = as_captured(args.target)
    sources = inputs(args)
    if args.html:
        from ironlaw.report.page import place_of

        place_of(args.html, sources)
    prices = known_prices(args.on, args.price or {})
    profile = read(args.trace) if args.trace else None  # these first: a bad file is reported before a large model is captured
    lengths = phases(args)
    captured = build_all(args, lengths) if is_ours(args.target) else capture_phases(args, lengths)
    captures = captured[list(captured)[-1]]
    graph = captures.main
    plans = [Plan(mode, fp32=fp32(args), **launching(args)) for mode in (("eager",) if args.training else args.mode)]
    runs, refused = predictions(graph, args.on, plans)
    if not runs:
        raise BadValue("; ".join(refused.values()))
    analysis = analyse(args, captures, plans, runs, refused, profile)
    if lengths:
        analysis = replace(analysis, language=language_of(captured, lengths, plans, analysis))
    if args.price is not None or args.latency is not None:
        per_hour = {slug: price.per_hour for slug, price in prices.items()}
        analysis = replace(analysis, prices=per_hour, costs=costs(analysis.variants, prices, args.latency))
    if args.html:
        from ironlaw.report.page import write

        write(analysis, args.html, sources)
    if args.json:
        draw.emit(as_json(args, analysis))
        return 0
    terminal.report(analysis, args.ops, captures.own)
    if args.html:
        draw.say(f"report: {args.html}", draw.GOOD)
    return 0


def phases(args: argparse.Namespace) -> dict[str, int]:
    """The phases that were asked for, the prompt first, and how long each is."""
    if args.prefill is None and not args.decode:
        if args.context is not None:
            raise BadValue("--context is how many tokens the cache holds; add --decode for a step after them")
        return {}
    for name in ("training", "seq", "input"):
        if getattr(args, name):
            raise BadValue(f"--{name} does not go with --prefill and --decode, which say what goes in; leave it out")
    if not args.target.startswith("hf:") and not is_ours(args.target):
        raise BadValue(
            f"{args.target} says itself what goes into it; --prefill and --decode are for a model of the registry, hf:CONFIG such as"
            " hf:LlamaConfig, or a folder with a config.json. Give your own step its cache as an input"
        )
    lengths = {"prefill": args.prefill} if args.prefill is not None else {}
    return lengths | ({"decode": args.context or args.prefill or CONTEXT} if args.decode else {})


def language_of(captured: dict[str, Captures], lengths: dict[str, int], plans: list[Plan], analysis: Analysis) -> Language:
    """What the phases take on the machines that can run them; those of the last phase are predicted already."""
    every = []
    for name, captures in captured.items():
        batches: dict[int, tuple[Prediction, ...]] = {}
        for (batch, _), graph in captures.graphs.items():
            known = next((v.predictions for v in analysis.variants if v.graph is graph), None)
            batches.setdefault(batch or 1, known or tuple(predict(graph, m, plan) for m in analysis.machines for plan in plans))
        growth = next((curve for curve in captures.growths if curve.what == "batch"), None)
        every.append(Phase(name, lengths[name], captures.kept or 0.0, batches, growth))
    return Language(tuple(every))


def inputs(args: argparse.Namespace) -> list[str]:
    """The files that are read, and may not be written over."""
    own = [] if args.target.startswith("hf:") or is_ours(args.target) else [file_of(args.target)]
    return [*own, *([args.trace] if args.trace else [])]


def analyse(
    args: argparse.Namespace,
    captures: Captures,
    plans: list[Plan],
    runs: list[Prediction],
    refused: dict[str, str],
    profile: Trace | None,
) -> Analysis:
    if args.compile_s is None:
        cost = compiling(runs)
    else:
        cost = {p.hardware.slug: Compiling(args.compile_s, "given with --compile-s") for p in runs}
    joined = None
    if profile is not None:  # a trace is of an eager run: kernels of a compiled one have no names that an operator has
        first = runs[0]
        joined = join(predict(captures.main, first.hardware, replace(first.plan, mode="eager")), profile)
    able = list({p.hardware.slug: p.hardware for p in runs}.values())
    variants = tuple(
        Variant(
            batch, fmt, graph, tuple(runs) if graph is captures.main else tuple(predict(graph, m, plan) for m in able for plan in plans)
        )
        for (batch, fmt), graph in captures.graphs.items()
    )
    return Analysis(
        captures.main, tuple(runs), args.target, refused, cost, args.per_day, joined, variants,
        capacities(captures.growths, args.on), captures.unsized,
        sources=captures.sources,
    )  # fmt: skip


def as_json(args: argparse.Namespace, analysis: Analysis) -> dict[str, Any]:
    out = analysis.to_dict(args.ops)
    if analysis.costs is not None:
        out["costs"] = analysis.costs
    if args.html:
        out["html"] = args.html
    return out
