"""Shares of a whole as bars to 100%, with a target line, and the prediction against the truth."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ironlaw.pictures.theme import tone
from ironlaw.units import significant
from ironlaw.widget.figure import Axis, Figure, Mark, Table, mark
from ironlaw.widget.quantities import exact, format_quantity

UNIT = "%"
TONES = {"good": "good", "middling": "warn", "bad": "fail"}


def meter(
    rows: Mapping[str, float], title: str, *, line: float = 80.0, chosen: str = "", extra: Sequence[Mark] = (), note: str = "",
    quantity: str = "utilization", id: str = "meter",
) -> Figure:  # fmt: skip
    """`rows`: name -> percent. Bars are coloured by the thresholds of `quantity`; the grade is also given in words."""
    marks = [_bar(name, value, quantity, name == chosen) for name, value in rows.items()]
    label = f"{significant(line)}%"
    marks.append(
        mark("rule", "ridge", x=line, dash=True, id="line", label=f"aim {label}", name="the line to reach", hover=[("line", label)])
    )
    table = tuple(
        (name, format_quantity(value, UNIT), exact(value, UNIT), _grade(value, quantity), _side(value, line))
        for name, value in rows.items()
    )
    words = "; ".join(f"{name} {format_quantity(value, UNIT)}, {_side(value, line)}" for name, value in rows.items())
    return Figure(
        id, title, Axis("linear", "share of wall time", UNIT, (0.0, 100.0)), Axis("band", names=tuple(rows)), (*marks, *extra), f"{words}.",
        Table(("run", "share", "exactly", "grade", f"line of {label}"), table), note, (), {"row": 34},
    )  # fmt: skip


def _grade(value: float, quantity: str) -> str:
    return {"good": "good", "middling": "middling", "bad": "poor"}[tone(quantity, value / 100)]


def _side(value: float, line: float) -> str:
    return "above the line" if value >= line else "below the line"


def _bar(name: str, value: float, quantity: str, chosen: bool) -> Mark:
    colour = TONES[tone(quantity, value / 100)]
    hover = [("exactly", exact(value, UNIT)), ("grade", _grade(value, quantity))]
    return mark("bar", colour, x=value, y=name, id=name, name=name, label=format_quantity(value, UNIT), emphasis=chosen, hover=hover)


def marks(guess: float, truth: float, distance: str) -> tuple[Mark, Mark]:
    """Your prediction and the truth as rules, both in percent; `distance` in words."""
    return (
        mark(
            "rule", "accent", x=guess, role="prediction", distance=distance, id="prediction",
            label=f"you said {format_quantity(guess, UNIT)}",
            name="your prediction", hover=[("your prediction", exact(guess, UNIT)), ("off", distance)],
        ),
        mark(
            "rule", "ink", x=truth, role="truth", id="truth", label=f"it is {format_quantity(truth, UNIT)}", name="computed",
            hover=[("computed", exact(truth, UNIT)), ("your prediction", distance)],
        ),
    )  # fmt: skip
