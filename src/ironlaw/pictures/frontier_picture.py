"""What each configuration costs and what it harms: the frontier, what it dominates, and the box that a budget allows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ironlaw.engine.numerics.pareto_2d import Point, dominated_by, frontier
from ironlaw.errors import BadValue
from ironlaw.widget.figure import Axis, Figure, Mark, Row, Table, mark
from ironlaw.widget.hold import Hold
from ironlaw.widget.quantities import exact, format_quantity

ON, OFF = "on the frontier", "dominated"


@dataclass(frozen=True, slots=True)
class Budget:
    """What may be spent and what may be harmed at most, with what the limits are called; None: no limit."""

    cost: float | None = None
    harm: float | None = None
    cost_name: str = "budget"
    harm_name: str = "floor"
    harm_words: str = ""  # in place of the name and its figure, where the axis shows another quantity than the limit is set in
    cost_drag: Hold | None = None  # the dials of the two limits
    harm_drag: Hold | None = None

    def holds(self, point: Point) -> bool:
        return (self.cost is None or point.cost <= self.cost) and (self.harm is None or point.harm <= self.harm)


def scatter(
    points: Sequence[Point], x: Axis, y: Axis, title: str, *, chosen: str = "", budget: Budget | None = None, note: str = "",
    more: Mapping[str, Sequence[Row]] | None = None, id: str = "frontier", height: int = 360,
) -> Figure:  # fmt: skip
    """Less is better on both axes, which need a domain: they stand still while dials move. `more`: rows of a point's hover box, by name."""
    if x.domain is None or y.domain is None:
        raise BadValue(f"{title}: give both axes a domain, so that they don't move")
    if not points:
        raise BadValue(f"{title}: there are no configurations; give at least one")
    best = frontier(points)
    left = {point.name for point in best}
    better = {point.name: dominated_by(point, best) for point in points if point.name not in left}
    here = next((point for point in points if point.name == chosen), None)
    marks = [*_box(budget, x, y), _line(points, y)]
    for point in sorted(points, key=lambda p: (p.name == chosen, p.name in left)):
        marks.append(_dot(point, x, y, point is here, better.get(point.name), tuple((more or {}).get(point.name, ()))))
    if here and (winner := better.get(here.name)):
        marks.append(
            mark("point", "good", x=winner.cost, y=winner.harm, shape="diamond", size=7, label=winner.name, name=winner.name, id="winner")
        )
    return Figure(
        id, title, x, y, tuple(marks), _words(points, left, here, better, budget, x, y), _table(points, better, x, y), note,
        _legend(budget), {"height": height},
    )  # fmt: skip


def _box(budget: Budget | None, x: Axis, y: Axis) -> list[Mark]:
    if budget is None or x.domain is None or y.domain is None:
        return []
    right = min(x.domain[1], budget.cost) if budget.cost is not None else x.domain[1]
    top = min(y.domain[1], budget.harm) if budget.harm is not None else y.domain[1]
    marks = []
    if right > x.domain[0] and top > y.domain[0]:
        marks.append(mark("area", "good", x0=x.domain[0], x1=right, y0=y.domain[0], y1=top, name="what the budget allows", id="box"))
    if budget.cost is not None and x.domain[0] <= budget.cost <= x.domain[1]:
        words = f"{budget.cost_name} {format_quantity(budget.cost, x.unit)}"
        marks.append(mark("rule", "ridge", x=budget.cost, dash=True, label=words, name=words, id="cost-limit", drag=budget.cost_drag))
    if budget.harm is not None and y.domain[0] <= budget.harm <= y.domain[1]:
        words = budget.harm_words or f"{budget.harm_name} {format_quantity(budget.harm, y.unit)}"
        marks.append(mark("rule", "ridge", y=budget.harm, dash=True, label=words, name=words, id="harm-limit", drag=budget.harm_drag))
    return marks


def _line(points: Sequence[Point], y: Axis) -> Mark:
    """A staircase: between two points of the frontier you get the more expensive one."""
    steps: list[tuple[float, float]] = []
    for point in frontier(points):
        if steps:
            steps.append((point.cost, steps[-1][1]))
        steps.append((point.cost, point.harm))
    return mark("line", "ink", points=steps, name="frontier", id="line")


def _dot(point: Point, x: Axis, y: Axis, here: bool, better: Point | None, more: tuple[Row, ...]) -> Mark:
    verdict: Row = f"dominated by {better.name}" if better else ON
    hover: list[Row] = [(x.label, exact(point.cost, x.unit)), (y.label, exact(point.harm, y.unit)), *more, verdict]
    colour, shape, size = ("ridge", "circle", 4) if better else ("ink", "circle", 5)
    if here:
        colour, size = "accent", 8
    return mark(
        "point", colour, x=point.cost, y=point.harm, shape=shape, size=size, emphasis=here, hollow=bool(better) and not here, hover=hover,
        id="now" if here else f"dot-{point.name}", name=point.name, label=point.name if here else "",
    )  # fmt: skip


def _words(
    points: Sequence[Point], left: set[str], here: Point | None, better: Mapping[str, Point | None], budget: Budget | None, x: Axis, y: Axis
) -> str:
    parts = [f"{len(left)} of {len(points)} configurations are on the frontier"]
    if here:
        winner = better.get(here.name)
        place = f"dominated by {winner.name}" if winner else ON
        parts.append(f"{here.name} has {_figures(here, x, y)} and is {place}")
    if budget:
        inside = [point for point in points if budget.holds(point)]
        best = min(inside, key=lambda p: (p.harm, p.cost), default=None)
        parts.append(f"{len(inside)} fit the budget" + (f", the best of them {best.name} with {_figures(best, x, y)}" if best else ""))
    return "; ".join(parts) + "."


def _figures(point: Point, x: Axis, y: Axis) -> str:
    return f"{x.label} {format_quantity(point.cost, x.unit)}, {y.label} {format_quantity(point.harm, y.unit)}"


def _table(points: Sequence[Point], better: Mapping[str, Point | None], x: Axis, y: Axis) -> Table:
    rows = []
    for point in sorted(points, key=lambda p: (p.cost, p.harm)):
        winner = better.get(point.name)
        verdict = f"dominated by {winner.name}" if winner else ON
        rows.append((point.name, format_quantity(point.cost, x.unit), format_quantity(point.harm, y.unit), verdict))
    return Table(("configuration", x.label, y.label, "verdict"), tuple(rows))


def _legend(budget: Budget | None) -> tuple[dict[str, Any], ...]:
    box = ({"colour": "good", "label": "what the budget allows"},) if budget else ()
    return ({"colour": "ink", "shape": "circle", "label": ON}, {"colour": "ridge", "shape": "circle", "hollow": True, "label": OFF}, *box)
