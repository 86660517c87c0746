"""What `ironlaw analyze --trace` shows: the widest gaps between predicted and measured, and everything without a partner."""

from __future__ import annotations

from ironlaw.cli.show import draw
from ironlaw.report import trace_idle
from ironlaw.report.sections.trace_section import words
from ironlaw.report.trace_idle import Whereabouts
from ironlaw.report.trace_join import TraceJoin, Unmatched
from ironlaw.report.trace_reasons import reason
from ironlaw.units import show, significant

SIDE_BY_SIDE = 3  # ranks
HEADS = {
    "computing": "computing",
    "communicating": "exposed",
    "other_rank": "for a rank",
    "data": "for data",
    "synchronising": "for sync",
    "launching": "launching",
}


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
        cells.append((pair.name, *times, ratio, reason(pair, joined.on_device)))
    columns = ["operator", "predicted", "measured", "gap", "ratio", "why"]
    if cells:
        draw.table(columns, cells, left=("why",), text=("operator", "why"))
    _unmatched("predicted, not in the trace", joined.missing)
    _unmatched("in the trace, not predicted", joined.extra)


def _ranks(ranks: tuple[Whereabouts, ...]) -> None:
    """Where each rank's time went."""
    if len(ranks) > SIDE_BY_SIDE:
        _one_below_another(ranks)
        return
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
    _last(ranks)


def _one_below_another(ranks: tuple[Whereabouts, ...]) -> None:
    names = [name for name in HEADS if any(getattr(one, name) > 0 for one in ranks)]
    rows = [
        (
            one.name(place), *(show(getattr(one, name), "s") for name in names), show(one.total, "s"),
            draw.percent(one.overlap) if one.overlap is not None else "–",
        )
        for place, one in enumerate(ranks)
    ]  # fmt: skip
    draw.table(["traced run", *(HEADS[name] for name in names), "total", "hidden"], rows, left=("traced run",))
    exposed = [f"{HEADS[name]}: {trace_idle.WHERE[name]}" for name in names if HEADS[name] not in trace_idle.WHERE[name]]
    draw.say("; ".join([*exposed, "hidden: the share of communication behind computing"]), draw.DIM)
    _last(ranks)


def _last(ranks: tuple[Whereabouts, ...]) -> None:
    if said := trace_idle.last_to_come(ranks):
        draw.say(said, draw.STRONG)


def _unmatched(title: str, unmatched: tuple[Unmatched, ...]) -> None:
    if unmatched:
        listed = ", ".join(f"{item.name} ×{item.count:,.4g} ({show(item.seconds, 's')})" for item in unmatched)
        draw.say(f"! {title}: {listed}", draw.BAD)
