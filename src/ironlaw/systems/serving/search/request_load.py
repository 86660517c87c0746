"""The requests of a demand: a law of arrivals, a published trace, or a file."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import Any, Protocol

from ironlaw.engine.serving.llm.requests import Request, Spread, alike, arriving, faster
from ironlaw.errors import BadValue
from ironlaw.systems.serving.deployments import USUAL

FEWEST, PER_REPLICA, LONGEST = 2000, 300, 10_000  # requests that are drawn: at least, for each replica, at most
MOST = 200_000  # that are drawn where a run would otherwise be over before it is in a steady state


Law = Callable[[int, float, int], tuple[Request, ...]]  # how many, at how many times the rate, and so many at least


class Draw(Protocol):
    """The requests for so many replicas at `factor` times the rate that was asked for; `least`: so many at least, where it is free."""

    def __call__(self, replicas: int, factor: float = 1.0, least: int = 0) -> tuple[Request, ...]: ...


def load_of(asked: Any) -> tuple[Draw, dict[str, Any]]:
    """The load of a `Demand`: how to draw its requests, and what they are."""
    law, about = _load(asked)

    @lru_cache(maxsize=16)
    def drawn(count: int, factor: float, least: int) -> tuple[Request, ...]:
        requests = law(count, factor, least)
        return requests if asked.prefix is None else alike(requests, asked.prefix)

    def draw(replicas: int, factor: float = 1.0, least: int = 0) -> tuple[Request, ...]:
        return drawn(asked.requests or min(max(_count(replicas), least), MOST), factor, 0 if asked.requests else min(least, MOST))

    return draw, about if asked.prefix is None else about | {"prefix": asked.prefix}


def _load(asked: Any) -> tuple[Law, dict[str, Any]]:
    """The law of the requests, before any prefix that they share, and what the answer says of it."""
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
        return lambda count, factor, _: arriving(rate * factor, count, *laws, seed=asked.seed), about
    if is_file:
        return _from_file(asked)
    from ironlaw.registry.traces import trace

    law = trace(asked.trace)
    rate = asked.rate or law.rate
    about = {"source": law.slug, "rate": rate, "prompt": law.prompt.mean, "output": law.output.mean, "from": f"{law.source}, {law.date}"}
    return lambda count, factor, _: law.draw(count, asked.seed, rate * factor), about


def _count(replicas: int) -> int:
    return min(max(FEWEST, PER_REPLICA * replicas), LONGEST)


def _from_file(asked: Any) -> tuple[Law, dict[str, Any]]:
    """A file has as many requests as it has; at a higher rate they come again and again, so that the run lasts as long."""
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

    def again(_: int, factor: float, least: int) -> tuple[Request, ...]:
        if not span or (factor == 1.0 and not asked.fleet):
            return tuple(requests)
        times = max(math.ceil(factor), -(-least // len(requests)))
        round_s = requests[-1].arrive * len(requests) / max(1, len(requests) - 1)  # with a gap before the next round
        rounds = [r._replace(arrive=r.arrive + k * round_s) for k in range(times) for r in requests]
        return faster(rounds, factor)

    return again, about
