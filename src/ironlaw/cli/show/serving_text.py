"""What `ironlaw capacity` prints."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ironlaw.cli.show import draw
from ironlaw.registry.engines import PLAIN
from ironlaw.report.accuracy import RESTS
from ironlaw.report.cost_words import sources
from ironlaw.report.serving_words import (
    ALIKE,
    RATES,
    alike,
    between,
    bottleneck,
    by_standing,
    grounds,
    like_with_like,
    likely,
    own_time,
    parallelism,
    ranked,
    replicas,
    slo,
    standing,
    steep,
    sure_number,
    takes,
    tied,
    verdict,
    way,
)
from ironlaw.units import counted, show, significant

SPARE = ("cache", "batch", "J/M ≤", "tokens/s", "$/M")  # columns that a narrow terminal does without
COLUMNS = (
    "devices: the fewest that meet the SLO as predicted; sure: the same if steps take as long as they may; TTFT, TBT: first token and gaps"
    " between tokens at the SLO's percentile; tokens/s: new ones, of all devices; batch: sequences that decode together, on average;"
    " cache: the largest share of it in use."
)
SHOWN = 6  # points of a machine's line between speed and throughput


def report(result: Mapping[str, Any], notes: bool = False) -> None:
    """`notes`: with the formats, the cache's room and the prices' sources."""
    load, promise = result["load"], result["promise"]
    at = f"{significant(load['rate'])} {'request' if load['rate'] == 1 else 'requests'}/s" if load["rate"] else "requests at once"
    if result["fleet"]:
        at = f"as many requests as {counted(result['fleet'], 'device')} can take"
    lengths = f"{significant(load['prompt'], 4)} + {significant(load['output'], 4)} tokens on average"
    draw.heading(result["model"], f"{at}, {lengths}{'' if load['source'] == 'law' else ', ' + load['source']}")
    _verdict(result)
    draw.say(slo(promise))
    if result["choices"]:
        _choices(result, notes)
        _explain(result, notes)
    for row in result["refused"]:
        draw.say(f"{row['hardware']}: {row['reason']}", draw.BAD)
    if result["pareto"]:
        _pareto(result)
    if "run" in result:
        _run(result["run"])
    if "from" in load:
        draw.say(f"Load from {load['from']}", draw.DIM)


def _pareto(result: Mapping[str, Any]) -> None:
    """Some of each machine's points, from the fastest for a user to the cheapest; the page and the JSON have all."""
    draw.heading("speed for a user against throughput", "under a load that never ends; nothing beats any of these in both")
    points = by_standing(result, result["pareto"])
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
        p["hardware"], parallelism(p["layout"]), p["pools"], f"{p['batch']:,}", f"{RATES[p['basis']]}{significant(p['tokens_per_s_user'])}",
        significant(p["tokens_per_s_each"]), *cost,
    )  # fmt: skip


def _choices(result: Mapping[str, Any], notes: bool) -> None:
    promise, rows = result["promise"], ranked(result)
    share, gap = f"P{significant(100 * promise['share'], 4)}", between(promise)
    several, priced = len(rows) > 1, any(row["dollars_per_hour"] is not None for row in rows)
    names = (
        "machine",
        *(("verdict",) if several else ()),
        "devices",
        *(() if result["fleet"] else ("sure",)),
        *(("$/hour", "$/M") if priced else ()),
        f"TTFT {share}",
        f"{gap[0]} {share}",
        *((ALIKE,) if alike(rows) else ()),
        "tokens/s",
        "batch",
        "cache",
        "J/M ≤",
    )
    cells = [{**_row(row, gap[1]), "verdict": standing(result, row)} for row in rows]
    draw.table(
        names, [[cell[key] for key in (name.split(" P")[0].replace("TPOT", "TBT") for name in names)] for cell in cells],
        left=("machine", "verdict"), spare=SPARE,
    )  # fmt: skip
    for row in rows:
        words = "; ".join(filter(None, (replicas(row), way(row))))
        formats = _formats(row) if notes else ""
        told = (f"{words}. {bottleneck(row)}", steep(row), likely(row, promise, bool(result["fleet"])), takes(row), formats)
        draw.pairs([(row["hardware"], " ".join(filter(None, told)))])
        draw.command((row["safe"] or row)["command"])  # what to plan with


def _formats(row: Mapping[str, Any]) -> str:
    return (
        f"Weights in {row['weights']}, products in {row['arithmetic']}, KV cache in {row['cache']}: {show(row['cache_bytes'], 'B')}"
        f" of cache per device, room for {row['slots']:,} average requests."
        f" A step takes at most {row['most']} sequences and {row['budget']:,} tokens."
    )


def _row(row: Mapping[str, Any], gap: str) -> dict[str, Any]:
    hour, million, mark = row["dollars_per_hour"], row["dollars_per_million_tokens"], RESTS[row["basis"]]
    return {
        "machine": row["hardware"], "devices": (str(row["devices"]), draw.STRONG), "sure": sure_number(row),
        "$/hour": "–" if hour is None else significant(hour), "$/M": "–" if million is None else significant(million),
        "TTFT": f"{mark}{show(row['ttft_s']['promised'], 's')}", "TBT": f"{mark}{show(row[gap]['promised'], 's')}",
        ALIKE: show(row["step_alike_s"], "s") if row["step_alike_s"] else "–",
        "tokens/s": significant(row["tokens_per_s"]), "batch": significant(row["batch"]), "cache": draw.percent(row["cache_peak"]),
        "J/M ≤": show(row["joules_per_million_tokens"], "J"),
    }  # fmt: skip


def _verdict(result: Mapping[str, Any]) -> None:
    draw.say(verdict(result), draw.GOOD if result["answer"] else draw.BAD)
    if not result["answer"]:
        return
    if words := tied(result):
        draw.say(words)
    if result["unpriced"] and not result["fleet"]:
        names = ",".join(f"{slug}=…" for slug in result["unpriced"])
        draw.say(f"Without a price, left out of the comparison by cost. Give dollars per hour for a device: --price {names}", draw.DIM)


def _explain(result: Mapping[str, Any], notes: bool) -> None:
    if result["engine"]["name"] != PLAIN.name or result["engine"]["benchmark"]:
        draw.say(own_time(result["engine"]), draw.DIM)
    if words := like_with_like(result):
        draw.say(words)
    draw.say(grounds(result["choices"]), draw.DIM)
    draw.say(
        "$/M and J/M: dollars and joules per million new tokens, idle devices included; joules are at rated power, an upper bound.",
        draw.DIM,
    )
    if notes:
        draw.say(COLUMNS, draw.DIM)
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
