"""The requests of a demand: a law of arrivals, a published trace, or a file."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from ironlaw.engine.serving.llm.requests import Request, Spread, alike, arriving, faster
from ironlaw.errors import BadValue
from ironlaw.systems.serving.deployments import USUAL

FEWEST, PER_REPLICA, LONGEST = 2000, 300, 10_000  # requests that are drawn: at least, for each replica, at most
Draw = Callable[[int], tuple[Request, ...]]


def load_of(asked: Any) -> tuple[Draw, dict[str, Any]]:
    """The load of a `Demand`: how to draw the requests for so many replicas, and what they are."""
    draw, about = _load(asked)
    if asked.prefix is None:
        return draw, about
    return lambda replicas: alike(draw(replicas), asked.prefix), about | {"prefix": asked.prefix}


def _load(asked: Any) -> tuple[Draw, dict[str, Any]]:
    """Without what they have in common."""
    lengths = [name for name in ("prompt", "output", "spread") if getattr(asked, name) is not None]
    if asked.trace is None and asked.rate is None and asked.fleet is None:
        raise BadValue("how much traffic is there? Give `rate=5`, `trace=azure_chat_2023`, or `trace=FILE.csv`")
    if asked.trace is not None and lengths:
        raise BadValue(f"`{lengths[0]}` can't be combined with a trace, which has lengths of its own; leave one of them out")
    is_file = asked.trace is not None and (asked.trace.lower().endswith(".csv") or Path(asked.trace).is_file())
    if asked.columns and not is_file:
        raise BadValue("`columns` names the columns of a CSV file; give one with `trace=FILE.csv`, or leave it out")
    if asked.trace is None:
        prompt, output = asked.prompt or USUAL[0], asked.output or USUAL[1]
        spread = 1.0 if asked.spread is None else asked.spread
        laws = Spread(prompt, spread), Spread(output, spread)
        rate = asked.rate or float(
            asked.fleet
        )  # of a fleet whose largest rate is asked for: one request per second and device, to begin with
        about = {"source": "law", "rate": rate, "prompt": prompt, "output": output, "spread": spread}
        return lambda replicas: arriving(rate, _count(asked, replicas), *laws, seed=asked.seed), about
    if is_file:
        return _from_file(asked)
    from ironlaw.registry.traces import trace

    law = trace(asked.trace)
    rate = asked.rate or law.rate
    about = {"source": law.slug, "rate": rate, "prompt": law.prompt.mean, "output": law.output.mean, "from": f"{law.source}, {law.date}"}
    return lambda replicas: law.draw(_count(asked, replicas), asked.seed, rate), about


def _count(asked: Any, replicas: int) -> int:
    return int(asked.requests or min(max(FEWEST, PER_REPLICA * replicas), LONGEST))


def _from_file(asked: Any) -> tuple[Draw, dict[str, Any]]:
    from ironlaw.registry.trace_file import read_trace

    requests = read_trace(Path(asked.trace), asked.columns or {})[: asked.requests]
    span = requests[-1].arrive
    if asked.rate is not None:
        if not span:
            raise BadValue(f"all requests of {asked.trace} arrive at once, so they can't come at another `rate`; leave it out")
        requests = faster(requests, asked.rate * span / len(requests))
    about = {
        "source": Path(asked.trace).name, "rate": len(requests) / requests[-1].arrive if span else None,
        "prompt": sum(r.prompt for r in requests) / len(requests), "output": sum(r.output for r in requests) / len(requests),
    }  # fmt: skip
    return lambda replicas: requests, about
