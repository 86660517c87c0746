"""Measured values under the bars of predicted ones: from the learner's own machine, and from the recorded one.

A Measurement is one measured value. It becomes a bar of its own, a phrase in the text under the picture and a row of its table.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

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
    def mark(self) -> Mark:
        spread: list[Row] = [("10 to 90%", self.span)] if self.span else []
        hover: list[Row] = [("exactly", exact(self.value, self.unit)), *spread, self.source]
        label = format_quantity(self.value, self.unit)
        return mark("bar", self.colour, x=self.value, y=self.name, id=f"seen-{self.name}", label=label, name=self.name, hover=hover)


def beside(figure: Figure, measurements: Sequence[Measurement]) -> Figure:
    """The same bars, with the measurements under them."""
    if not measurements:
        return figure
    blank = ("",) * (len(figure.table.columns) - 4)
    rows = [(item.name, format_quantity(item.value, item.unit), exact(item.value, item.unit), *blank, item.source) for item in measurements]
    values = "; ".join(f"{item.name} {format_quantity(item.value, item.unit)}" for item in measurements)
    return replace(
        figure, y=Axis("band", names=(*figure.y.names, *(item.name for item in measurements))),
        marks=(*figure.marks, *(item.mark for item in measurements)), text=f"{figure.text} Measured: {values}.",
        table=Table(figure.table.columns, (*figure.table.rows, *rows)),
    )  # fmt: skip
