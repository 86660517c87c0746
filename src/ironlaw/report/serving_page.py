"""What `ironlaw capacity` found, as one HTML file: the choices, what no other batch beats, and the run over time."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from ironlaw.pictures.lines import lines
from ironlaw.report.accuracy import RESTS
from ironlaw.report.markup import Cell, items, paragraph, table, text
from ironlaw.report.report_page import figure_place, frame, laid_out, script
from ironlaw.report.serving_words import (
    BASES,
    between,
    bottleneck,
    like_with_like,
    likely,
    parallelism,
    replicas,
    slo,
    steep,
    takes,
    verdict,
    way,
)
from ironlaw.units import counted, show, significant
from ironlaw.widget.figure import Axis, Figure, mark
from ironlaw.widget.glossary_words import explanations, marked


def html(result: Mapping[str, Any]) -> str:
    figures: dict[str, Figure] = {}
    sections = [("summary", "What meets the SLO", _summary(result))]
    if result["pareto"]:
        figures["pareto"] = _pareto(result)
        sections.append(("pareto", "Speed for a user against throughput", figure_place("pareto")))
    if result["frontier"]:
        figures["frontier"] = _frontier(result)
        sections.append(("frontier", "Decoding alone", figure_place("frontier")))
    if "run" in result:
        figures |= _run(result["run"])
        sections.append(("run", "The run over time", figure_place("sequences") + figure_place("cache")))
    sections.append(("sources", "Sources", items(_sources(result))))
    links, body = laid_out(sections)
    carried = {"figures": {name: figure.to_dict() for name, figure in figures.items()}, "grids": {}, "terms": explanations(marked(body))}
    load = result["load"]
    rate = f"{significant(load['rate'])} requests per second" if load["rate"] else "requests that come at once"
    if result["fleet"]:
        rate = f"as many requests as {counted(result['fleet'], 'device')} can take"
    head = (
        f'<p class="kicker">ironlaw capacity</p><h1>{text(result["model"])}</h1>'
        + paragraph(f"{rate}, {significant(load['prompt'], 4)} + {significant(load['output'], 4)} tokens on average.", "lede")
    )  # fmt: skip
    return frame(f"{result['model']}: serving", head, links, body, carried, script(), "Pictures need JavaScript; the tables do not.")


def _summary(result: Mapping[str, Any]) -> str:
    promise = result["promise"]
    share = f"P{significant(100 * promise['share'], 4)}"
    out, (gap, key) = paragraph(slo(promise)) + (paragraph(verdict(result)) if result["choices"] else ""), between(promise)
    names = (
        "machine",
        "devices",
        "weights",
        "cache",
        "mean batch",
        "cache in use",
        f"TTFT {share}",
        f"{gap} {share}",
        "tokens/s",
        "$ / M tokens",
        "J / M tokens, at most",
    )
    rows: list[list[Cell]] = [
        [
            row["hardware"], str(row["devices"]), row["weights"], row["cache"], significant(row["batch"]),
            f"{100 * row['cache_peak']:.0f}%", f"{RESTS[row['basis']]}{show(row['ttft_s']['promised'], 's')}",
            f"{RESTS[row['basis']]}{show(row[key]['promised'], 's')}",
            significant(row["tokens_per_s"]),
            "–" if row["dollars_per_million_tokens"] is None else significant(row["dollars_per_million_tokens"]),
            show(row["joules_per_million_tokens"], "J"),
        ]
        for row in result["choices"]
    ]  # fmt: skip
    if rows:
        out += table(
            names, rows, "The largest rate of each machine" if result["fleet"] else "The fewest devices of each machine", range(4, 11)
        )
        out += paragraph(words) if (words := like_with_like(result)) else ""
        out += items(_how(row, promise) for row in result["choices"])
        out += items(row["command"] for row in result["choices"] if row["command"])
    return out + items(f"{row['hardware']}: {row['reason']}" for row in result["refused"]) if result["refused"] else out


def _how(row: Mapping[str, Any], promise: Mapping[str, Any]) -> str:
    told = (bottleneck(row), steep(row), likely(row, promise), takes(row), f"{BASES[row['basis']]}.")
    return f"{row['hardware']}: {'; '.join(filter(None, (replicas(row), way(row))))}. {' '.join(filter(None, told))}"


def _sources(result: Mapping[str, Any]) -> list[str]:
    load = [result["load"]["from"]] if "from" in result["load"] else []
    prices = [
        f"{slug}: ${significant(p['dollars_per_hour'])} per hour, {', '.join(filter(None, (p['vendor'], p['date'], p['source'])))}"
        for slug, p in result["prices"].items()
    ]
    return [*load, *prices, f"Energy: {result['energy']}."]


def _pareto(result: Mapping[str, Any]) -> Figure:
    """One line for each machine, each point with its layout and pools; where the SLO's limit between tokens lies."""
    series: dict[str, list[tuple[float, float]]] = {}
    for p in result["pareto"]:
        series.setdefault(p["hardware"], []).append((p["tokens_per_s_user"], p["tokens_per_s_each"]))
    users, rates = ([p[key] for p in result["pareto"]] for key in ("tokens_per_s_user", "tokens_per_s_each"))
    x = Axis("log", "new tokens per second for a user", "tokens/s", _around(users))
    y = Axis("log", "new tokens per second, per device", "tokens/s", _around(rates))
    extra = [
        mark(
            "point", "accent", x=p["tokens_per_s_user"], y=p["tokens_per_s_each"], id=f"at-{i}",
            name=f"{p['hardware']}, {parallelism(p['layout'])}, {p['pools']}, batch {p['batch']}",
        )
        for i, p in enumerate(result["pareto"])
    ]  # fmt: skip
    return lines(series, x, y, "The faster each user is served, the fewer tokens per second a device produces", extra=extra, id="pareto")


