"""The section on a trace: predicted beside measured, op by op, and what has no partner on either side."""

from __future__ import annotations

import re
from typing import Any

from ironlaw.report import trace_idle
from ironlaw.report.markup import Cell, paragraph, table
from ironlaw.report.trace_join import TraceJoin, Unmatched
from ironlaw.report.trace_reasons import reason
from ironlaw.units import significant
from ironlaw.widget.quantities import format_quantity

COLUMNS: list[dict[str, Any]] = [
    {"label": "operator"}, {"label": "kind"}, {"label": "in the trace"}, {"label": "predicted", "unit": "s"},
    {"label": "measured", "unit": "s"}, {"label": "gap", "unit": "s"}, {"label": "measured / predicted", "unit": "×"},
    {"label": "kernels", "unit": ""}, {"label": "their names"}, {"label": "why"},
]  # fmt: skip


def words(joined: TraceJoin) -> str:
    p, trace = joined.prediction, joined.trace
    what = "kernels" if joined.on_device else "operators on the CPU (it has no device kernels, so each operator's own time is used)"
    runs = "one run" if joined.runs == 1 else f"the median of {joined.runs} runs"
    where = f" on {trace.device}" if trace.device else ""
    return (
        f"{trace.name}{where}: {what}, {runs}, compared with the prediction for {p.hardware.name}, {p.plan.mode}."
        f" {len(joined.pairs):,} operators have a partner."
        f" Without one: {_count(joined.missing)} predicted, {_count(joined.extra)} measured."
        f" Predicted {format_quantity(joined.predicted, 's')} of device time,"
        f" measured {format_quantity(joined.measured, 's')}{_ratio(joined)}."
    )


def _count(unmatched: tuple[Unmatched, ...]) -> str:
    return f"{sum(item.count for item in unmatched):,.0f}"


def _ratio(joined: TraceJoin) -> str:
    return f": {significant(joined.measured / joined.predicted)}×" if joined.predicted > 0 else ""


def section(joined: TraceJoin) -> tuple[str, dict[str, Any]]:
    rows = []
    for pair in joined.pairs:
        ratio = pair.measured / pair.predicted if pair.predicted > 0 else None
        names = ", ".join(dict.fromkeys(map(plain, pair.kernels)))
        rows.append(
            [
                pair.name,
                pair.kind,
                pair.aten,
                pair.predicted,
                pair.measured,
                pair.gap,
                ratio,
                len(pair.kernels),
                names,
                reason(pair, joined.on_device),
            ]
        )
    out = (paragraph(joined.elsewhere, "c-warn") if joined.elsewhere else "") + paragraph(words(joined)) + _ranks(joined)
    out += '<div data-grid="trace"></div>'
    out += _leftovers("Predicted, not in the trace", joined.missing) + _leftovers("In the trace, not predicted", joined.extra)
    return out, {"label": "Predicted beside measured", "columns": COLUMNS, "rows": rows, "kind": 1, "sort": [5, 0]}


def _ranks(joined: TraceJoin) -> str:
    """Where the time of the traced run went."""
    if not joined.ranks:
        return ""
    heads = [one.name(place) for place, one in enumerate(joined.ranks)] if len(joined.ranks) > 1 else ["time"]
    rows: list[list[Cell]] = [[name, *(format_quantity(s, "s") for s in each)] for name, each in trace_idle.table(joined.ranks)]
    rows.append(["total", *(format_quantity(one.total, "s") for one in joined.ranks)])
    last = trace_idle.last_to_come(joined.ranks)
    out = table(("of the traced run", *heads), rows, "Where the time of the traced run went", tuple(range(1, len(heads) + 1)))
    return out + (paragraph(last) if last else "")


def plain(kernel: str) -> str:
    """`void at::native::vectorized_elementwise_kernel<4, …>(int, …)` -> `vectorized_elementwise_kernel`."""
    name = re.split(r"[<(]", kernel.removeprefix("void "))[0].strip()
    return name.rpartition("::")[2] or kernel[:60]


def _leftovers(title: str, unmatched: tuple[Unmatched, ...]) -> str:
    if not unmatched:
        return f"<h3>{title}</h3>" + paragraph("None.", "il-quiet")
    rows: list[list[Cell]] = [[item.name, f"{item.count:,.4g}", format_quantity(item.seconds, "s")] for item in unmatched]
    return f"<h3>{title}</h3>" + table(("operator or kernel", "a run", "together"), rows, title, (1, 2))
