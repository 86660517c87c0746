"""`ironlaw coverage`: how much of the time rests on what was measured, over the corpus or for a model of yours."""

from __future__ import annotations

import argparse
import math
from dataclasses import asdict, replace
from functools import partial
from typing import Any

from ironlaw.cli.analyze import CAPTURE_S, setting
from ironlaw.cli.captures import capture_all
from ironlaw.cli.options import Parser, add_fp32, add_json, add_limit, fp32, machines, number_format, size
from ironlaw.cli.show import draw
from ironlaw.cli.show.progress_bar import ProgressBar
from ironlaw.engine.device.machine import Hardware, Plan
from ironlaw.engine.device.predict import predict
from ironlaw.engine.device.uncertainty import PLACES
from ironlaw.errors import BadValue
from ironlaw.registry.corpus_signatures import Corpus, corpus
from ironlaw.registry.loader import folder
from ironlaw.registry.machines import known_local, registered
from ironlaw.report.covered import Example, Survey, of_corpus, shape, survey
from ironlaw.report.model_variants import OWN

EXAMPLE = """
ironlaw coverage
ironlaw coverage --on h200_sxm --dtype fp32 --families 20
ironlaw coverage my.py:model --input 8x3x224x224 --on h200_sxm
"""
LEGEND = (
    "inside: within half a length scale of a measured row; near: within one, or measured in another format; outside: farther, or only"
    " another kind's curve serves it; unknown: no curve at all."
)
FORMATS = ("fp16", "bf16", "fp32")


def add(parser: Parser) -> None:
    parser.usage = "ironlaw coverage [TARGET] [--on HW[,HW]] [options]"
    what = "FILE.py:NAME or hf:CONFIG as for `ironlaw analyze`; without one, the models of the corpus, every one counting the same"
    parser.add_argument("target", metavar="TARGET", nargs="?", help=what)
    parser.add_argument("--on", metavar="HW[,HW]", type=machines, help="machines with a calibration (default: all that were measured)")
    parser.add_argument("--input", metavar="SHAPE[:FMT]", action="append", default=[], help="an argument of the call, as for analyze")
    parser.add_argument("--batch", metavar="N", type=lambda text: (size(text),), help="the first size of every input")
    parser.add_argument("--seq", metavar="N", type=size, help="tokens, for hf: models that take them")
    parser.add_argument("--set", metavar="KEY=VALUE", type=setting, action="append", default=[], help="a config field or factory argument")
    parser.add_argument("--dtype", metavar="FMT", type=number_format, help="the corpus in fp16 (default), bf16, fp32; a target in its own")
    add_fp32(parser)
    parser.add_argument("--training", action="store_true", help="training steps: forward, backward and AdamW")
    parser.add_argument("--mode", choices=("eager", "compiled"), default="eager", help="how a target is run (default eager)")
    parser.add_argument("--families", metavar="N", type=size, default=12, help="the N heaviest families that are not inside (default 12)")
    add_limit(parser, CAPTURE_S, CAPTURE_S)
    add_json(parser)


def run(args: argparse.Namespace) -> int:
    chosen = args.on or measured()
    bare = [machine.slug for machine in chosen if machine.calibration is None]
    if bare:
        raise BadValue(f"{bare[0]} was not measured: all its times are bounds; choose from {', '.join(m.slug for m in measured())}")
    plan = Plan(args.mode, fp32=fp32(args))
    surveys = of_target(args, chosen, plan) if args.target else of_all(args, chosen, plan)
    if args.json:
        machines = [as_json(s, args.families) for s in surveys]
        draw.emit({"target": args.target or "corpus", "mode": args.mode, "machines": machines}, "ironlaw-coverage/1")
    else:
        report(args, surveys)
    return 0


def measured() -> tuple[Hardware, ...]:
    """The machines that have a calibration, this one included where it was measured."""
    here = known_local()
    stored = [registered(path.stem) for path in sorted(folder("calibration").glob("*.json"))]
    return (*stored, *([here] if here is not None and here.calibration is not None else []))


def of_target(args: argparse.Namespace, chosen: tuple[Hardware, ...], plan: Plan) -> list[Survey]:
    args.weights = (OWN,)
    graph = capture_all(args).main
    predictions = [predict(graph, machine, plan) for machine in chosen]
    return [survey([(row.op, float(row.seconds)) for row in p.ops], p.hardware, plan) for p in predictions]


def of_all(args: argparse.Namespace, chosen: tuple[Hardware, ...], plan: Plan) -> list[Survey]:
    if args.mode != "eager":
        raise BadValue("the corpus keeps single operators, and compiling fuses them: leave --mode out, or name a model of yours")
    dtype = args.dtype or "fp16"
    if dtype not in FORMATS:
        raise BadValue(f"--dtype is {dtype}; the corpus is read in {', '.join(FORMATS)}")
    seen = corpus("training" if args.training else "eager").seen
    surveys = []
    with ProgressBar() as bar:
        for machine in chosen:
            timed, refused = of_corpus(seen, machine, plan, dtype, partial(_shown, bar, machine.slug, len(seen)))
            surveys.append(survey(timed, machine, plan, refused))
    return surveys


def _shown(bar: ProgressBar, slug: str, count: int, done: int) -> None:
    if bar.live:  # a log has no use for it
        bar(done / count, slug)


def report(args: argparse.Namespace, surveys: list[Survey]) -> None:
    if args.target:
        draw.heading(args.target, "share of the predicted device time")
    else:
        draw.heading("the corpus", described(corpus("training" if args.training else "eager")))
    rows = [(s.hardware.slug, *(draw.percent(s.shares[place]) for place in PLACES), f"{s.ops:,}") for s in surveys]
    draw.table(["machine", *PLACES, "operators"], rows, left=("machine",))
    for s in surveys:
        families(s, args.families)
        if s.unpredicted:
            draw.say(f"{s.unpredicted:,} operators have no prediction on {s.hardware.slug}, and are not in these shares.", draw.DIM)
    draw.say(LEGEND, draw.DIM)


def described(known: Corpus) -> str:
    models = ", ".join(f"{count:,} of {library}" for library, count in known.models.items())
    return f"{models}; every run counts the same; the signatures shown hold {draw.percent(known.kept)} of the time"


def families(s: Survey, limit: int) -> None:
    if not s.families:
        return
    draw.heading(s.hardware.slug, f"the heaviest of {len(s.families)} families that are not inside")
    cells = [
        (f.kind, f.family, draw.percent(f.share), draw.percent(f.outside), f"{f.count:,}", "\n".join(shape(e.op) for e in f.examples))
        for f in s.families[:limit]
    ]
    columns = ["kind", "family or curve", "share", "outside", "shapes", "such as"]
    draw.table(columns, cells, left=("kind",), text=("family or curve", "such as"))


def as_json(s: Survey, limit: int) -> dict[str, Any]:
    uncovered = [asdict(replace(f, examples=())) | {"examples": [example(e) for e in f.examples]} for f in s.families[:limit]]
    return {"hardware": s.hardware.slug, "shares": s.shares, "operators": s.ops, "unpredicted": s.unpredicted, "uncovered": uncovered}


def example(one: Example) -> dict[str, Any]:
    distance = one.distance if math.isfinite(one.distance) else None
    return {"shape": shape(one.op), "dtype": one.op.dtype, "share": one.share, "distance": distance, "place": one.place}
