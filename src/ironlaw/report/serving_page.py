"""What `ironlaw capacity` found, as one HTML file: the choices, what no other batch beats, and the run over time."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from ironlaw.pictures.lines import colour_of, lines, upright
from ironlaw.report.accuracy import RESTS
from ironlaw.report.markup import Cell, items, paragraph, prose, table, text
from ironlaw.report.report_page import figure_place, frame, laid_out, script
from ironlaw.report.serving_words import (
    ALIKE,
    alike,
    between,
    bottleneck,
    by_standing,
    grounds,
    like_with_like,
    likely,
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
from ironlaw.widget.figure import Axis, Figure, mark
from ironlaw.widget.glossary_words import explanations, marked


def html(result: Mapping[str, Any]) -> str:
    figures: dict[str, Figure] = {}
    sections = [("summary", "Each machine", _summary(result))]
    if result["pareto"]:
        figures["pareto"] = _pareto(result)
        sections.append(("pareto", "Speed for a user against throughput", figure_place("pareto")))
    if "run" in result:
        figures |= _run(result["run"])
        sections.append(("run", "The run over time", figure_place("sequences") + figure_place("cache")))
    sections.append(("sources", "Sources", items(_sources(result))))
    links, body = laid_out(sections)
    carried = {"figures": {name: figure.to_dict() for name, figure in figures.items()}, "grids": {}, "terms": explanations(marked(body))}
    load = result["load"]
    rate = f"{significant(load['rate'])} requests per second" if load["rate"] else "Requests that come at once"
    if result["fleet"]:
        rate = f"As many requests as {counted(result['fleet'], 'device')} can take"
    head = f'<p class="kicker">ironlaw capacity</p><h1>{text(result["model"])}</h1>' + _answer(result, rate)
    return frame(f"{result['model']}: serving", head, links, body, carried, script(), "Pictures need JavaScript; the tables do not.")


def _answer(result: Mapping[str, Any], rate: str) -> str:
    """The question in a line, what to bet on, and what ties with it."""
    load = result["load"]
    asked = f"{rate}, {significant(load['prompt'], 4)} + {significant(load['output'], 4)} tokens on average. {slo(result['promise'])}"
    if not result["answer"]:
        return paragraph(asked) + f'<p class="lede"><strong>{text(verdict(result))}</strong></p>'
    row = next(row for row in result["choices"] if row["hardware"] == result["answer"]["hardware"])
    out = paragraph(asked) + f'<p class="lede"><strong>{text(verdict(result))}</strong></p>'
    out += f"<p>{prose(words)}</p>" if (words := tied(result)) else ""
    return out + _command(row)


def _command(row: Mapping[str, Any]) -> str:
    """What starts the deployment to plan with."""
    command = (row["safe"] or row)["command"]
    return f"<pre><code>{text(command)}</code></pre>" if command else ""


def _summary(result: Mapping[str, Any]) -> str:
    promise, rows = result["promise"], ranked(result) if result["choices"] else []
    share = f"P{significant(100 * promise['share'], 4)}"
    gap, key = between(promise)
    fleet = bool(result["fleet"])
    names = (
        "machine", "verdict", "devices", *(() if fleet else ("sure",)), "$ / hour", "$ / M tokens", f"TTFT {share}", f"{gap} {share}",
        *((ALIKE,) if alike(rows) else ()), "tokens/s", "mean batch", "cache in use", "weights", "cache", "J / M tokens, at most",
    )  # fmt: skip
    cells: list[list[Cell]] = [
        [
            row["hardware"], standing(result, row), str(row["devices"]), *(() if fleet else (sure_number(row),)),
            *("–" if row[cost] is None else significant(row[cost]) for cost in ("dollars_per_hour", "dollars_per_million_tokens")),
            f"{RESTS[row['basis']]}{show(row['ttft_s']['promised'], 's')}", f"{RESTS[row['basis']]}{show(row[key]['promised'], 's')}",
            *((show(row["step_alike_s"], "s") if row["step_alike_s"] else "–",) if alike(rows) else ()),
            significant(row["tokens_per_s"]), significant(row["batch"]), f"{100 * row['cache_peak']:.0f}%", row["weights"], row["cache"],
            show(row["joules_per_million_tokens"], "J"),
        ]
        for row in rows
    ]  # fmt: skip
    out = ""
    if rows:
        out += table(
            names, cells, "The largest rate of each machine" if fleet else "The fewest devices of each machine", range(2, len(names))
        )
        out += items(f"{row['hardware']}: {_how(row, promise, fleet)}" for row in rows)
        others = [row for row in rows if row["command"] and row["hardware"] != result["answer"]["hardware"]]
        out += "".join(f"<p>To start it on {row['hardware']}:</p>{_command(row)}" for row in others)
        out += paragraph(f"{grounds(rows)} {like_with_like(result)}")
    return out + items(f"{row['hardware']}: {row['reason']}" for row in result["refused"]) if result["refused"] else out


def _how(row: Mapping[str, Any], promise: Mapping[str, Any], fleet: bool) -> str:
    told = (bottleneck(row), steep(row), likely(row, promise, fleet), takes(row))
    return f"{'; '.join(filter(None, (replicas(row), way(row))))}. {' '.join(filter(None, told))}"


def _sources(result: Mapping[str, Any]) -> list[str]:
    load = [result["load"]["from"]] if "from" in result["load"] else []
    prices = [
        f"{slug}: ${significant(p['dollars_per_hour'])} per hour, {', '.join(filter(None, (p['vendor'], p['date'], p['source'])))}"
        for slug, p in result["prices"].items()
    ]
    return [*load, *prices, f"Energy: {result['energy']}."]


def _pareto(result: Mapping[str, Any]) -> Figure:
    """One line for each machine, each point with its layout and pools; where the SLO's limit between tokens lies; and the answer."""
    series: dict[str, list[tuple[float, float]]] = {}
    points = by_standing(result, result["pareto"])
    for p in reversed(points):  # from the most tokens per device on: a line's name stands where users are served fastest
        series.setdefault(p["hardware"], []).append((p["tokens_per_s_user"], p["tokens_per_s_each"]))
    series = dict(reversed(series.items()))
    users, rates = ([p[key] for p in points] for key in ("tokens_per_s_user", "tokens_per_s_each"))
    furthest, (low, high) = 1.05 * max(users), _around(rates)
    x = Axis("linear", "new tokens per second for a user", "tokens/s", (0.0, furthest))
    y = Axis("log", "new tokens per second, per device", "tokens/s", (low, high))
    extra = [
        mark(
            "point", colour_of(list(series).index(p["hardware"])), x=p["tokens_per_s_user"], y=p["tokens_per_s_each"], id=f"at-{i}", size=3,
            name=f"{p['hardware']}, {parallelism(p['layout'])}, {p['pools']}, batch {p['batch']}",
        )
        for i, p in enumerate(points)
    ]  # fmt: skip
    limit = result["promise"]["tpot_s"] or result["promise"]["tbt_s"]
    if 1 / limit < furthest:
        extra.append(upright(1 / limit, f"SLO: {show(limit, 's')} per token", "tokens per second for a user, by the SLO", "tokens/s"))
    if result["answer"]:
        row = next(row for row in result["choices"] if row["hardware"] == result["answer"]["hardware"])
        user, each = 1 / row["tpot_s"]["p50"] if row["tpot_s"]["p50"] else furthest, row["tokens_per_s"] / row["devices"]
        if low <= each <= high and user <= furthest:
            name = f"this load on {row['devices']} × {row['hardware']}"
            extra.append(mark("point", "accent", x=user, y=each, id="answer", name=name, label="this load", size=7, shape="diamond"))
    return lines(series, x, y, "The faster each user is served, the fewer tokens per second a device produces", extra=extra, id="pareto")


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