def _frontier(result: Mapping[str, Any]) -> Figure:
    series: dict[str, list[tuple[float, float]]] = {}
    for p in result["frontier"]:
        series.setdefault(f"{p['hardware']}, {p['devices_per_replica']} per replica", []).append((p["tbt_s"], p["tokens_per_s_each"]))
    times, rates = ([p[key] for p in result["frontier"]] for key in ("tbt_s", "tokens_per_s_each"))
    x, y = Axis("log", "time between tokens", "s", _around(times)), Axis("log", "new tokens per device", "tokens/s", _around(rates))
    alone = [(name, points[0]) for name, points in series.items() if len(points) == 1]  # a line of one point is none
    extra = [mark("point", "accent", x=at, y=rate, id=f"point-{name}", name=name, label=name) for name, (at, rate) in alone]
    return lines(
        series, x, y, "Full batches that no other beats in both time and cost", extra=extra, id="frontier",
    )  # fmt: skip


def _run(run: Mapping[str, Any]) -> dict[str, Figure]:
    parts = run["slices"]
    middle = (parts[1]["from_s"] - parts[0]["from_s"]) / 2
    at = [part["from_s"] + middle for part in parts]
    time = Axis("linear", "since the first request", "s", (0.0, at[-1] + middle))
    decoding, waiting, cache = ([part[key] for part in parts] for key in ("batch", "waiting", "cache"))
    most = max(*decoding, *waiting, 1.0)
    return {
        "sequences": lines(
            {"decoding": list(zip(at, decoding, strict=True)), "waiting": list(zip(at, waiting, strict=True))}, time,
            Axis("linear", "requests", "", (0.0, 1.1 * most)), f"Who decodes and who waits, one replica of {run['hardware']}",
            id="sequences",
        ),
        "cache": lines(
            {"in use": [(t, 100 * value) for t, value in zip(at, cache, strict=True)]}, time,
            Axis("linear", "of the cache", "%", (0.0, 100.0)),
            "The cache, one replica on average", id="cache",
        ),
    }  # fmt: skip


def _around(values: list[float]) -> tuple[float, float]:
    low, high = min(values), max(values)
    return low / 1.2, max(high, low * math.e) * 1.2
