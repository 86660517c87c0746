"""What was measured, under the bars of what was predicted: on the learner's own machine, and on the recorded one.

A Seen is one measured value. It becomes a bar of its own, is said in the picture's sentence and listed in its table.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from ironlaw.widget.figure import Axis, Figure, Mark, Row, Table, mark
from ironlaw.widget.quantities import exact, format_quantity

HERE, RECORDED = "here", "cloud"  # colours: the learner's machine, the one whose evidence is in the registry


@dataclass(frozen=True, slots=True)
class Seen:
    """`name` is the row's. `span`: from the tenth percentile to the ninetieth, in words."""

    name: str
    value: float
    unit: str
    source: str
    colour: str = HERE
    span: str = ""

    @property
    def mark(self) -> Mark:
        spread: list[Row] = [("10 to 90 %", self.span)] if self.span else []
        hover: list[Row] = [("exactly", exact(self.value, self.unit)), *spread, self.source]
        label = format_quantity(self.value, self.unit)
        return mark("bar", self.colour, x=self.value, y=self.name, id=f"seen-{self.name}", label=label, name=self.name, hover=hover)


def beside(figure: Figure, seen: Sequence[Seen]) -> Figure:
    """The same bars, and under them what was measured."""
    if not seen:
        return figure
    blank = ("",) * (len(figure.table.columns) - 4)
    rows = [(item.name, format_quantity(item.value, item.unit), exact(item.value, item.unit), *blank, item.source) for item in seen]
    told = "; ".join(f"{item.name} {format_quantity(item.value, item.unit)}" for item in seen)
    return replace(
        figure, y=Axis("band", names=(*figure.y.names, *(item.name for item in seen))),
        marks=(*figure.marks, *(item.mark for item in seen)), text=f"{figure.text} Measured: {told}.",
        table=Table(figure.table.columns, (*figure.table.rows, *rows)),
    )  # fmt: skip
