"""`ironlaw coverage`: how much of the time rests on what was measured, over the corpus or for a model of yours."""

from __future__ import annotations

import argparse
import math
from dataclasses import asdict, dataclass, replace
from functools import partial
from itertools import product
from typing import TYPE_CHECKING, Any

from ironlaw.cli.options import Parser, add_json, add_limit, add_parameters, add_set, checked, machines, modes, number_format, size, sizes
from ironlaw.cli.show import draw
from ironlaw.cli.show.progress_bar import ProgressBar
from ironlaw.engine.device.machine import Hardware, Plan
from ironlaw.engine.device.predict import predict
from ironlaw.engine.device.stored_weights import OWN
from ironlaw.engine.device.uncertainty import PLACES
from ironlaw.errors import BadValue
from ironlaw.registry.corpus_signatures import Corpus, corpus
from ironlaw.registry.loader import folder
from ironlaw.registry.machines import known_local, registered
from ironlaw.report.covered import Example, Survey, of_corpus, shape, survey
from ironlaw.systems.captures import CAPTURE_S, capture_all
from ironlaw.systems.workload_settings import Products, fp32

if TYPE_CHECKING:
    from ironlaw.outputs.measurement_output import UncoveredShape

EXAMPLE = """
ironlaw coverage
ironlaw coverage --on h200_sxm --dtype fp32 --families 20
ironlaw coverage my.py:model --input 8x3x224x224 --on h200_sxm --batch 1,8 --mode eager,compiled
"""
LEGEND = (
    "inside: close to a measured shape (within half a length scale). near: within one, or measured in another format. outside: farther, or"
    " only another kind of operator was measured. unknown: nothing like it was measured."
)
FORMATS = ("fp16", "bf16", "fp32")


@checked
def ways(text: str) -> tuple[str, ...]:
    """Modes in which kernels differ."""
    chosen: tuple[str, ...] = modes(text)
    if not set(chosen) <= {"eager", "compiled"}:
        raise BadValue(f"{text!r} names graphs, which only replay the kernels of eager or compiled code; give eager or compiled")
    return chosen


def add(parser: Parser) -> None:
    parser.usage = "ironlaw coverage [TARGET] [--on HW[,HW]] [options]"
    what = "FILE.py:NAME or hf:CONFIG, as for `ironlaw analyze`; without one, all models of the corpus with equal weight"
    parser.add_argument("target", metavar="TARGET", nargs="?", help=what)
    parser.add_argument("--on", metavar="HW[,HW]", type=machines, help="measured machines (default: all of them)")
    parser.add_argument("--input", metavar="SHAPE[:FMT]", action="append", default=[], help="shape of an input, as for analyze")
    parser.add_argument(
        "--batch", metavar="N[,N]", type=sizes, help="batch size, the first dimension of every input; several are shown side by side"
    )
    parser.add_argument("--seq", metavar="N", type=size, help="tokens per sequence, for hf: models that take tokens")
    add_set(parser)
    parser.add_argument(
        "--dtype",
        metavar="FMT",
        type=number_format,
        help="number format of the corpus: fp16 (default), bf16 or fp32; a target keeps its own",
    )
    add_parameters(parser, Products)
    parser.add_argument("--training", action="store_true", help="training steps: forward, backward and AdamW")
    parser.add_argument(
        "--mode", metavar="MODE[,MODE]", type=ways, default=("eager",), help="how a target is run: eager (default), compiled"
    )
    parser.add_argument(
        "--families",
        metavar="N",
        type=size,
        default=12,
        help="list the N heaviest families that lie outside what was measured (default 12)",
    )
    add_limit(parser, CAPTURE_S, CAPTURE_S)
    add_json(parser)


@dataclass(frozen=True)
class Case:
    """A survey, and what it is of. `batch`: where one was asked for."""

    survey: Survey
    mode: str = "eager"
    batch: int | None = None

    def name(self, others: list[Case]) -> str:
        """The case's machine, with the batch and the mode where the others differ in them."""
        batch = f", batch {self.batch}" if len({case.batch for case in others}) > 1 else ""
        return f"{self.survey.hardware.slug}{batch}" + (f", {self.mode}" if len({case.mode for case in others}) > 1 else "")


def run(args: argparse.Namespace) -> int:
    chosen = args.on or measured()
    bare = [machine.slug for machine in chosen if machine.calibration is None]
    if bare:
        raise BadValue(
            f"{bare[0]} was not measured, so all its times are estimates or bounds; choose from {', '.join(m.slug for m in measured())}"
        )
    cases = of_target(args, chosen) if args.target else of_all(args, chosen)
    if args.json:
        machines = [as_json(case, args.families) for case in cases]
        draw.emit({"target": args.target or "corpus", "mode": ",".join(args.mode), "machines": machines}, "ironlaw-coverage/1")
    else:
        report(args, cases)
    return 0


