"""`ironlaw analyze`: a PyTorch model from a file, or from transformers by its configuration, predicted without running it."""

from __future__ import annotations

import argparse
import ast
from collections import Counter
from typing import Any

from ironlaw.cli import draw, sides, traced
from ironlaw.cli.captured import Captured, captured
from ironlaw.cli.options import Parser, add_json, add_machines, checked, figure, modes, number, number_format, size
from ironlaw.cli.predict import as_json, predictions
from ironlaw.cli.predicted import operators, report
from ironlaw.engine.compilation import NEVER
from ironlaw.engine.fusion import fuse
from ironlaw.engine.predict import Prediction, predict
from ironlaw.engine.quantise import STORED
from ironlaw.engine.tree import INDUCTOR
from ironlaw.engine.types import Graph, Plan
from ironlaw.errors import BadValue, unknown
from ironlaw.report.analysis import Analysis, Compiling, Payback, compiling, paybacks
from ironlaw.report.fitting import rooms
from ironlaw.report.kineto import Trace, read
from ironlaw.report.measured import join
from ironlaw.report.paying import verdict
from ironlaw.report.variants import OWN, Variant
from ironlaw.units import show

EXAMPLE = """
ironlaw analyze my.py:model --input 8x3x224x224 --on h100_sxm
ironlaw analyze my.py:model --input 8x3x224x224 --on h100_sxm,a100_80gb_sxm --html report.html --per-day 10000 --compile-s 45
ironlaw analyze hf:LlamaConfig --set num_hidden_layers=16 --seq 512 --dtype bf16 --on h200_sxm,a100_80gb_sxm
"""


def add(parser: Parser) -> None:
    parser.usage = "ironlaw analyze FILE.py:NAME --on HW[,HW] [options]"
    what = "FILE.py:NAME, a module, a class or maker of one, or a function; or hf:CONFIG, such as hf:LlamaConfig"
    parser.add_argument("target", metavar="TARGET", help=what)
    add_machines(parser)
    parser.add_argument(
        "--input",
        metavar="SHAPE[:FMT]",
        action="append",
        default=[],
        help="an argument of the call, such as 8x3x224x224 or 8x128:int64; once for each (else NAME_inputs or example_inputs of the file)",
    )
    parser.add_argument("--batch", metavar="N[,N]", type=sizes, help="the first size of every input; several stand side by side")
    parser.add_argument("--seq", metavar="N", type=size, help="tokens, for hf: models that take them (default 128)")
    parser.add_argument("--dtype", metavar="FMT", type=number_format, help="fp32, fp16 or bf16; default: the model's own")
    parser.add_argument(
        "--set", metavar="KEY=VALUE", type=setting, action="append", default=[], help="of the configuration, or argument of the maker"
    )
    parser.add_argument(
        "--weights",
        metavar="FMT[,FMT]",
        type=storages,
        default=(OWN,),
        help="store the weights of linear layers in int8 or int4 (or own: as they are); several stand side by side",
    )
    parser.add_argument("--training", action="store_true", help="a training step: forward, backward and AdamW")
    parser.add_argument(
        "--mode",
        metavar="MODE[,MODE]",
        type=modes,
        default=("eager", "compiled", "graphs"),
        help="eager, compiled, graphs; all three unless said otherwise",
    )
    parser.add_argument("--ops", metavar="N", type=size, default=8, help="the N operators that take most device time (default 8)")
    parser.add_argument("--html", metavar="FILE", help="also write a report with pictures and tables: one file, opens offline")
    parser.add_argument(
        "--trace",
        metavar="FILE",
        help="a trace of torch.profiler (.json or .json.gz) of one or more eager runs: measured beside predicted, operator by operator",
    )
    parser.add_argument(
        "--compile-s", metavar="TIME", type=figure("s", zero=True), help="what compiling takes: 30, or '2 min'; else predicted"
    )
    parser.add_argument("--per-day", metavar="N", type=number, help="calls a day: adds the day on which compiling has paid")
    add_json(parser)


@checked
def sizes(text: str) -> tuple[int, ...]:
    return tuple(dict.fromkeys(size(part.strip()) for part in text.split(",")))


@checked
def storages(text: str) -> tuple[str, ...]:
    names = tuple(dict.fromkeys(part.strip() for part in text.split(",")))
    for name in names:
        if name not in (OWN, *STORED):
            raise unknown("storage of weights", name, (OWN, *STORED))
    return names


@checked
def setting(text: str) -> tuple[str, Any]:
    key, equals, value = text.partition("=")
    if not key.isidentifier() or not equals:
        raise BadValue(f"{text!r} sets nothing; write KEY=VALUE, such as num_hidden_layers=4")
    try:
        return key, ast.literal_eval(value)
    except (ValueError, SyntaxError):
        return key, value


