"""The requests of `ironlaw serve`: a law of arrivals, a published trace, or a file."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ironlaw.engine.serving.llm.load import Request, Spread, alike, arriving, faster
from ironlaw.errors import BadValue
from ironlaw.systems.serving.deployments import USUAL

FEWEST, PER_REPLICA, LONGEST = 2000, 300, 10_000  # requests that are drawn: at least, for each replica, at most
Draw = Callable[[int], tuple[Request, ...]]


def load_of(args: argparse.Namespace) -> tuple[Draw, dict[str, Any]]:
    """How to draw the requests for so many replicas, and what they are."""
    draw, about = _load(args)
    if args.prefix is None:
        return draw, about
    return lambda replicas: alike(draw(replicas), args.prefix), about | {"prefix": args.prefix}


def _load(args: argparse.Namespace) -> tuple[Draw, dict[str, Any]]:
    """Without what they have in common."""
    lengths = [name for name in ("prompt", "output", "spread") if getattr(args, name) is not None]
    if args.trace is None and args.rate is None:
        raise BadValue("how many requests come? Give --rate 5, --trace azure_chat_2023, or --trace FILE.csv")
    if args.trace is not None and lengths:
        raise BadValue(f"--{lengths[0]} goes with --rate alone: a trace has lengths of its own; leave one of them out")
    is_file = args.trace is not None and (args.trace.lower().endswith(".csv") or Path(args.trace).is_file())
    if args.columns and not is_file:
        raise BadValue("--columns names the columns of a CSV file; give one with --trace FILE.csv, or leave it out")
    if args.trace is None:
        prompt, output = args.prompt or USUAL[0], args.output or USUAL[1]
        spread = 1.0 if args.spread is None else args.spread
        laws = Spread(prompt, spread), Spread(output, spread)
        about = {"source": "law", "rate": args.rate, "prompt": prompt, "output": output, "spread": spread}
        return lambda replicas: arriving(args.rate, _count(args, replicas), *laws, seed=args.seed), about
    if is_file:
        return _from_file(args)
    from ironlaw.registry.traces import trace

    law = trace(args.trace)
    rate = args.rate or law.rate
    about = {"source": law.slug, "rate": rate, "prompt": law.prompt.mean, "output": law.output.mean, "from": f"{law.source}, {law.date}"}
    return lambda replicas: law.draw(_count(args, replicas), args.seed, rate), about


def _count(args: argparse.Namespace, replicas: int) -> int:
    return int(args.requests or min(max(FEWEST, PER_REPLICA * replicas), LONGEST))


def _from_file(args: argparse.Namespace) -> tuple[Draw, dict[str, Any]]:
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
