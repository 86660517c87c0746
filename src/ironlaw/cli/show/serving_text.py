"""What `ironlaw capacity` prints."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ironlaw.cli.show import draw
from ironlaw.cli.show.prediction_notes import MARKS
from ironlaw.registry.engines import PLAIN
from ironlaw.report.accuracy import RESTS
from ironlaw.report.cost_words import sources
from ironlaw.report.serving_words import (
    BASES,
    between,
    bottleneck,
    like_with_like,
    likely,
    own_time,
    parallelism,
    replicas,
    slo,
    steep,
    takes,
    verdict,
    way,
)
from ironlaw.units import counted, show, significant

SPARE = ("cache", "batch")  # columns that a narrow terminal does without
SHOWN = 6  # points of a machine's line between speed and throughput


def report(result: Mapping[str, Any], notes: bool = False) -> None:
    """`notes`: with the formats, the cache's room and the prices' sources."""
    load, promise = result["load"], result["promise"]
    at = f"{significant(load['rate'])} requests/s" if load["rate"] else "requests at once"
    if result["fleet"]:
        at = f"as many requests as {counted(result['fleet'], 'device')} can take"
    lengths = f"{significant(load['prompt'], 4)} + {significant(load['output'], 4)} tokens on average"
    draw.heading(result["model"], f"{at}, {lengths}{'' if load['source'] == 'law' else ', ' + load['source']}")
    draw.say(slo(promise))
    if result["choices"]:
        _verdict(result)
        _choices(result["choices"], promise, notes)
        _explain(result, notes)
    for row in result["refused"]:
        draw.say(f"{row['hardware']}: {row['reason']}", draw.BAD)
    if result["pareto"]:
        _pareto(result["pareto"])
    if "run" in result:
        _run(result["run"])
    if "from" in load:
        draw.say(f"Load from {load['from']}", draw.DIM)


def _pareto(points: Sequence[Mapping[str, Any]]) -> None:
    """Some of each machine's points, from the fastest for a user to the cheapest; the page and the JSON have all."""
    draw.heading("speed for a user against throughput", "under a load that never ends; nothing beats any of these in both")
    priced = all(point["dollars_per_million_tokens"] is not None for point in points)
    names = ("machine", "replica", "pools", "batch", "tokens/s per user", "tokens/s per device", *(("$/M",) if priced else ()))
    rows = [_point(point, priced) for point in _some(points)]
    draw.table(names, rows, left=("machine", "replica", "pools"), spare=("pools",))


def _some(points: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """At most SHOWN points of each machine, evenly along its line, both ends among them."""
    chosen: list[Mapping[str, Any]] = []
    for slug in dict.fromkeys(point["hardware"] for point in points):
        mine = [point for point in points if point["hardware"] == slug]
        places = sorted({round(i * (len(mine) - 1) / (SHOWN - 1)) for i in range(SHOWN)})
        chosen += [mine[place] for place in places]
    return chosen


def _point(p: Mapping[str, Any], priced: bool) -> tuple[Any, ...]:
    cost = (significant(p["dollars_per_million_tokens"]),) if priced else ()
    return (
        p["hardware"], parallelism(p["layout"]), p["pools"], f"{p['batch']:,}", f"{RESTS[p['basis']]}{significant(p['tokens_per_s_user'])}",
        significant(p["tokens_per_s_each"]), *cost,
    )  # fmt: skip


def _choices(rows: Sequence[Mapping[str, Any]], promise: Mapping[str, Any], notes: bool) -> None:
    share, gap = f"P{significant(100 * promise['share'], 4)}", between(promise)
    names = ("machine", "devices", "batch", "cache", f"TTFT {share}", f"{gap[0]} {share}", "tokens/s", "$/M", "J/M ≤")
    draw.table(names, [_row(row, gap[1]) for row in rows], left=("machine",), spare=SPARE)
    for row in rows:
        words = "; ".join(filter(None, (replicas(row), way(row))))
        formats = _formats(row) if notes else ""
        told = (
            f"{words}. {bottleneck(row)}",
            steep(row),
            likely(row, promise),
            takes(row),
            formats,
            f"{BASES[row['basis']]}.",
        )
        draw.pairs([(row["hardware"], " ".join(filter(None, told)))])
        if row["command"]:
            draw.say(row["command"])


def _formats(row: Mapping[str, Any]) -> str:
    return (
        f"Weights in {row['weights']}, products in {row['arithmetic']}, KV cache in {row['cache']}: {show(row['cache_bytes'], 'B')}"
        f" of cache per device, room for {row['slots']:,} average requests."
        f" A step takes at most {row['most']} sequences and {row['budget']:,} tokens."
    )


def _row(row: Mapping[str, Any], gap: str) -> tuple[Any, ...]:
    dollars = row["dollars_per_million_tokens"]
    return (
        row["hardware"], (str(row["devices"]), draw.STRONG), significant(row["batch"]), draw.percent(row["cache_peak"]),
        f"{RESTS[row['basis']]}{show(row['ttft_s']['promised'], 's')}", f"{RESTS[row['basis']]}{show(row[gap]['promised'], 's')}",
        significant(row["tokens_per_s"]),
        "–" if dollars is None else significant(dollars), show(row["joules_per_million_tokens"], "J"),
    )  # fmt: skip


def _verdict(result: Mapping[str, Any]) -> None:
    draw.say(verdict(result), draw.GOOD)
    if result["unpriced"] and not result["cheapest"] and not result["fleet"]:
        names = ",".join(f"{slug}=…" for slug in result["unpriced"])
        draw.say(f"For costs, give a device's price in dollars per hour: --price {names}", draw.DIM)


def _explain(result: Mapping[str, Any], notes: bool) -> None:
    if result["engine"]["name"] != PLAIN.name or result["engine"]["benchmark"]:
        draw.say(own_time(result["engine"]), draw.DIM)
    if words := like_with_like(result):
        draw.say(words)
    for basis in dict.fromkeys(row["basis"] for row in result["choices"]):
        if basis in MARKS:
            draw.say(MARKS[basis], draw.DIM)
    draw.say(
        "$/M and J/M: dollars and joules per million new tokens, idle devices included; joules are at rated power, an upper bound.",
        draw.DIM,
    )
    if notes:
        draw.say(" ".join(filter(None, (sources(result), f"Energy: {result['energy']}."))), draw.DIM)
        for one in result["engine"]["sources"]:
            draw.say(f"{result['engine']['name']}, {one}", draw.DIM)


def _run(run: Mapping[str, Any]) -> None:
    draw.heading("the run over time", f"{run['hardware']}, the average of its replicas")
    names = ("from", "busy", "decoding", "cache", "waiting", "prompt tokens/s", "per step")
    rows = [
        (
            show(part["from_s"], "s"), draw.percent(part["busy"]), significant(part["batch"]), draw.percent(part["cache"]),
            significant(part["waiting"]), significant(part["prompt_tokens_per_s"]), show(part["step_s"], "s"),
        )
        for part in run["slices"]
    ]  # fmt: skip
    draw.table(names, rows)
