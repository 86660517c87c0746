"""`ironlaw predict`: a row per machine and mode, and beneath them the figures that were used."""

from __future__ import annotations

import argparse
from typing import Any

from ironlaw.cli.options import (
    Parser,
    add_fp32,
    add_host,
    add_json,
    add_machines,
    add_settings,
    by_batch,
    fp32,
    launching,
    modes,
    settings,
    size,
)
from ironlaw.cli.price_options import add_costs, known_prices
from ironlaw.cli.show import comparison, draw
from ironlaw.cli.show import costs as show_costs
from ironlaw.cli.show.prediction import report
from ironlaw.engine.device.deployment import last_logits
from ironlaw.engine.device.machine import Hardware, Plan
from ironlaw.engine.device.predict import Prediction
from ironlaw.engine.device.stored_weights import OWN
from ironlaw.engine.device.types import Graph
from ironlaw.errors import BadValue, IronlawError
from ironlaw.report.analysis_text import refusals, variant_dicts
from ironlaw.report.costs import costs
from ironlaw.report.model_variants import Variant
from ironlaw.report.too_large import too_large
from ironlaw.systems.registry_graphs import model

SCHEMA = "ironlaw-predict/1"  # of what --json writes
EXAMPLE = """
ironlaw predict resnet50 --on h100_sxm,t4 --mode eager,compiled
ironlaw predict llama3_8b --on h200_sxm --decode --context 4096 --batch 1,8,64 --ops 5
ironlaw predict resnet50 --on h100_sxm,l40s,a10 --mode graphs --latency 5ms
"""
LADDER = (1, 2, 4, 8, 16, 32, 64, 128, 256)  # batches among which the cheapest within --latency is looked for


def add(parser: Parser) -> None:
    parser.usage = "ironlaw predict WORKLOAD --on HW[,HW] [options]"
    parser.add_argument(
        "workload", metavar="WORKLOAD", help="a model; see `ironlaw workload`. Or a folder with the config.json of a decoder"
    )
    add_machines(parser)
    parser.add_argument(
        "--mode",
        metavar="MODE[,MODE]",
        type=modes,
        default=("eager",),
        help="eager (default), compiled, graphs (of compiled code), eager_graphs (of eager code); several are shown side by side",
    )
    parser.add_argument(
        "--dispatch",
        choices=("queued", "synchronous"),
        default="queued",
        help="whether the host runs ahead (queued, the default) or waits for each kernel",
    )
    parser.add_argument("--uncalibrated", action="store_true", help="the datasheet's figures only: a bound")
    parser.add_argument("--ops", metavar="N", type=size, help="also list the N operators that take most device time (with --json: all)")
    add_fp32(parser)
    add_json(parser)
    add_host(parser)
    add_settings(parser, batches=True)
    add_costs(parser)


def run(args: argparse.Namespace) -> int:
    prices = known_prices(args.on, args.price or {})
    build = model(args.workload)
    chosen = settings(args)
    asks_costs = args.price is not None or args.latency is not None
    graphs = by_batch({"batch": LADDER} | chosen if args.latency is not None else chosen, build)
    if args.prefill is not None:
        graphs = {n: last_logits(each) for n, each in graphs.items()}
    graph = next(iter(graphs.values()))
    plans = [Plan(mode, args.dispatch, not args.uncalibrated, fp32=fp32(args), **launching(args)) for mode in args.mode]
    rows, refused = predictions(graph, args.on, plans)
    if not rows:
        reasons = list(refused.values())
        raise BadValue(reasons[0] if len(reasons) == 1 else f"none of these machines can run {args.workload}: {'; '.join(reasons)}")
    able = tuple({p.hardware.slug: p.hardware for p in rows}.values())
    others = {n: rows if each is graph else predictions(each, able, plans)[0] for n, each in graphs.items()}
    variants = tuple(Variant(n, OWN, graphs[n], tuple(ran)) for n, ran in others.items())
    money = costs(variants, prices, args.latency) if asks_costs else None
    if args.json:
        out = [as_json(p, args.ops) for p in rows]
        about = {"schema": SCHEMA, "workload": graph.name, "dtype": graph.dtype, "settings": dict(graph.settings)}
        draw.emit({
            **about, "predictions": out, "variants": variant_dicts(variants) if len(variants) > 1 else [],
            "refused": refusals(refused), "too_large": too_large(rows), **({"costs": money} if money else {}),
        })  # fmt: skip
    else:
        report(graph, rows, [*(large["reason"] for large in too_large(rows)), *refused.values()], args.ops or 0)
        if args.batch is not None:
            comparison.variants(variants, "batches")
        if money:
            show_costs.report(money)
    return 0


def predictions(graph: Graph, machines: tuple[Hardware, ...], plans: list[Plan]) -> tuple[list[Prediction], dict[str, str]]:
    """What is predicted for each machine, and why some can't run the graph. One whose memory is too small is predicted all the same."""
    from ironlaw import predict

    able: list[Prediction] = []
    refused: dict[str, str] = {}
    for machine in machines:
        try:
            able += [predict(graph, machine, plan) for plan in plans]
        except IronlawError as error:
            refused[machine.slug] = str(error)
    return able, refused


def as_json(p: Prediction, ops: int | None) -> dict[str, Any]:
    return p.to_dict(ops)
