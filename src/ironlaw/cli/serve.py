"""`ironlaw serve`: the fewest devices that keep a promise under a load of requests, the cheapest of them, and what binds."""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path
from typing import Any

from ironlaw.cli.options import Parser, add_json, add_machines, checked, figure, number, size
from ironlaw.cli.price_options import add_price, known_prices
from ironlaw.cli.serving.load import load_of
from ironlaw.cli.serving.question import Search
from ironlaw.cli.serving.search import search
from ironlaw.cli.show import draw, serving
from ironlaw.engine.serving.llm.policy import PREEMPTIONS, SCHEDULES
from ironlaw.engine.serving.llm.promise import Promise
from ironlaw.errors import BadValue, unknown
from ironlaw.formats import FORMATS, spelled
from ironlaw.systems.serving.deployments import STORED, USUAL

EXAMPLE = """
ironlaw serve llama3_8b --on h100,h200 --rate 20 --prompt 1155 --output 211 --ttft 1s --tbt 50ms --price h100=2.5,h200=3.5
ironlaw serve llama3_8b --on h200 --trace azure_chat_2023 --rate 10 --cache fp8 --simulate
ironlaw serve llama3_8b --on h200 --rate 30 --acceptance 0.7 --prefix 500 --tbt 20ms
"""
LENGTHS = (1, 2, 4, 8)  # proposed tokens that are tried where only their acceptance is known


@checked
def columns(text: str) -> dict[str, str]:
    table = {}
    for entry in text.split(","):
        ours, equals, theirs = (part.strip() for part in entry.partition("="))
        if ours not in ("arrival", "prompt", "output") or not equals or not theirs:
            raise BadValue(f"{entry.strip()!r} does not name a column; write arrival=NAME, prompt=NAME or output=NAME")
        table[ours] = theirs
    return table


@checked
def stored(text: str) -> str:
    name = spelled(text.lower())
    if name not in STORED:
        raise unknown("format to store numbers in", text, STORED)
    return FORMATS[name].name


