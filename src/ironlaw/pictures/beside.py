"""Measured values under the bars of predicted ones: from the learner's own machine, and from the recorded one.

A Measurement is one measured value. It becomes a bar of its own, a phrase in the text under the picture and a row of its table.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from ironlaw.pictures.ends import up_to
from ironlaw.widget.figure import Axis, Figure, Mark, Row, Table, mark
from ironlaw.widget.quantities import exact, format_quantity

HERE, RECORDED = "here", "cloud"  # colours: the learner's machine, the one whose evidence is in the registry


@dataclass(frozen=True, slots=True)
class Measurement:
    """`name` labels the row. `span`: from the tenth percentile to the ninetieth, in words."""

    name: str
    value: float
    unit: str
    source: str
    colour: str = HERE
    span: str = ""

    @property
    def marks(self) -> tuple[Mark, ...]:
        """A bar from zero, and its words behind it."""
        spread: list[Row] = [("10 to 90%", self.span)] if self.span else []
        hover: list[Row] = [("exactly", exact(self.value, self.unit)), *spread, self.source]
        label = format_quantity(self.value, self.unit)
        seen: dict[str, Any] = {"x0": 0.0, "x1": self.value, "y": self.name, "id": f"seen-{self.name}", "name": self.name}
        return mark("bar", self.colour, **seen, hover=hover), mark("label", "ink", x=self.value, y=self.name, label=label)


def beside(figure: Figure, measurements: Sequence[Measurement]) -> Figure:
    """The same stacked bars, with the measurements under them, and an axis that holds both."""
    if not measurements:
        return figure
    longest = up_to(1.2 * max(item.value for item in measurements))
    blank = ("",) * (len(figure.table.columns) - 4)
    rows = [(item.name, format_quantity(item.value, item.unit), exact(item.value, item.unit), *blank, item.source) for item in measurements]
    values = "; ".join(f"{item.name} {format_quantity(item.value, item.unit)}" for item in measurements)
    end = max(longest, figure.x.domain[1] if figure.x.domain else 0.0)
    return replace(
        figure, x=replace(figure.x, domain=(0.0, end)), y=Axis("band", names=(*figure.y.names, *(item.name for item in measurements))),
        marks=(*figure.marks, *(each for item in measurements for each in item.marks)), text=f"{figure.text} Measured: {values}.",
        table=Table(figure.table.columns, (*figure.table.rows, *rows)),
    )  # fmt: skip
