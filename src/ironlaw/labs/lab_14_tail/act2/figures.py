"""Act II's pictures: tails of a shard and of a page, and a run with a pause over time."""

from __future__ import annotations

import math
from functools import lru_cache

from ironlaw.engine.serving.hedged_fleet import HedgedFleet
from ironlaw.engine.serving.hedging import HedgedRun
from ironlaw.engine.serving.queues import Wait
from ironlaw.engine.serving.tails import at_least_one, joined_tail
from ironlaw.labs.lab_14_tail.act2.fleet import OFF, Fleet
from ironlaw.pictures.ends import decades, fitted, up_to
from ironlaw.pictures.lines import lines, upright
from ironlaw.units import significant
from ironlaw.widget.figure import Axis, Figure, Mark, mark
from ironlaw.widget.hold import hold
from ironlaw.widget.quantities import exact, format_quantity

LEAST = 1e-3  # percent
WINDOWS = 40
MOST = 200.0  # percent
DRAWN = tuple(10 ** (-i / 10) for i in range(1, 71))  # shares that are slower, at which an exact law is drawn


def tails(fleet: Fleet) -> Figure:
    """Shares slower than t, log-log: a page's line is the shard's, moved up by the number of shards."""
    low, high = decades(fleet.service / 10, fleet.service * 500)
    page = f"page of {fleet.k:,}" if fleet.k > 1 else "page of one"
    drawn = fleet.law or fleet.run
    series = {"one shard": tail_of(drawn, fleet.service, 1), page: tail_of(drawn, fleet.service, fleet.k)}
    if fleet.hedge != OFF:
        series["page without backups"] = tail_of(fleet.alone, fleet.service, fleet.k)
    times = [t for points in series.values() for t, _ in points if low <= t <= high]
    low, high = fitted([0.9 * min(times), 1.1 * max(fleet.target, *times)])
    series = {name: [(min(max(t, low), high), share) for t, share in points] for name, points in series.items()}
    p99, one = fleet.page_p99, f"P{significant(100 * fleet.leaf_quantile, 6)}"
    extra: list[Mark] = [
        mark("rule", "ridge", y=1.0, dash=True, id="one-percent", label="1%: P99", name="one in a hundred", hover=[("share", "1%")]),
        upright(fleet.target, "target", "the target", "s", "good" if fleet.in_time else "fail", "target", hold("target", per=1e-3)),
        mark("point", "accent", x=min(max(p99, low), high), y=1.0, size=7, emphasis=True, id="page-p99", name="page's P99",
             label=format_quantity(p99, "s"), hover=[("page's P99", exact(p99, "s")), ("of one shard", one)]),
    ]  # fmt: skip
    return lines(
        series, Axis("log", "time to the answer", "s", (low, high)), Axis("log", "share that is slower", "%", (LEAST, 100.0)),
        _title(p99), extra=extra, id="tails", more={"height": 340},
    )  # fmt: skip


def _title(p99: float) -> str:
    if math.isinf(p99):
        return "Pages: backups make so much work that the shards never catch up"
    return f"Pages: one in a hundred takes longer than {format_quantity(p99, 's')}"


def over_time(fleet: Fleet, mine: str, level: float | None) -> Figure:
    """A simulated run with a pause: work sent, and how many are late. `mine`: what the learner said; `level`: in percent of late."""
    late = fleet.delay or fleet.alone.quantile(0.95) * fleet.service
    windows = fleet.paused.windows(late / fleet.service, WINDOWS)
    end = windows[-1].until * fleet.service
    at = [(w.until - windows[0].until / 2) * fleet.service for w in windows]
    series = {
        "work sent, of capacity": [(t, min(100 * w.load, MOST)) for t, w in zip(at, windows, strict=True)],
        "late requests": [(t, 100 * w.late) for t, w in zip(at, windows, strict=True)],
    }
    full = "" if mine and level == 100.0 else "capacity"  # the learner's own words stand on that line
    extra = [mark("rule", "ridge", y=100.0, dash=True, id="full", label=full, name="capacity", hover=[("capacity", "100%")])]
    if fleet.pause:
        start = fleet.paused.arrive[len(fleet.paused.arrive) // 5] * fleet.service
        still = "all shards stand still"
        extra.append(mark("area", "warn", x0=start, x1=start + fleet.pause, y0=0.0, y1=MOST, id="pause", label="pause", name=still))
    if mine:
        at_level = MOST if level is None else level
        extra.append(mark("rule", "accent", y=at_level, role="prediction", id="prediction", label=mine, name="your prediction"))
        last = series["late requests"][-1]
        ended = format_quantity(last[1], "%")
        extra.append(mark("point", "ink", x=last[0], y=last[1], role="truth", id="truth", name="late at the end", size=7,
                          label=f"it is {ended} late", hover=[("late at the end", exact(last[1], "%"))]))  # fmt: skip
    title = f"At the end {format_quantity(series['late requests'][-1][1], '%')} of the requests are late"
    return lines(
        series, Axis("linear", "time", "s", (0.0, up_to(max(end, fleet.pause)))), Axis("linear", "share", "%", (0.0, MOST)),
        title, extra=extra, id="over-time", more={"height": 340},
    )  # fmt: skip


def tail_of(times: HedgedRun | Wait | HedgedFleet, service: float, k: int) -> list[tuple[float, float]]:
    """(t, share slower than t, in %) of pages that join k."""
    if isinstance(times, HedgedRun):
        return [(seconds * service, 100 * share) for seconds, share in joined_tail(times.ordered, k)]
    return [(seconds * service, 100 * at_least_one(slower, k)) for seconds, slower in zip(_drawn(times), DRAWN, strict=True)]


@lru_cache(maxsize=32)
def _drawn(law: Wait | HedgedFleet) -> tuple[float, ...]:
    return tuple(law.quantile(1 - slower) for slower in DRAWN)
