"""What `ironlaw analyze --trace` shows: the widest gaps between predicted and measured, and everything without a partner."""

from __future__ import annotations

from ironlaw.cli.show import draw
from ironlaw.report import trace_idle
from ironlaw.report.sections.trace_section import words
from ironlaw.report.trace_idle import Whereabouts
from ironlaw.report.trace_join import TraceJoin, Unmatched
from ironlaw.report.trace_reasons import reason
from ironlaw.units import show, significant


def report(joined: TraceJoin, limit: int) -> None:
    rows = joined.widest(limit)
    draw.heading("predicted beside measured", f"{len(rows)} of {len(joined.pairs)} operators, by gap")
    if joined.elsewhere:
        draw.say(f"! {joined.elsewhere}", draw.BAD)
    draw.say(words(joined), draw.DIM)
    if joined.ranks:
        _ranks(joined.ranks)
    cells = []
    for pair in rows:
        ratio = f"{significant(pair.measured / pair.predicted)}×" if pair.predicted > 0 else "–"
        gap = f"{'−' if pair.gap < 0 else '+'}{show(abs(pair.gap), 's')}"
        times = (show(pair.predicted, "s"), show(pair.measured, "s"), (gap, draw.STRONG))
        cells.append((pair.name, *times, ratio, reason(pair)))
    columns = ["operator", "predicted", "measured", "gap", "ratio", "why"]
    if cells:
        draw.table(columns, cells, left=("why",), text=("operator", "why"))
    _unmatched("predicted, not in the trace", joined.missing)
    _unmatched("in the trace, not predicted", joined.extra)


def _ranks(ranks: tuple[Whereabouts, ...]) -> None:
    """Where each rank's time went."""
    rows = [
        (words, *(f"{show(s, 's')} ({draw.percent(s / one.total)})" for s, one in zip(seconds, ranks, strict=True)))
        for words, seconds in trace_idle.table(ranks)
    ]
    heads = [one.name(place) for place, one in enumerate(ranks)] if len(ranks) > 1 else ["time"]
    draw.table(["of the traced run", *heads], [*rows, ("total", *(show(one.total, "s") for one in ranks))], left=("of the traced run",))
    for head, one in zip(heads, ranks, strict=True):
        if one.overlap is not None:
            who = f"{head}: " if len(ranks) > 1 else ""
            draw.say(f"{who}computing hides {draw.percent(one.overlap)} of the communication", draw.DIM)


def _unmatched(title: str, unmatched: tuple[Unmatched, ...]) -> None:
    if unmatched:
        listed = ", ".join(f"{item.name} ×{item.count:,.4g} ({show(item.seconds, 's')})" for item in unmatched)
        draw.say(f"! {title}: {listed}", draw.BAD)
