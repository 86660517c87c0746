"""Whether compiling pays: after how many calls, on which day at the reader's volume, or never."""

from __future__ import annotations

import math
from collections.abc import Sequence

from ironlaw.engine.device.compilation import DAY
from ironlaw.engine.device.compilation import saving as net_saving
from ironlaw.pictures.saving import Crossing, saving
from ironlaw.report.analysis import Analysis, Payback, paybacks
from ironlaw.report.markup import Cell, items, paragraph, table
from ironlaw.units import counted, enumerated
from ironlaw.widget.figure import Figure
from ironlaw.widget.quantities import THIN, format_quantity

AHEAD = 2.5  # the picture goes on to this many times the break-even


def verdict(pay: Payback, per_day: float | None) -> str:
    """`compiling pays for itself after about 1,230 calls; at 10,000 calls per day, on day 1`."""
    way = _way(pay)
    if pay.saved <= 0:
        now, then = format_quantity(pay.eager, "s"), format_quantity(pay.compiled, "s")
        return f"{way} never pays: a call takes {f'{now} either way' if now == then else f'{then} instead of {now} eager'}"
    if pay.calls is None:
        each = counted(float(f"{1 / pay.saved:.3g}"), "call")
        return f"{way} saves {format_quantity(pay.saved, 's')} per call, so each second of compiling pays for itself after {each}"
    text = f"{way} pays for itself after {_calls(pay)}"
    if pay.days is not None and per_day:
        text += f"; at {per_day:,.0f} calls per day, on day {max(1, math.ceil(pay.days)):,}"
    return text


def by_mode(pays: Sequence[Payback], per_day: float | None, name: str = "slug") -> list[str]:
    """A sentence for each mode that pays on several machines, after how many calls on each; one for each other run."""
    out: list[str] = []
    for mode in dict.fromkeys(pay.mode for pay in pays):
        mine = [pay for pay in pays if pay.mode == mode]
        paying = [pay for pay in mine if pay.saved > 0 and pay.calls is not None and math.isfinite(pay.calls)]
        if len(paying) > 1:
            after = enumerated([f"{_calls(pay)} on {getattr(pay.machine, name)}" for pay in paying])
            days = dict.fromkeys(f"{max(1, math.ceil(pay.days)):,}" for pay in paying if pay.days is not None)
            on = f"; at {per_day:,.0f} calls per day, on day {' or '.join(days)}" if per_day and days else ""
            out.append(f"{_way(paying[0]).capitalize()} pays for itself after {after}{on}.")
            mine = [pay for pay in mine if pay not in paying]
        out += [f"{getattr(pay.machine, name)}: {verdict(pay, per_day)}." for pay in mine]
    return out


def section(analysis: Analysis) -> tuple[str, Figure | None]:
    pays = paybacks(analysis)
    if not pays:
        return paragraph(
            "To see when compiling pays for itself, predict one machine both eager and compiled (--mode eager,compiled)."
        ), None
    out = items(by_mode(pays, analysis.per_day, "name"), "verdicts")
    columns = ["machine", "mode", "eager call", "call in this mode", "saved per call", "compile time", "pays after", "on day"]
    shown = len(columns) if any(pay.days is not None for pay in pays) else -1  # days are known with --per-day
    out += table(columns[:shown], [_row(pay)[:shown] for pay in pays], "When compiling pays", (2, 3, 4, 5, 6, 7))
    known = {pay.machine.slug: pay.compiling for pay in pays if pay.compiling}
    if known:
        out += paragraph("Compile time: " + "; ".join(dict.fromkeys(c.source for c in known.values() if c)) + ".", "il-quiet")
    else:
        out += paragraph("The compile time is not known here: give one with --compile-s, and your volume with --per-day.", "il-quiet")
    return out, _picture(pays, analysis.per_day)


def _way(pay: Payback) -> str:
    return "compiling" if pay.mode == "compiled" else "compiling and replaying as a graph"


def _calls(pay: Payback) -> str:
    """Rounded where the compile time is only predicted."""
    calls = math.ceil(pay.calls or 0)
    return f"about {counted(float(f'{calls:.3g}'), 'call')}" if pay.compiling and pay.compiling.predicted else counted(calls, "call")


def _row(pay: Payback) -> list[Cell]:
    calls: Cell = "–" if pay.calls is None else ("never", "c-fail") if math.isinf(pay.calls) else _calls(pay)
    if pay.saved <= 0:
        calls = ("never", "c-fail")
    day = "–" if pay.days is None else "never" if math.isinf(pay.days) else f"{max(1, math.ceil(pay.days)):,}"
    cost = f"{'≈' + THIN if pay.compiling.predicted else ''}{format_quantity(pay.compiling.seconds, 's')}" if pay.compiling else "–"
    saved = f"{'−' if pay.saved < 0 else ''}{format_quantity(abs(pay.saved), 's')}"
    return [pay.machine.name, pay.mode, format_quantity(pay.eager, "s"), format_quantity(pay.compiled, "s"), saved, cost, calls, day]


def _picture(pays: list[Payback], per_day: float | None) -> Figure | None:
    """For the first that pays at the reader's volume."""
    pay = next((p for p in pays if p.days and p.calls and math.isfinite(p.days)), None)
    if pay is None or pay.compiling is None or per_day is None or pay.days is None or pay.calls is None:
        return None
    rates = (pay.compiling.seconds, 1 / pay.eager, 1 / pay.compiled, per_day)
    ahead = AHEAD * pay.days
    days = float(math.ceil(ahead)) if ahead > 1 else ahead  # within the first day the picture is of its first hours
    lasting = f"{days:,.0f} days" if ahead > 1 else format_quantity(days * DAY, "s")
    return saving(lambda day: float(net_saving(day, *rates)), days, Crossing(pay.days, pay.calls), lasting, id="saving")
