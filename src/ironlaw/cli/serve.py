"""`ironlaw serve`: the fewest devices that keep a promise under a load of requests, the cheapest of them, and what binds."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ironlaw.cli.options import Parser, add_json, add_machines, checked, figure, number, size
from ironlaw.cli.price_options import add_price
from ironlaw.cli.serve_search import Search, search
from ironlaw.cli.show import draw, serving
from ironlaw.engine.serving.llm.load import Request, Spread, arriving, faster
from ironlaw.engine.serving.llm.promise import Promise
from ironlaw.errors import BadValue, unknown
from ironlaw.formats import FORMATS

EXAMPLE = """
ironlaw serve llama3_8b --on h100,h200 --rate 20 --prompt 1155 --output 211 --ttft 1s --tbt 50ms --price h100=2.5,h200=3.5
ironlaw serve llama3_8b --on h200 --trace azure_chat_2023 --rate 10 --cache fp8 --simulate
"""
STORED = ("fp32", "bf16", "fp16", "fp8", "int8", "int4", "fp4")
FEWEST, PER_REPLICA, LONGEST = 2000, 300, 10_000  # requests that are drawn: at least, for each replica, at most
DRAFT = 1155, 211  # tokens of a request where nothing is said: the mean of Azure's conversations


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
    if text not in STORED:
        raise unknown("format to store numbers in", text, STORED)
    return FORMATS[text].name


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
    load.add_argument("--prompt", metavar="N", type=size, help=f"tokens of a prompt, on average (default {DRAFT[0]:,})")
    load.add_argument("--output", metavar="N", type=size, help=f"tokens of an answer, on average (default {DRAFT[1]:,})")
    load.add_argument("--spread", metavar="CV", type=spread, help="of both: deviation over mean; 0: all alike (default 1)")
    load.add_argument("--requests", metavar="N", type=size, help="how many are drawn (default: as many as the replicas need)")
    load.add_argument("--seed", metavar="N", type=int, default=0, help="another draw of the same load")
    promise = parser.add_argument_group("the promise")
    promise.add_argument("--ttft", metavar="TIME", type=figure("s"), default=1.0, help="time to first token (default 1 s)")
    promise.add_argument("--tbt", metavar="TIME", type=figure("s"), default=0.05, help="time between tokens (default 50 ms)")
    promise.add_argument("--percentile", metavar="P", type=number, default=99.0, help="of both that must keep it (default 99)")
    how = parser.add_argument_group("how it is served")
    how.add_argument("--weights", metavar="FMT", type=stored, help="what weights are stored in (default: the machine's 16 bits)")
    how.add_argument("--cache", metavar="FMT", type=stored, help="what keys and values are stored in")
    how.add_argument("--tp", metavar="N", type=size, help="devices that share one replica (default: tried from the fewest that hold it)")
    how.add_argument("--batch", metavar="N", type=size, default=256, help="sequences at once, at most (default 256)")
    how.add_argument("--budget", metavar="N", type=size, help="tokens a step, at most (default: the most that --tbt allows)")
    how.add_argument("--memory", metavar="SHARE", type=share, default=0.9, help="of a device's memory to use (default 0.9)")
    how.add_argument("--overhead", metavar="TIME", type=figure("s", zero=True), default=0.0, help="what the engine adds to each step")
    how.add_argument("--most", metavar="N", type=size, default=64, help="replicas to try, at most (default 64)")
    add_price(parser)
    parser.add_argument("--simulate", action="store_true", help="also show the run over time, of the best choice")
    parser.add_argument("--html", metavar="FILE", help="also write a page with pictures: one file, opens offline; holds the run over time")
    add_json(parser)


def run(args: argparse.Namespace) -> int:
    from ironlaw.registry.decoders import decoder
    from ironlaw.registry.prices import prices_of

    if not 0 < args.percentile < 100:
        raise BadValue(f"a percentile of {args.percentile:g}; give one between 0 and 100, such as 99")
    if args.html:
        from ironlaw.report.page import place_of

        place_of(args.html, _read(args))  # a bad place is reported before the search begins
    promise = Promise(args.ttft, args.tbt, args.percentile / 100)
    draw_load, about = load_of(args)
    result = search(Search(
        decoder(args.model), args.on, draw_load, about, promise, args.weights or "", args.cache or "", args.tp, args.batch, args.budget,
        args.memory, args.overhead, args.most, prices_of([m.slug for m in args.on], args.price),
        args.simulate or bool(args.html), args.seed,
    ))  # fmt: skip
    if args.html:
        from ironlaw.report.page import put
        from ironlaw.report.serving_page import html

        put(html(result), args.html, _read(args))
    draw.emit(result) if args.json else serving.report(result)
    return 0


def _read(args: argparse.Namespace) -> list[str]:
    """Files that are read, and may not be written over."""
    return [args.trace] if args.trace and Path(args.trace).is_file() else []


def load_of(args: argparse.Namespace) -> tuple[Callable[[int], tuple[Request, ...]], dict[str, Any]]:
    """How to draw the requests for so many replicas, and what they are."""
    lengths = [name for name in ("prompt", "output", "spread") if getattr(args, name) is not None]
    if args.trace is None and args.rate is None:
        raise BadValue("how many requests come? Give --rate 5, --trace azure_chat_2023, or --trace FILE.csv")
    if args.trace is not None and lengths:
        raise BadValue(f"--{lengths[0]} goes with --rate alone: a trace has lengths of its own; leave one of them out")
    if args.trace is None:
        prompt, output = args.prompt or DRAFT[0], args.output or DRAFT[1]
        spread = 1.0 if args.spread is None else args.spread
        laws = Spread(prompt, spread), Spread(output, spread)
        about = {"source": "law", "rate": args.rate, "prompt": prompt, "output": output, "spread": spread}
        return lambda replicas: arriving(args.rate, _count(args, replicas), *laws, seed=args.seed), about
    if args.trace.lower().endswith(".csv") or Path(args.trace).is_file():
        return _from_file(args)
    from ironlaw.registry.traces import trace

    law = trace(args.trace)
    rate = args.rate or law.rate
    about = {"source": law.slug, "rate": rate, "prompt": law.prompt.mean, "output": law.output.mean, "from": f"{law.source}, {law.date}"}
    return lambda replicas: law.draw(_count(args, replicas), args.seed, rate), about


def _count(args: argparse.Namespace, replicas: int) -> int:
    return int(args.requests or min(max(FEWEST, PER_REPLICA * replicas), LONGEST))


def _from_file(args: argparse.Namespace) -> tuple[Callable[[int], tuple[Request, ...]], dict[str, Any]]:
    from ironlaw.registry.trace_file import read_trace

    requests = read_trace(Path(args.trace), args.columns)[: args.requests]
    span = requests[-1].arrive
    if args.rate is not None:
        if not span:
            raise BadValue(f"all requests of {args.trace} arrive at once, so no --rate can be had from them; leave it out")
        requests = faster(requests, args.rate * span / len(requests))
    about = {
        "source": Path(args.trace).name, "rate": len(requests) / requests[-1].arrive if span else None,
        "prompt": sum(r.prompt for r in requests) / len(requests), "output": sum(r.output for r in requests) / len(requests),
    }  # fmt: skip
    return lambda replicas: requests, about
