"""Configurations by two figures: the front, what it dominates, how sure each is, and what was claimed for it before.

`frontier` draws costs and harms, less of both; here each axis says which way is better, and a claim is an arrow to what was left of it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ironlaw.engine.numerics.pareto_nd import MORE, Candidate, pareto
from ironlaw.errors import BadValue
from ironlaw.widget.figure import Axis, Figure, Mark, Row, Table, mark
from ironlaw.widget.quantities import exact, format_quantity

ON, OFF, AT_LEAST = "on the front", "dominated", "at least"


@dataclass(frozen=True, slots=True)
class Entry:
    """A name and its two figures. `low`, `high`: between them y surely is; `claimed`: y as claimed before; `partly`: x is a lower bound."""

    name: str
    x: float
    y: float
    low: float | None = None
    high: float | None = None
    claimed: float | None = None
    partly: bool = False
    more: tuple[Row, ...] = ()


def front(
    entries: Sequence[Entry], x: Axis, y: Axis, title: str, *, senses: tuple[str, str] = (MORE, MORE), chosen: str = "",
    arrows: bool = True, labels: Sequence[str] = (), extra: Sequence[Mark] = (), note: str = "", id: str = "front", height: int = 380,
) -> Figure:  # fmt: skip
    """`senses`: which way is better on x and on y. `labels`: names that stand beside their points. Axes need a domain: they stand still."""
    if not entries:
        raise BadValue(f"{title}: there is nothing to show; give at least one entry")
    if x.domain is None or y.domain is None:
        raise BadValue(f"{title}: give both axes a domain, so that they don't move")
    by = dict(zip(("x", "y"), senses, strict=True))
    best = {one.name for one in pareto([Candidate(e.name, {"x": e.x, "y": e.y}) for e in entries], by)}
    marks: list[Mark] = [*extra, _line([e for e in entries if e.name in best], senses)]
    for entry in entries:
        if entry.low is not None and entry.high is not None:
            marks.append(
                mark("line", "muted", points=[(entry.x, entry.low), (entry.x, entry.high)], name="interval", id=f"sure-{entry.name}")
            )
        if arrows and entry.claimed is not None:
            marks += _arrow(entry, y)
    for entry in sorted(entries, key=lambda e: (e.name == chosen, e.name in best)):
        marks.append(_dot(entry, x, y, entry.name == chosen, entry.name in best, entry.name == chosen or entry.name in labels))
    return Figure(
        id, title, x, y, tuple(marks), _words(entries, best, x, y, chosen), _table(entries, best, x, y), note,
        _legend(entries, arrows, best), {"height": height},
    )  # fmt: skip


def _line(best: Sequence[Entry], senses: tuple[str, str]) -> Mark:
    """A staircase through the front: between two of its entries no better pair is known."""
    rising = sorted(best, key=lambda e: (e.x, e.y if senses[0] == MORE else -e.y))
    steps: list[tuple[float, float]] = []
    for entry in rising:
        if steps:
            corner = (steps[-1][0], entry.y) if senses[0] == MORE else (entry.x, steps[-1][1])
            steps.append(corner)
        steps.append((entry.x, entry.y))
    return mark("line", "ink", points=steps, name="front", id="line")


def _arrow(entry: Entry, y: Axis) -> list[Mark]:
    """An arrow from the claim down to what was left; nothing where they are the same on the screen."""
    assert entry.claimed is not None and y.domain is not None
    if abs(entry.claimed - entry.y) < 0.01 * (y.domain[1] - y.domain[0]):
        return []
    hover: list[Row] = [("claimed", exact(entry.claimed, y.unit)), ("left", exact(entry.y, y.unit))]
    return [
        mark("line", "fail", points=[(entry.x, entry.claimed), (entry.x, entry.y)], name=f"{entry.name}, claimed and left",
             id=f"arrow-{entry.name}", dash=True),
        mark("point", "fail", x=entry.x, y=entry.claimed, shape="triangle", size=5, hollow=True, name=f"{entry.name}, as claimed",
             id=f"claimed-{entry.name}", hover=hover),
    ]  # fmt: skip


def _dot(entry: Entry, x: Axis, y: Axis, here: bool, on: bool, named: bool) -> Mark:
    at = f"{AT_LEAST} {exact(entry.x, x.unit)}" if entry.partly else exact(entry.x, x.unit)
    hover: list[Row] = [(x.label, at), (y.label, exact(entry.y, y.unit))]
    if entry.low is not None and entry.high is not None:
        hover.append(("95% sure", f"{exact(entry.low, '')} to {exact(entry.high, y.unit)}"))
    return mark(
        "point", "accent" if here else "ink" if on else "ridge", x=entry.x, y=entry.y, size=8 if here else 5 if on else 4,
        shape="diamond" if entry.partly else "circle", hollow=not on and not here, emphasis=here, id="now" if here else f"dot-{entry.name}",
        name=entry.name, label=entry.name if named else "", hover=[*hover, *entry.more, ON if on else OFF],
    )  # fmt: skip


def _words(entries: Sequence[Entry], best: set[str], x: Axis, y: Axis, chosen: str) -> str:
    parts = [f"{len(best)} of {len(entries)} are on the front: {', '.join(e.name for e in entries if e.name in best)}"]
    fell = [e for e in entries if e.claimed is not None and e.claimed - e.y > 5]
    parts += [
        f"{e.name} was claimed to have {format_quantity(e.claimed or 0.0, y.unit)} and has {format_quantity(e.y, y.unit)}" for e in fell
    ]
    here = next((e for e in entries if e.name == chosen), None)
    if here:
        figures = f"{x.label} {format_quantity(here.x, x.unit)}, {y.label} {format_quantity(here.y, y.unit)}"
        parts.append(f"{here.name} has {figures} and is {ON if here.name in best else OFF}")
    return "; ".join(parts) + "."


def _table(entries: Sequence[Entry], best: set[str], x: Axis, y: Axis) -> Table:
    rows = []
    for e in sorted(entries, key=lambda e: -e.y):
        sure = f"{format_quantity(e.low, y.unit)} to {format_quantity(e.high, y.unit)}" if e.low is not None and e.high is not None else "–"
        claimed = format_quantity(e.claimed, y.unit) if e.claimed is not None else "–"
        first = f"{AT_LEAST} {format_quantity(e.x, x.unit)}" if e.partly else format_quantity(e.x, x.unit)
        rows.append((e.name, first, format_quantity(e.y, y.unit), sure, claimed, ON if e.name in best else OFF))
    return Table(("model", x.label, y.label, "95% sure", "claimed", "verdict"), tuple(rows))


def _legend(entries: Sequence[Entry], arrows: bool, best: set[str]) -> tuple[dict[str, Any], ...]:
    items: list[dict[str, Any]] = [{"colour": "ink", "shape": "circle", "label": ON}]
    if len(best) < len(entries):
        items.append({"colour": "ridge", "shape": "circle", "hollow": True, "label": OFF})
    if arrows and any(e.claimed is not None and abs(e.claimed - e.y) >= 1 for e in entries):
        items.append({"colour": "fail", "shape": "triangle", "hollow": True, "label": "as claimed"})
    if any(e.partly for e in entries):
        items.append({"colour": "ink", "shape": "diamond", "label": "counted in part, so a lower bound"})
    return tuple(items)
