"""What was measured, laid over a picture of what was predicted: on the learner's own machine, and on the recorded one.

A Seen is one measured value. It is drawn, said in the picture's sentence, listed in its table and named in its legend.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from ironlaw.pictures.figure import Figure, Mark, Row, Table, exact, mark, read

HERE, RECORDED = "here", "cloud"  # colours: the learner's machine, the one whose evidence is in the registry
SHAPES = {HERE: "square", RECORDED: "triangle"}


@dataclass(frozen=True, slots=True)
class Seen:
    """`span`: from the tenth percentile to the ninetieth, in words. `row`: of a band axis; without one it is a rule across the picture."""

    name: str  # "measured here, batch 1"
    value: float
    unit: str
    source: str
    colour: str = HERE
    row: str = ""
    span: str = ""

    @property
    def hover(self) -> list[Row]:
        spread: list[Row] = [("10 to 90 %", self.span)] if self.span else []
        return [("exactly", exact(self.value, self.unit)), *spread, self.source]

    @property
    def mark(self) -> Mark:
        label = f"{self.name} {read(self.value, self.unit)}"
        named: dict[str, Any] = {"label": label, "name": self.name, "hover": self.hover, "id": f"seen-{self.name}"}
        if self.row:
            return mark("point", self.colour, x=self.value, y=self.row, shape=SHAPES[self.colour], size=6, emphasis=True, **named)
        return mark("rule", self.colour, x=self.value, dash="2 3", **named)


def beside(figure: Figure, seen: Sequence[Seen]) -> Figure:
    """The same picture with what was measured in it."""
    if not seen:
        return figure
    blank = ("",) * (len(figure.table.columns) - 4)
    rows = [(item.name, read(item.value, item.unit), exact(item.value, item.unit), *blank, item.source) for item in seen]
    told = "; ".join(f"{item.name} {read(item.value, item.unit)}" for item in seen)
    return replace(
        figure, marks=(*figure.marks, *(item.mark for item in seen)), text=f"{figure.text} Measured: {told}.",
        table=Table(figure.table.columns, (*figure.table.rows, *rows)),
    )  # fmt: skip
