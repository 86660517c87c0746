"""What `ironlaw analyze --trace` shows: the widest gaps between predicted and measured, and everything without a partner."""

from __future__ import annotations

from ironlaw.cli.show import draw
from ironlaw.report.sections.trace_section import words
from ironlaw.report.trace_join import TraceJoin, Unmatched
from ironlaw.units import show, significant


def report(joined: TraceJoin, limit: int) -> None:
    rows = joined.widest(limit)
    draw.heading("predicted beside measured", f"{len(rows)} of {len(joined.pairs)} operators, by gap")
    if joined.elsewhere:
        draw.say(f"! {joined.elsewhere}", draw.BAD)
    draw.say(words(joined), draw.DIM)
    cells = []
    for pair in rows:
        ratio = f"{significant(pair.measured / pair.predicted)}×" if pair.predicted > 0 else "–"
        gap = f"{'−' if pair.gap < 0 else '+'}{show(abs(pair.gap), 's')}"
        times = (show(pair.predicted, "s"), show(pair.measured, "s"), (gap, draw.STRONG))
        cells.append((pair.name, pair.kind, *times, ratio, str(len(pair.kernels))))
    columns = ["operator", "kind", "predicted", "measured", "gap", "ratio", "kernels"]
    if cells:
        draw.table(columns, cells, left=(), text=("operator", "kind"))
    _unmatched("predicted, not in the trace", joined.missing)
    _unmatched("in the trace, not predicted", joined.extra)


def _unmatched(title: str, unmatched: tuple[Unmatched, ...]) -> None:
    if unmatched:
        listed = ", ".join(f"{item.name} ×{item.count:,.4g} ({show(item.seconds, 's')})" for item in unmatched)
        draw.say(f"! {title}: {listed}", draw.BAD)
