"""Act I's second picture: the dashboard's area, and the one that the learner's answer makes."""

from __future__ import annotations

from ironlaw import kit
from ironlaw.labs.lab_13_line.act1.system import IN_FLIGHT, RATE
from ironlaw.units import significant
from ironlaw.widget.figure import Axis, Figure, Mark, Table, mark
from ironlaw.widget.quantities import exact, format_quantity

MINUTE = 60.0  # of the day that the dashboard shows


def answer(lab: kit.Lab) -> Figure:
    """Requests' time in one minute of the dashboard: columns, rows at the computed mean, and rows at the learner's."""
    option, truth = lab.choice("act1"), float(lab.question("act1").answer)
    finished = RATE * MINUTE
    rows = {
        f"columns: {IN_FLIGHT} in flight for a minute": (IN_FLIGHT * MINUTE, "compute"),
        f"rows: {significant(finished)} requests of {format_quantity(truth, 's')}": (finished * truth, "memory"),
    }
    if option is not None and isinstance(option.value, float) and option.value != truth:
        rows[f"rows, your answer: {significant(finished)} of {format_quantity(option.value, 's')}"] = (finished * option.value, "accent")
    marks: list[Mark] = [
        mark("bar", colour, x=area, y=name, id=name.partition(":")[0], name=name, label=format_quantity(area, "s"),
             hover=[("area", exact(area, "s"))])
        for name, (area, colour) in rows.items()
    ]  # fmt: skip
    words = "; ".join(f"{name}, {format_quantity(area, 's')}" for name, (area, _) in rows.items())
    table = tuple((name, format_quantity(area, "s"), exact(area, "s")) for name, (area, _) in rows.items())
    return Figure(
        "answer", "One minute of the dashboard", Axis("linear", "requests' time, together", "s", (0.0, 12_000.0)),
        Axis("band", names=tuple(rows)), tuple(marks), f"{words}.", Table(("cut", "area", "exactly"), table),
    )  # fmt: skip