def run(args: argparse.Namespace) -> int:
    trace = _trace(args)
    seen = captured(args)
    graph = seen.main
    kinds = ("eager",) if args.training else args.mode
    plans = [Plan(mode) for mode in kinds]
    made, refused = predictions(graph, args.on, plans)
    if not made:
        raise BadValue("; ".join(refused.values()))
    found = analysis(args, seen, plans, made, refused, trace)
    if args.html:
        from ironlaw.report.page import write

        write(found, args.html)
    if args.json:
        draw.emit(as_told(args, found))
        return 0
    report(graph, made, list(refused.values()), 0)
    sides.machines(found)
    sides.variants(found)
    operators(made[0], args.ops)
    fused(graph)
    sides.weights(found, seen.own)
    sides.fits(found)
    pays(found)
    if found.joined is not None:
        traced.report(found.joined, args.ops)
    if found.unknown:
        listed = ", ".join(f"{name} ×{count}" for name, count in found.unknown.items())
        draw.say(f"! not known, so counted by their tensors alone: {listed}", draw.BAD)
    if args.html:
        draw.say(f"report: {args.html}", draw.GOOD)
    return 0


def _trace(args: argparse.Namespace) -> Trace | None:
    """Read first: a bad file is said before a large model is captured."""
    return read(args.trace) if args.trace else None


def analysis(
    args: argparse.Namespace, seen: Captured, plans: list[Plan], made: list[Prediction], refused: dict[str, str], trace: Trace | None
) -> Analysis:
    given = None if args.compile_s is None else {p.hardware.slug: Compiling(args.compile_s, "given with --compile-s") for p in made}
    joined = None
    if trace is not None:  # a trace is of an eager run: kernels of a compiled one have no names that an operator has
        first = made[0]
        joined = join(first if first.plan.mode == "eager" else predict(seen.main, first.hardware, Plan("eager")), trace)
    able = list({p.hardware.slug: p.hardware for p in made}.values())
    variants = tuple(
        Variant(batch, fmt, graph, tuple(made) if graph is seen.main else tuple(predict(graph, m, plan) for m in able for plan in plans))
        for (batch, fmt), graph in seen.graphs.items()
    )
    return Analysis(
        seen.main, tuple(made), args.target, refused, compiling(made) if given is None else given, args.per_day, joined,
        variants, rooms(seen.growths, args.on), seen.unsized,
    )  # fmt: skip


def as_told(args: argparse.Namespace, found: Analysis) -> dict[str, Any]:
    graph = found.graph
    told: dict[str, Any] = {"target": args.target, "dtype": graph.dtype, "ops": len(graph.ops), "training": args.training}
    told |= {"unknown": found.unknown, "predictions": [as_json(p, args.ops) for p in found.made]}
    told["weights"] = sides.stored_json(graph)
    told["variants"] = sides.variants_json(found) if len(found.variants) > 1 else []
    told["largest"] = sides.fits_json(found)
    told["refused"] = [{"hardware": slug, "reason": reason} for slug, reason in found.refused.items()]
    told["breakeven"] = [_payback_json(pay) for pay in paybacks(found)]
    if found.joined is not None:
        told["trace"] = traced.as_json(found.joined)
    if args.html:
        told["html"] = args.html
    return told


def _payback_json(pay: Payback) -> dict[str, Any]:
    told: dict[str, Any] = {"hardware": pay.machine.slug, "mode": pay.mode, "saved_per_call_s": pay.saved}
    told["compile_s"] = pay.compiling.seconds if pay.compiling else None
    told["compile_s_is_predicted"] = bool(pay.compiling and pay.compiling.predicted)
    for name in ("calls", "days"):
        value = getattr(pay, name)
        told[name] = "never" if pay.saved <= 0 or value == NEVER else value
    return told


def pays(found: Analysis) -> None:
    """When compiling pays, a line for each machine and mode."""
    for pay in paybacks(found):
        draw.say(f"{pay.machine.slug}: {verdict(pay, found.per_day)}", draw.DIM)


def fused(graph: Graph) -> None:
    """What torch.compile would join, in one line."""
    plan = fuse(graph, INDUCTOR)
    joined = [group for group in plan.groups if len(group.ops) > 1]
    if not joined:
        draw.say("compiling would join nothing: no two neighbours may share a kernel", draw.DIM)
        return
    common = Counter(" + ".join(op.kind for op in group.ops) for group in joined).most_common(1)[0]
    inside = sum(len(group.ops) for group in joined)
    draw.say(
        f"compiling joins {inside:,} of {len(graph.ops):,} operators into {draw.plural(len(joined), 'kernel')}"
        f" and saves {show(plan.bytes_saved, 'B')} of traffic; most often {common[0]} (×{common[1]})",
        draw.DIM,
    )