@checked
def whole(text: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise BadValue(f"{text!r} is not a whole number; write one such as 1") from None


@checked
def percentile(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0 < value < 100:
        raise BadValue(f"{text!r} is not a percentile; write one between 0 and 100, such as 99")
    return value


@checked
def spread(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 <= value <= 100:
        raise BadValue(f"{text!r} is not a spread; write deviation over mean, such as 1, or 0 for all alike")
    return value


@checked
def acceptance(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 <= value <= 1:
        raise BadValue(f"{text!r} is not a share of proposed tokens; write one from 0 to 1, such as 0.7")
    return value


@checked
def share(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0 < value <= 1:
        raise BadValue(f"{text!r} is not a share; write one above 0 and at most 1, such as 0.9")
    return value


def add(parser: Parser) -> None:
    parser.usage = "ironlaw serve MODEL --on HW[,HW] (--rate N | --trace NAME|FILE) [options]"
    parser.add_argument("model", metavar="MODEL", help="a decoder of the registry, or a folder with the config.json of one")
    add_machines(parser)
    load = parser.add_argument_group("the load")
    load.add_argument("--rate", metavar="N", type=number, help="requests a second; with --trace: the same requests at this rate")
    load.add_argument("--trace", metavar="NAME|FILE", help="azure_chat_2023, azure_code_2023, or a CSV file: arrival, prompt, output")
    load.add_argument("--columns", metavar="A=B[,…]", type=columns, default={}, help="what a file calls arrival, prompt and output")
    load.add_argument("--prompt", metavar="N", type=size, help=f"tokens of a prompt, on average (default {USUAL[0]:,})")
    load.add_argument("--output", metavar="N", type=size, help=f"tokens of an answer, on average (default {USUAL[1]:,})")
    load.add_argument("--spread", metavar="CV", type=spread, help="of both: deviation over mean; 0: all alike (default 1)")
    load.add_argument("--requests", metavar="N", type=size, help="how many are drawn (default: as many as the replicas need)")
    load.add_argument("--seed", metavar="N", type=whole, default=0, help="another draw of the same load")
    promise = parser.add_argument_group("the promise")
    promise.add_argument("--ttft", metavar="TIME", type=figure("s"), default=1.0, help="time to first token (default 1 s)")
    promise.add_argument("--tbt", metavar="TIME", type=figure("s"), default=0.05, help="time between tokens (default 50 ms)")
    promise.add_argument("--percentile", metavar="P", type=percentile, default=99.0, help="of both that must keep it (default 99)")
    how = parser.add_argument_group("how it is served")
    how.add_argument("--weights", metavar="FMT", type=stored, help="what weights are stored in (default: the machine's 16 bits)")
    how.add_argument("--arithmetic", choices=("fp8",), help="what layers' products are computed in (default: the machine's 16 bits)")
    how.add_argument("--cache", metavar="FMT", type=stored, help="what keys and values are stored in")
    how.add_argument("--tp", metavar="N", type=size, help="devices that share one replica (default: tried from the fewest that hold it)")
    how.add_argument("--batch", metavar="N", type=size, default=256, help="sequences at once, at most (default 256)")
    how.add_argument("--budget", metavar="N", type=size, help="tokens a step, at most (default: the most that --tbt allows)")
    how.add_argument("--memory", metavar="SHARE", type=share, default=0.9, help="of a device's memory to use (default 0.9)")
    how.add_argument(
        "--overhead",
        metavar="TIME",
        type=figure("s", zero=True),
        default=0.0,
        help="what the engine adds to each step (docs/serving.md: 1.5 ms)",
    )
    how.add_argument("--most", metavar="N", type=size, default=64, help="replicas to try, at most (default 64)")
    way = parser.add_argument_group("how requests are put together")
    way.add_argument("--scheduling", choices=SCHEDULES, default="continuous", help="static: a batch begins when the one before is done")
    way.add_argument("--prompts", choices=("pieces", "whole"), default="pieces", help="pieces beside decoding (default), or whole first")
    way.add_argument("--preemption", choices=PREEMPTIONS, default="recompute", help="of the youngest when the cache is full")
    way.add_argument("--prefix", metavar="N", type=size, help="tokens that every prompt begins with: computed and kept once")
    way.add_argument("--speculate", metavar="N", type=size, help="tokens that a draft proposes a step (default: 1, 2, 4 and 8 are tried)")
    way.add_argument("--acceptance", metavar="SHARE", type=acceptance, help="of proposed tokens that are right: decode speculatively")
    way.add_argument("--draft", metavar="MODEL", help="a small decoder that proposes them, on every device (default: proposing is free)")
    way.add_argument("--apart", action="store_true", help="some replicas only compute prompts, others only decode")
    add_price(parser)
    parser.add_argument("--simulate", action="store_true", help="also show the run over time, of the best choice")
    parser.add_argument("--html", metavar="FILE", help="also write a page with pictures: one file, opens offline; holds the run over time")
    add_json(parser)


def run(args: argparse.Namespace) -> int:
    from ironlaw.registry.decoders import decoder

    if args.html:
        from ironlaw.report.page import place_of

        place_of(args.html, _read(args))  # a bad place is reported before the search begins
    draw_load, about = load_of(args)
    asked = Search(
        decoder(args.model), args.on, draw_load, about, Promise(args.ttft, args.tbt, args.percentile / 100), args.weights or "",
        args.cache or "", args.arithmetic or "", args.tp, args.batch, args.budget, args.memory, args.overhead, args.most,
        prices=known_prices(args.on, args.price), simulate=args.simulate or bool(args.html), seed=args.seed,
    )  # fmt: skip
    result = search(replace(asked, **way_of(args)))
    if args.html:
        from ironlaw.report.page import put
        from ironlaw.report.serving_page import html

        put(html(result), args.html, _read(args))
    draw.emit(result) if args.json else serving.report(result)
    return 0


def way_of(args: argparse.Namespace) -> dict[str, Any]:
    """How requests are put together, as `Search` takes it; options that contradict each other are refused."""
    from ironlaw.registry.decoders import decoder

    for name in ("speculate", "draft"):
        if getattr(args, name) is not None and args.acceptance is None:
            raise BadValue(f"--{name} needs the share of proposed tokens that are right; give --acceptance 0.7")
    lengths = () if args.acceptance is None else (args.speculate,) if args.speculate else LENGTHS
    if args.budget and args.budget <= max(lengths, default=0):
        raise BadValue(f"--budget {args.budget} holds no sequence with {max(lengths)} proposed tokens; give at least {max(lengths) + 1}")
    if args.apart and args.scheduling == "static":
        raise BadValue("--apart decodes in continuous batches; leave out --scheduling static")
    if args.apart and args.most < 2:
        raise BadValue(f"--apart takes at least two replicas and --most allows {args.most}; give --most 2 or more")
    return {
        "scheduling": args.scheduling, "chunked": args.prompts == "pieces", "preemption": args.preemption, "prefix": args.prefix or 0,
        "lengths": lengths, "apart": args.apart, "acceptance": args.acceptance or 0.0, "draft": decoder(args.draft) if args.draft else None,
    }  # fmt: skip


def _read(args: argparse.Namespace) -> list[str]:
    """Files that are read, and may not be written over."""
    return [args.trace] if args.trace and Path(args.trace).is_file() else []
