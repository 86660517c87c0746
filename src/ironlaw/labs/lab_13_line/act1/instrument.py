"""Act I: the staircase. Dials to a line, the line to its picture; the law is the engine's."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from ironlaw import kit
from ironlaw.engine.serving.line import Run, Window
from ironlaw.kit import settings
from ironlaw.kit.formula import fraction, line
from ironlaw.labs.lab_13_line.act1 import figures, local_runs
from ironlaw.labs.lab_13_line.act1.system import IN_FLIGHT, RATE, TICK, System
from ironlaw.pictures.staircase_picture import SHOWN, staircase
from ironlaw.units import significant
from ironlaw.widget.figure import tabbed
from ironlaw.widget.hold import hold

CLAIMS = ("littles_law_needs_poisson", "knee_at_70", "mm1_p99_23x")
MORE = ("burst", "sigma", "order", "requests", "window", "opens", "closes", "seed")  # dials in the fold


def dials(lab: kit.Lab) -> Any:
    def dials_at(values: Mapping[str, Any]) -> list[Any]:
        edge = {"hidden": values.get("window") != "cut"}
        return settings.dials(
            System,
            burst={"hidden": values.get("arrivals") != "bursts"},
            sigma={"hidden": values.get("service") != "lognormal"},
            opens=edge,
            closes=edge,
        )

    return dials_at


def view(lab: kit.Lab, values: Mapping[str, Any]) -> kit.View:
    system = settings.read(System, values)
    run, edges = system.run, system.edges
    end = shown_seconds(system)
    marks = figures.marks(lab, system.rate, end)
    opens, closes = (hold(dial, per=run.span * TICK / 100) for dial in ("opens", "closes"))
    drags = (opens, closes) if system.opens <= system.closes else (closes, opens)
    window = (edges[0] * TICK, edges[1] * TICK) if edges else None
    drawn = staircase(run, system.cut, tick=TICK, end=end, window=window, drags=drags, extra=marks)
    cut = run.within(run.arrive[0] + edges[0], run.arrive[0] + edges[1]) if edges else None
    return kit.View(
        figures=[
            tabbed(drawn, "Arrivals and departures"),
            tabbed(figures.law(rate(run), float(run.mean) * TICK, float(run.in_flight), local_runs.points(lab)), "Little's law"),
        ],
        cards=cards(run, cut),
        formula=formula(run, cut),
        note=kit.html(notes(lab, system, cut)),
        readouts={"in_flight": round(float(run.in_flight), 4), "rate": round(rate(run), 4), "seconds": round(float(run.mean) * TICK, 6)},
    )


def shown_seconds(system: System) -> float:
    """What is drawn: the first requests, from the first arrival until most of them have left."""
    return _round_up(SHOWN / system.rate + 1.2 * system.mean)


def _round_up(seconds: float) -> float:
    """Where the time axis ends: it stays while a dial moves a little."""
    size = 10.0 ** math.floor(math.log10(seconds))
    return next(step * size for step in (1.0, 1.5, 2.0, 3.0, 4.0, 6.0, 8.0, 10.0) if step * size >= seconds)


def rate(run: Run) -> float:
    """λ per second."""
    return float(run.rate) / TICK


def cards(run: Run, cut: Window | None) -> list[dict[str, Any]]:
    mean, inside = float(run.mean) * TICK, float(run.in_flight)
    rows = [
        kit.card("In flight, L", inside, note="on average over the run"),
        kit.card("Finished, λ", rate(run), "/s"),
        kit.card("Mean time, W", mean, "s", note=f"λ·W = {significant(rate(run) * mean)}"),
        kit.card("P99", float(run.quantile(0.99)) * TICK, "s", note="one in a hundred takes longer"),
    ]
    return [*rows, kit.card("Cut off at the edges", abs(float(cut.edge)) * TICK, "s", note="of the requests' time")] if cut else rows


def formula(run: Run, cut: Window | None) -> str:
    """Both cuts of the area, to the last digit."""
    if cut:
        inside = f"{digits(cut.by_request)} {'+' if cut.edge >= 0 else '−'} {digits(abs(cut.edge))}"
        return line("area inside =", digits(cut.area)) + line("rows of those that came + edge =", inside)
    columns = line("by columns, ∫ <i>N</i> d<i>t</i> =", digits(run.area_by_time)) + line(
        "by rows, Σ <i>W<sub>i</sub></i> =", digits(run.area_by_request)
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
    texts.append(lab.fill("act1.dashboard", rate=f"{RATE:g} per second", in_flight=IN_FLIGHT))
    return "\n\n".join(texts)
