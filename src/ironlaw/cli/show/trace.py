"""What `ironlaw analyze --trace` shows: the widest gaps between predicted and measured, and everything without a partner."""

from __future__ import annotations

from typing import Any

from ironlaw.cli.show import draw
from ironlaw.report.sections.trace import words
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


def as_json(joined: TraceJoin) -> dict[str, Any]:
    def rest(unmatched: tuple[Unmatched, ...]) -> list[dict[str, Any]]:
        return [{"name": item.name, "count": item.count, "seconds": item.seconds} for item in unmatched]

    pairs = [
        {
            "name": p.name,
            "kind": p.kind,
            "aten": p.aten,
            "predicted_s": p.predicted,
            "measured_s": p.measured,
            "gap_s": p.gap,
            "kernels": p.kernels,
        }
        for p in joined.pairs
    ]
    return {
        "file": joined.trace.name, "device": joined.trace.device, "on_device": joined.on_device, "runs": joined.runs,
        "warning": joined.elsewhere or None,
        "hardware": joined.prediction.hardware.slug, "predicted_s": joined.predicted, "measured_s": joined.measured,
        "pairs": pairs, "missing": rest(joined.missing), "extra": rest(joined.extra),
    }  # fmt: skip
