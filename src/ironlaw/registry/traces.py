"""registry/trace/*.toml -> laws of requests: quantiles of published traces, with their source."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Any

from ironlaw.engine.arrays import interpolate
from ironlaw.engine.device.types import check_positive
from ironlaw.engine.serving.llm.cache import whole
from ironlaw.engine.serving.llm.requests import Quantiles, Request
from ironlaw.engine.streams import split, uniform
from ironlaw.errors import BadRegistry, BadValue
from ironlaw.registry.loader import open_by_name, require, slugs

EVEN = 0.7548776662466927, 0.5698402909980532  # 1/g and 1/g², g³ = g + 1: steps that fill a square evenly (Roberts 2018)


@dataclass(frozen=True, slots=True)
class Trace:
    """Quantiles of a published trace. `rate`: requests per second; `gap` in seconds, lengths in tokens."""

    slug: str
    name: str
    source: str
    date: str
    note: str
    count: int
    rate: float
    prompt: Quantiles
    output: Quantiles
    gap: Quantiles
    means: tuple[float, float]  # tokens of prompts and outputs, of the whole trace: those of the quantiles are a little off

    def lengths(self, n: int) -> tuple[tuple[int, int], ...]:
        """Tokens of prompt and output of `n` requests, without a draw: any stretch of them is spread evenly over both laws."""
        return _lengths(self.prompt, self.output, whole("n", n))

    def draw(self, n: int, seed: int = 0, rate: float | None = None) -> tuple[Request, ...]:
        """`n` requests: gaps and lengths drawn one by one; at the trace's rate, or at another with gaps alike but for scale."""
        scale = 1.0 / (float(check_positive("rate", self.rate if rate is None else rate)) * self.gap.mean)
        now, requests = 0.0, []
        lengths = zip(self.prompt.draw(split(seed, 1), n), self.output.draw(split(seed, 2), n), strict=True)
        for u, (prompt, output) in zip(uniform(split(seed, 0), whole("n", n)), lengths, strict=True):
            now += scale * float(interpolate(u, self.gap.shares, self.gap.values))
            requests.append(Request(now, prompt, output))
        return tuple(requests)


@lru_cache(maxsize=16)
def _lengths(prompt: Quantiles, output: Quantiles, n: int) -> tuple[tuple[int, int], ...]:
    shares = [((0.5 + k * EVEN[0]) % 1.0, (0.5 + k * EVEN[1]) % 1.0) for k in range(n)]
    return tuple([(prompt.at(u), output.at(v)) for u, v in shares])


def traces() -> tuple[str, ...]:
    return slugs("trace")


@cache
def trace(name: str) -> Trace:
    """A published trace by its slug: `trace("azure_chat_2023")`."""
    slug, data = open_by_name("trace", name, "trace", " with rate, [prompt], [output] and [gap]")
    where = f"trace {slug}"
    require(where, data, ("name", "source", "date", "count", "rate"))
    prompt, output, gap = (_quantiles(where, data, key) for key in ("prompt", "output", "gap"))
    return Trace(
        slug, str(data["name"]), str(data["source"]), str(data["date"]), str(data.get("note", "")), int(data["count"]), float(data["rate"]),
        prompt, output, gap, (float(data["prompt"]["mean"]), float(data["output"]["mean"])),
    )  # fmt: skip


def _quantiles(where: str, data: Mapping[str, Any], key: str) -> Quantiles:
    table = data.get(key)
    if not isinstance(table, Mapping) or not {"mean", "shares", "values"} <= set(table):
        raise BadRegistry(f"{where} has no [{key}] with mean, shares and values; add them there")
    try:
        return Quantiles(tuple(map(float, table["shares"])), tuple(map(float, table["values"])))
    except (BadValue, TypeError, ValueError) as error:
        raise BadRegistry(f"{where} [{key}]: {error}") from None
