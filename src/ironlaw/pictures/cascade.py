"""From a peak to what is left of it, factor by factor: each row is the row above it times a share."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from ironlaw.errors import BadValue
from ironlaw.units import significant
from ironlaw.widget.figure import Axis, Figure, Mark, Row, Table, mark
from ironlaw.widget.quantities import exact, format_quantity, percent


@dataclass(frozen=True, slots=True)
class Step:
    """`share` of the row above is left; `colour` of what is left; `source` names the law."""

    name: str
    share: float
    colour: str = "compute"
    source: str = ""


def cascade(
    first: str, peak: float, steps: Sequence[Step], unit: str, title: str, *, label: str = "",
    domain: tuple[float, float] | None = None, id: str = "cascade", note: str = "",
) -> Figure:  # fmt: skip
    if not peak > 0 or any(not 0 <= step.share <= 1 + 1e-9 for step in steps):
        raise BadValue(f"{title}: a peak of {peak!r} and shares of {[step.share for step in steps]!r}; give a peak above 0, shares up to 1")
    marks: list[Mark] = [mark("bar", "muted", x0=0.0, x1=peak, y=first, id=first, name=first, hover=[("exactly", exact(peak, unit))])]
    marks.append(mark("label", "ink", x=peak, y=first, id=f"{first}-value", label=format_quantity(peak, unit)))
    rows, at = [(first, "", format_quantity(peak, unit), exact(peak, unit))], peak
    for step in steps:
        before, at = at, at * step.share
        hover: list[Row] = [("left", percent(step.share)), ("exactly", exact(at, unit)), step.source]
        marks.append(mark("bar", step.colour, x0=0.0, x1=at, y=step.name, id=step.name, name=step.name, hover=hover))
        if before - at > 1e-12 * peak:
            lost: list[Row] = [("lost here", exact(before - at, unit)), ("of the peak", percent((before - at) / peak))]
            marks.append(mark("bar", "fail", x0=at, x1=before, y=step.name, id=f"{step.name}-lost", name=f"{step.name}: lost", pattern=True,
                              hover=lost))  # fmt: skip
        marks.append(mark("label", "ink", x=before, y=step.name, id=f"{step.name}-value", label=f"× {significant(step.share)}"))
        rows.append((step.name, percent(step.share), format_quantity(at, unit), exact(at, unit)))
    left = math.prod(step.share for step in steps)
    text = (
        f"{first} {format_quantity(peak, unit)}; " + ", ".join(f"{step.name} × {significant(step.share)}" for step in steps)
        + f"; {format_quantity(at, unit)} are left, {percent(left)} of the peak."
    )  # fmt: skip
    return Figure(
        id, title, Axis("linear", label or title.lower(), unit, domain), Axis("band", names=(first, *(step.name for step in steps))),
        tuple(marks), text, Table(("step", "left of the step above", "so far", "exactly"), tuple(rows)), note,
        ({"colour": "fail", "pattern": True, "label": "lost at this step"},), {"row": 32},
    )  # fmt: skip