def measured() -> tuple[Hardware, ...]:
    """The machines that have a calibration, this one included where it was measured."""
    here = known_local()
    stored = [registered(path.stem) for path in sorted(folder("calibration").glob("*.json"))]
    return (*stored, *([here] if here is not None and here.calibration is not None else []))


def of_target(args: argparse.Namespace, chosen: tuple[Hardware, ...]) -> list[Case]:
    args.weights = (OWN,)
    products, cases = fp32(args), []
    for (batch, _), graph in capture_all(args).graphs.items():
        for machine, mode in product(chosen, args.mode):
            plan = Plan(mode, fp32=products)
            rows = predict(graph, machine, plan).ops
            cases.append(Case(survey([(row.op, float(row.seconds)) for row in rows], machine, plan), mode, batch))
    return cases


def of_all(args: argparse.Namespace, chosen: tuple[Hardware, ...]) -> list[Case]:
    if args.mode != ("eager",):
        raise BadValue("the corpus holds single operators, but compiling fuses them; leave --mode out, or name a model of yours")
    if args.batch:
        raise BadValue("the models of the corpus have their own batch sizes; leave --batch out, or name a model of yours")
    plan, dtype = Plan(fp32=fp32(args)), args.dtype or "fp16"
    if dtype not in FORMATS:
        raise BadValue(f"--dtype is {dtype}; the corpus is read in {', '.join(FORMATS)}")
    seen = corpus("training" if args.training else "eager").seen
    cases = []
    with ProgressBar() as bar:
        for machine in chosen:
            timed, refused = of_corpus(seen, machine, plan, dtype, partial(_shown, bar, machine.slug, len(seen)))
            cases.append(Case(survey(timed, machine, plan, refused)))
    return cases


def _shown(bar: ProgressBar, slug: str, count: int, done: int) -> None:
    if bar.live:  # a log has no use for it
        bar(done / count, slug)


def report(args: argparse.Namespace, cases: list[Case]) -> None:
    if args.target:
        draw.heading(args.target, "share of the predicted device time")
    else:
        draw.heading("the corpus", described(corpus("training" if args.training else "eager")))
    named = [(case.name(cases), case.survey) for case in cases]
    for name, s in named:
        inside, outside = draw.percent(s.shares[PLACES[0]]), draw.percent(s.shares[PLACES[2]])
        draw.say(f"On {name}, {inside} of the time is in operators close to a measured shape, and {outside} is outside what was measured.")
    rows = [(name, *(draw.percent(s.shares[place]) for place in PLACES), f"{s.ops:,}") for name, s in named]
    draw.table(["machine", *PLACES, "operators"], rows, left=("machine",))
    for name, s in named:
        families(name, s, args.families)
        if s.unpredicted:
            draw.say(f"{s.unpredicted:,} operators have no prediction on {s.hardware.slug} and are left out of these shares.", draw.DIM)
    draw.say(LEGEND, draw.DIM)


def described(known: Corpus) -> str:
    models = ", ".join(f"{count:,} of {library}" for library, count in known.models.items())
    return f"{models}; every run counts the same, and the operators that are stored take {draw.percent(known.kept)} of the time"


def families(name: str, s: Survey, limit: int) -> None:
    if not s.families:
        return
    draw.heading(name, f"the heaviest of {len(s.families)} families of operators outside what was measured")
    most = None if draw.width() >= draw.WIDE else 1  # several examples in a narrow column can't be told apart
    shown = [(f, "\n".join(shape(e.op) for e in f.examples[:most])) for f in s.families[:limit]]
    cells = [(f.kind, f.family, draw.percent(f.share), draw.percent(f.outside), f"{f.count:,}", such) for f, such in shown]
    columns = ["kind", "family or curve", "share", "outside", "shapes", "such as"]
    draw.table(columns, cells, left=("kind",), text=("family or curve", "such as"))


def as_json(case: Case, limit: int) -> dict[str, Any]:
    s = case.survey
    uncovered = [asdict(replace(f, examples=())) | {"examples": [example(e) for e in f.examples]} for f in s.families[:limit]]
    about = {"hardware": s.hardware.slug, "mode": case.mode, "batch": case.batch}
    return about | {"shares": s.shares, "operators": s.ops, "unpredicted": s.unpredicted, "uncovered": uncovered}


def example(one: Example) -> UncoveredShape:
    distance = one.distance if math.isfinite(one.distance) else None
    return {"shape": shape(one.op), "dtype": one.op.dtype, "share": one.share, "distance": distance, "place": one.place}
