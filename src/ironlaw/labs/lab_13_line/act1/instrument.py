"""Act I: the staircase. Dials to a line, the line to its picture; the law is the engine's."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from ironlaw import kit
from ironlaw.engine.serving.line import Run, Window
from ironlaw.kit.formula import fraction, line
from ironlaw.labs.lab_13_line.act1 import figures
from ironlaw.labs.lab_13_line.act1.system import ARRIVALS, IN_FLIGHT, ORDERS, RATE, SERVICES, TICK, System, system_of
from ironlaw.pictures.staircase import SHOWN, staircase
from ironlaw.units import significant
from ironlaw.widget.figure import tabbed

CUTS = {"columns": "columns", "rows": "rows"}
WINDOWS = {"empty": "empty to empty", "cut": "any cut"}
CLAIMS = ("littles_law_needs_poisson", "knee_at_70", "mm1_p99_23x")
FIRST = System()


def dials(lab: kit.Lab) -> Any:
    def dials_at(values: Mapping[str, Any]) -> list[Any]:
        arrivals, service, window = (values.get(name) for name in ("arrivals", "service", "window"))
        return [
            kit.choice("cut", "Cut the area into", list(CUTS.items())),
            kit.choice("arrivals", "Arrivals", list(ARRIVALS.items()), FIRST.arrivals),
            kit.span("burst", "Requests in a burst", 1, 50, FIRST.burst, whole=True, hidden=arrivals != "bursts"),
            kit.span("rate", "Requests per second", 0.1, 1000, FIRST.rate, log=True, unit="/s"),
            kit.select("service", "Service times", list(SERVICES.items()), FIRST.service),
            kit.span("sigma", "Spread σ of their logarithm", 0.1, 1.5, FIRST.sigma, step=0.1, hidden=service != "lognormal"),
            kit.span("mean", "Mean service time", 0.001, 60, FIRST.mean_s, log=True, unit="s"),
            kit.span("servers", "Servers", 1, 64, FIRST.servers, log=True, whole=True),
            kit.select("order", "Who is next", list(ORDERS.items()), FIRST.order),
            kit.span("requests", "Requests", 50, 5000, FIRST.requests, log=True, whole=True),
            kit.choice("window", "Look at it from", list(WINDOWS.items())),
            kit.span("opens", "The window opens after", 0, 90, 25, unit="%", hidden=window != "cut"),
            kit.span("closes", "and closes after", 10, 100, 60, unit="%", hidden=window != "cut"),
            kit.span("seed", "Another day", 0, 20, FIRST.seed, whole=True),
        ]

    return dials_at


def view(lab: kit.Lab, values: Mapping[str, Any]) -> kit.View:
    system = system_of(values)
    run, window = system.run, window_of(system.run, values)
    edges = (window[0] * TICK, window[1] * TICK) if window else None
    end = _round_up(SHOWN / system.rate + 1.2 * system.mean_s)
    drawn = staircase(run, values["cut"], tick=TICK, end=end, window=edges)
    cut = run.within(run.arrive[0] + window[0], run.arrive[0] + window[1]) if window else None
    return kit.View(
        figures=[tabbed(drawn, "The area"), tabbed(figures.answer(lab), "Your answer")],
        cards=cards(run, system, cut),
        formula=formula(run, cut),
        note=kit.html(notes(lab, system, cut)),
        readouts={"in_flight": round(float(run.in_flight), 4), "rate": round(rate(run), 4), "seconds": round(float(run.mean) * TICK, 6)},
    )


def _round_up(seconds: float) -> float:
    """Where the time axis ends: it stays while a dial moves a little."""
    size = 10.0 ** math.floor(math.log10(seconds))
    return next(step * size for step in (1.0, 1.5, 2.0, 3.0, 4.0, 6.0, 8.0, 10.0) if step * size >= seconds)


def window_of(run: Run, values: Mapping[str, Any]) -> tuple[int, int] | None:
    """Nanoseconds after the first arrival at which the window opens and closes; None from empty to empty."""
    if values["window"] == "empty":
        return None
    opens, closes = sorted((values["opens"], values["closes"]))
    return round(run.span * opens / 100), max(round(run.span * closes / 100), round(run.span * opens / 100) + 1)


def rate(run: Run) -> float:
    """λ per second."""
    return float(run.rate) / TICK


def cards(run: Run, system: System, cut: Window | None) -> list[dict[str, Any]]:
    mean, inside = float(run.mean) * TICK, float(run.in_flight)
    rows = [
        kit.card("In flight, L", inside, note="on average"),
        kit.card("Finished, λ", rate(run), "/s"),
        kit.card("Mean time, W", mean, "s", note=f"λ·W = {significant(rate(run) * mean)}"),
        kit.card("P99", float(run.quantile(0.99)) * TICK, "s", note="one in a hundred takes longer"),
    ]
    return [*rows, kit.card("Cut off at the edges", abs(float(cut.edge)) * TICK, "s", note="of requests' time")] if cut else rows


def formula(run: Run, cut: Window | None) -> str:
    """Both cuts of the area, to the last digit."""
    if cut:
        inside = f"{digits(cut.by_request)} {'+' if cut.edge >= 0 else '−'} {digits(abs(cut.edge))}"
        return line("area inside =", digits(cut.area)) + line("rows of those who came + edge =", inside)
    columns = line("columns: ∫ <i>N</i> d<i>t</i> =", digits(run.area_by_time)) + line(
        "rows: Σ <i>W<sub>i</sub></i> =", digits(run.area_by_request)
    )
    law = fraction(digits(run.area_by_time), digits(run.span))
    return columns + line("<i>L</i> =", law, "=", significant(float(run.in_flight), 6))


def digits(nanoseconds: int) -> str:
    """Seconds with every digit there is."""
    return kit.dress(f"{nanoseconds // 10**9:,}.{nanoseconds % 10**9:09d} s")


def notes(lab: kit.Lab, system: System, cut: Window | None) -> str:
    texts = (
        [lab.fill("act1.edges", before=kit.amount(float(cut.before) * TICK, "s"), after=kit.amount(float(cut.after) * TICK, "s"))]
        if cut
        else []
    )
    if system.load >= 1:
        texts.append(lab.fill("act1.overloaded", load=kit.amount(100 * system.load, "%")))
    if system.order != "fifo" or system.servers > 1:
        texts.append(lab.fill("act1.other_order"))
    texts.append(lab.fill("act1.dashboard", rate=kit.amount(RATE, "/s"), in_flight=IN_FLIGHT))
    return "\n\n".join(texts)
