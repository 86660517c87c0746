"""`ironlaw memory`: where the bytes of a training step go, what fits, and what each change would free."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from ironlaw.cli.analyze import CAPTURE_S, setting
from ironlaw.cli.options import Parser, add_json, add_limit, checked, machines, size, sizes
from ironlaw.cli.show import draw, training_memory
from ironlaw.engine.device.types import Graph
from ironlaw.engine.training.growth import Growth
from ironlaw.engine.training.layers import layers
from ironlaw.engine.training.ledger import ROWS, Ledger
from ironlaw.engine.training.recipes import OPTIMISERS, RECIPES
from ironlaw.engine.training.setup import ATTENTION, Setup, growth, ledger, levers
from ironlaw.errors import BadValue, IronlawError, unknown

SCHEMA = "ironlaw-memory/1"  # of what --json writes
EXAMPLE = """
ironlaw memory gpt2 --batch 8 --seq 1024 --on rtx_4090
ironlaw memory llama3_2_1b --batch 4 --seq 2048 --recipe mixed --checkpoint all --loss-chunks 8 --on rtx_4090,a100_80gb_sxm
ironlaw memory my.py:model --input 8x3x224x224 --recipe autocast --on t4
"""


@checked
def checkpoints(text: str) -> int | str:
    if text.strip().lower() == "all":
        return "all"
    if not text.strip().isdigit():
        raise BadValue(f"{text!r} is not a number of segments; write one such as 4, or all for every layer")
    return int(text)


def one_of(what: str, known: Any) -> Callable[[str], str]:
    def read(text: str) -> str:
        if text not in known:
            raise unknown(what, text, known)
        return text

    return checked(read)


def add(parser: Parser) -> None:
    parser.usage = "ironlaw memory WORKLOAD|FILE.py:NAME [options]"
    parser.add_argument(
        "target", metavar="TARGET", help="a model; see `ironlaw workload`. Or FILE.py:NAME or hf:CONFIG, as `ironlaw analyze` takes them"
    )
    parser.add_argument("--on", metavar="HW[,HW]", type=machines, default=(), help="machines that it should fit; see `ironlaw hardware`")
    parser.add_argument("--recipe", metavar="NAME", type=one_of("training recipe", RECIPES), default="fp32", help=", ".join(RECIPES))
    parser.add_argument("--optimiser", metavar="NAME", type=one_of("optimiser", OPTIMISERS), default="adamw", help=", ".join(OPTIMISERS))
    parser.add_argument(
        "--batch", metavar="N[,N]", type=sizes, help="samples of one micro-batch (default: the model's); several are shown side by side"
    )
    parser.add_argument("--seq", metavar="N", type=size, help="tokens per sequence")
    parser.add_argument("--accumulate", metavar="N", type=size, default=1, help="micro-batches an update")
    parser.add_argument("--checkpoint", metavar="N|all", type=checkpoints, default=0, help="recompute N segments of layers, or all of them")
    parser.add_argument("--loss-chunks", metavar="N", type=size, default=1, help="the loss over 1/N of the rows at a time")
    parser.add_argument("--attention", choices=ATTENTION, default="fused", help="one kernel (default), or three that store the scores")
    parser.add_argument("--zero", metavar="STAGE", type=int, default=0, help="ZeRO's stage, 0 to 3, over --devices")
    parser.add_argument("--devices", metavar="N", type=size, default=1, help="devices that share with ZeRO")
    parser.add_argument("--offload", action="store_true", help="optimiser and master copy lie in the host's memory")
    parser.add_argument("--input", metavar="SHAPE[:FMT]", action="append", default=[], help="an argument of FILE.py:NAME's call")
    parser.add_argument("--set", metavar="KEY=VALUE", type=setting, action="append", default=[], help="a config field or factory argument")
    add_limit(parser, CAPTURE_S, CAPTURE_S)
    add_json(parser)


def run(args: argparse.Namespace) -> int:
    if args.devices > 1 and not args.zero:
        raise BadValue("--devices share nothing at stage 0; add --zero 1, 2 or 3")
    batches, args.batch = args.batch or (), args.batch[0] if args.batch else None
    build, batch = source(args)
    graph = build(batch, RECIPES[args.recipe].dtype)
    count = len(layers(graph)) if args.checkpoint == "all" else args.checkpoint
    setup = Setup(
        args.recipe, args.optimiser, batch, args.accumulate, count, args.loss_chunks, args.attention, args.zero, args.devices, args.offload
    )
    result = answer(args, build, graph, setup)
    result["variants"] = [_at(build, replace(setup, batch=n), args.on) for n in batches] if len(batches) > 1 else []
    draw.emit(result) if args.json else training_memory.report(result)
    return 0


def source(args: argparse.Namespace) -> tuple[Callable[[int, str], Graph], int]:
    """How to build the forward pass at any batch, and the batch that is asked for."""
    if ":" in args.target or args.target.endswith(".pt2"):
        return captured(args)
    from ironlaw.registry.workloads import workload

    if args.input or args.set:
        raise BadValue("--input and --set are for FILE.py:NAME; a model of the registry takes --batch and --seq")
    settings = {"seq": args.seq} if args.seq else {}
    batch = args.batch or workload(args.target, **settings).settings["batch"]
    return lambda n, dtype: workload(args.target, batch=n, dtype=dtype, **settings), batch


def captured(args: argparse.Namespace) -> tuple[Callable[[int, str], Graph], int]:
    """A module of the user's, at its own batch (and others, as they are asked for), in the recipe's format."""
    from ironlaw.cli.captures import capture_all
    from ironlaw.report.model_variants import OWN

    graphs: dict[int, Graph] = {}

    def capture(batch: int | None) -> Graph:
        asked = argparse.Namespace(
            target=args.target, input=args.input, batch=(batch,) if batch else None, dtype=RECIPES[args.recipe].dtype, seq=args.seq,
            training=False, set=args.set, weights=(OWN,), limit=args.limit,
        )  # fmt: skip
        return capture_all(asked).main

    own = capture(args.batch)
    first = next((t.shape[0] for t in own.tensors.values() if t.role == "input" and t.shape), 1)
    batch = args.batch or int(first)
    graphs[batch] = own

    def build(n: int, dtype: str) -> Graph:
        if dtype != RECIPES[args.recipe].dtype:
            raise BadValue(f"{args.target} was captured in {RECIPES[args.recipe].dtype}; ask for the other recipe with --recipe")
        if n not in graphs:
            graphs[n] = capture(n)
        return graphs[n]

    return build, batch


def answer(args: argparse.Namespace, build: Callable[[int, str], Graph], graph: Graph, setup: Setup) -> dict[str, Any]:
    now = ledger(build, setup)
    grown = _growth(build, setup)
    result: dict[str, Any] = {
        "schema": SCHEMA, "target": args.target, "parameters": graph.params, "batch": setup.batch, "seq": graph.settings.get("seq"),
        "recipe": setup.recipe, "optimiser": setup.optimiser, "checkpoint": setup.checkpoint, "loss_chunks": setup.loss_chunks,
        "accumulate": setup.accumulate, "attention": setup.attention, "zero_stage": setup.zero_stage, "devices": setup.devices,
        "offload": setup.offload, "weight_bytes": now.static.weights, "static_bytes": now.static.total, "kept_bytes": now.kept,
        "peak_bytes": now.peak, "peak_phase": now.peak_at.phase, "peak_op": now.peak_at.op,
        "rows": [{"row": row, "at_peak_bytes": now.at_peak(row), "most_bytes": now.rows[row]} for row in ROWS],
        "phases": {phase: max(m.total for m in now.profile if m.phase == phase) for phase in dict.fromkeys(m.phase for m in now.profile)},
    }  # fmt: skip
    result["machines"] = [_fit(machine, now, grown) for machine in args.on]
    result["levers"] = _levers(build, graph, setup, now)
    return result


def _at(build: Callable[[int, str], Graph], setup: Setup, machines: Any) -> dict[str, Any]:
    """The same step at another batch."""
    now = ledger(build, setup)
    return {
        "batch": setup.batch, "static_bytes": now.static.total, "kept_bytes": now.kept, "peak_bytes": now.peak,
        "fits": {machine.slug: now.fits(machine.usable) for machine in machines},
    }  # fmt: skip


def _growth(build: Callable[[int, str], Graph], setup: Setup) -> Growth | None:
    """None where the model can't run at a batch of one or two, or runs other ops there."""
    try:
        return growth(build, setup)
    except IronlawError:
        return None


def _fit(machine: Any, now: Ledger, grown: Growth | None) -> dict[str, Any]:
    usable = machine.usable
    return {
        "hardware": machine.slug, "usable_bytes": usable, "fits": now.fits(usable), "headroom_bytes": usable - now.peak,
        "static_fits": now.static.total <= usable, "largest_batch": None if grown is None else grown.largest(usable),
    }  # fmt: skip


def _levers(build: Callable[[int, str], Graph], graph: Graph, setup: Setup, now: Ledger) -> list[dict[str, Any]]:
    rows = []
    for name, other in levers(graph, setup):
        try:
            peak = ledger(build, replace(other)).peak
        except IronlawError:  # a captured model is in one format, and may refuse another batch
            continue
        rows.append({"lever": name, "peak_bytes": peak, "frees_bytes": now.peak - peak})
    return sorted(rows, key=lambda one: -one["frees_bytes"])
