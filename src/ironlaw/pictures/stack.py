"""Several runs as stacked bars under each other, on one axis: where each one's time goes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ironlaw.errors import BadValue
from ironlaw.pictures.ends import up_to
from ironlaw.pictures.waterfall import Part
from ironlaw.widget.figure import Axis, Figure, Mark, Row, Table, mark
from ironlaw.widget.quantities import exact, format_quantity, share


def stack(
    rows: Mapping[str, Sequence[Part]], unit: str, title: str, *, chosen: str = "", label: str = "", note: str = "", id: str = "stack",
    extra: Sequence[Mark] = (), behind: Mapping[str, str] | None = None,
) -> Figure:  # fmt: skip
    """`rows`: name -> its parts, in order; parts of one name share colour and legend. `chosen` is the row the dials stand at. `extra`:
    marks besides, such as a limit. `behind`: row -> words behind its total."""
    bars = {name: [part for part in parts if part.value > 0] for name, parts in rows.items()}
    if not bars or not all(bars.values()):
        raise BadValue(f"{title}: a row has no part above 0; give each at least one")
    marks = [item for name, parts in bars.items() for item in _bars(name, parts, unit, name == chosen, (behind or {}).get(name, ""))]
    totals = {name: sum(part.value for part in parts) for name, parts in bars.items()}
    kinds = {part.name: part for parts in bars.values() for part in parts}
    table = tuple(
        (name, part.name, format_quantity(part.value, unit), exact(part.value, unit), share(part.value, totals[name]))
        for name, parts in bars.items()
        for part in parts
    )
    words = "; ".join(
        f"{name} {format_quantity(totals[name], unit)}: " + ", ".join(f"{part.name} {format_quantity(part.value, unit)}" for part in parts)
        for name, parts in bars.items()
    )
    across = Axis("linear", label or title.lower(), unit, (0.0, up_to(1.2 * max(totals.values()))))  # room for the longest bar's total
    return Figure(
        id, title, across, Axis("band", names=tuple(bars)), (*marks, *extra), f"{words}.",
        Table(("run", "part", "value", "exactly", "of the run"), table), note,
        tuple({"colour": part.colour, "pattern": part.pattern, "label": name} for name, part in kinds.items()),
        {"stacked": True, "row": 40},
    )  # fmt: skip


def _bars(row: str, parts: Sequence[Part], unit: str, chosen: bool, behind: str) -> list[Mark]:
    total = sum(part.value for part in parts)
    marks, at = [], 0.0
    for part in parts:
        hover: list[Row] = [("run", row), ("exactly", exact(part.value, unit)), ("of the run", share(part.value, total)), part.source]
        marks.append(
            mark(
                "bar", part.colour, x0=at, x1=at + part.value, y=row, id=f"{row}-{part.name}", name=part.name,
                emphasis=chosen, pattern=part.pattern, hover=hover,
            )
        )  # fmt: skip
        at += part.value
    return [*marks, mark("label", "ink", x=total, y=row, id=f"{row}-total", label=format_quantity(total, unit) + behind)]
