"""Stacked areas over the steps of a run: what is there at each step, by what it is for, and where the most of it is at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import groupby

from ironlaw.errors import BadValue
from ironlaw.pictures.ends import up_to
from ironlaw.widget.figure import Axis, Figure, Mark, Row, Table, mark
from ironlaw.widget.quantities import exact, format_quantity, share

STEPS, POINTS = 200, 36  # of the outline, and of what can be pointed at
NEAR = 4.0  # a limit that many times the peak is beyond the picture
TAIL = 0.05  # of the width: the last phase, where it is one step


@dataclass(frozen=True, slots=True)
class Layer:
    """One row of the stack, from the bottom; a pattern tells two rows of one colour apart."""

    name: str
    colour: str
    pattern: bool = False


@dataclass(frozen=True, slots=True)
class Step:
    """One step of the run: its phase, what happens in it, and the height of each layer."""

    phase: str
    name: str
    heights: tuple[float, ...]
    total: float = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "total", sum(self.heights))


def mountain(
    steps: Sequence[Step], layers: Sequence[Layer], title: str, *, unit: str = "B", label: str = "held in memory", top: float = 0.0,
    limit: tuple[float, str] | None = None, extra: Sequence[Mark] = (), note: str = "", id: str = "mountain", height: int = 340,
) -> Figure:  # fmt: skip
    """`top`: where the axis ends, if that is high enough. `limit`: a height that must not be passed, and its name."""
    if not steps or any(len(step.heights) != len(layers) for step in steps):
        raise BadValue(f"{title}: each step needs a height for each of the {len(layers)} layers, and there must be one")
    places, end = _places(steps)
    peak = max(range(len(steps)), key=lambda i: steps[i].total)
    drawn = _outline(steps, peak)
    marks: list[Mark] = [*_areas(steps, layers, drawn, places, end), *_phases(steps, places)]
    if limit:
        over = steps[peak].total > limit[0]
        hover: list[Row] = [(limit[1], exact(limit[0], unit)), ("the peak", share(steps[peak].total, limit[0]))]
        words = f"{limit[1]} {format_quantity(limit[0], unit)}"
        marks.append(mark("rule", "fail" if over else "ink", y=limit[0], id="limit", name=limit[1], label=words, hover=hover))
    marks += extra
    marks += [_point(steps[i], layers, places[i], unit, i == peak) for i in _pointed(steps, peak)]
    needed = 1.15 * max(steps[peak].total, limit[0] if limit and limit[0] < NEAR * steps[peak].total else 0.0)
    highest = top if top >= needed else up_to(needed)
    shown = [layer for i, layer in enumerate(layers) if any(step.heights[i] > 0 for step in steps)]
    return Figure(
        id, title, Axis("linear", "operators, in the order they run", domain=(0.0, end)), Axis("linear", label, unit, (0.0, highest)),
        tuple(marks), _words(steps[peak], layers, unit, limit), _table(steps, layers, drawn, unit), note,
        tuple({"colour": layer.colour, "pattern": layer.pattern, "label": layer.name} for layer in reversed(shown)), {"height": height},
    )  # fmt: skip


def _places(steps: Sequence[Step]) -> tuple[list[float], float]:
    """Where each step stands; a last phase of one step gets room to be seen."""
    places = [float(i) for i in range(len(steps))]
    alone = len(steps) > 1 and steps[-1].phase != steps[-2].phase
    if alone:
        places[-1] += TAIL * len(steps) / 2
    return places, max(places[-1] + (TAIL * len(steps) / 2 if alone else 0.0), 1.0)


def _outline(steps: Sequence[Step], peak: int) -> list[int]:
    """The highest step of each stretch, the peak, the ends, and both sides of a change of phase."""
    size = -(-len(steps) // STEPS)
    highest = {max(range(i, min(i + size, len(steps))), key=lambda j: steps[j].total) for i in range(0, len(steps), size)}
    turns = {j for i in range(1, len(steps)) if steps[i].phase != steps[i - 1].phase for j in (i - 1, i)}
    return sorted({0, peak, len(steps) - 1} | highest | turns)


def _areas(steps: Sequence[Step], layers: Sequence[Layer], drawn: Sequence[int], places: Sequence[float], end: float) -> list[Mark]:
    marks = []
    base = [0.0] * len(drawn)
    for at, layer in enumerate(layers):
        tops = [low + steps[i].heights[at] for low, i in zip(base, drawn, strict=True)]
        if any(top > low for low, top in zip(base, tops, strict=True)):
            points = [(places[i], low, top) for i, low, top in zip(drawn, base, tops, strict=True)]
            if places[drawn[-1]] < end:  # a single last step is a block, not a spike
                last = points.pop()
                start = 2 * last[0] - end
                points += [(start, last[1], last[2]), (end, last[1], last[2])]
            marks.append(mark("area", layer.colour, points=points, solid=True, pattern=layer.pattern, id=f"layer-{at}", name=layer.name))
        base = tops
    return marks


def _phases(steps: Sequence[Step], places: Sequence[float]) -> list[Mark]:
    """An upright rule where a phase begins, with its name."""
    runs = [(phase, [i for i, _ in group]) for phase, group in groupby(enumerate(steps), key=lambda pair: pair[1].phase)]
    seen: dict[str, int] = {}
    for phase, inside in runs:
        seen.setdefault(phase, inside[0])
    marks = []
    for phase, i in [*seen.items()][1:]:  # the first begins at the axis
        hover: list[Row] = [("phase", phase), ("begins with", steps[i].name)]
        marks.append(mark("rule", "muted", x=places[i], label=phase, name=phase, id=f"phase-{phase}", dash="2 4", hover=hover))
    return marks


def _pointed(steps: Sequence[Step], peak: int) -> list[int]:
    size = -(-len(steps) // POINTS)
    best = {max(range(i, min(i + size, len(steps))), key=lambda j: steps[j].total) for i in range(0, len(steps), size)}
    return [*sorted(best - {peak}), peak]


def _point(step: Step, layers: Sequence[Layer], at: float, unit: str, peak: bool) -> Mark:
    parts: list[Row] = [
        (layer.name, format_quantity(h, unit)) for layer, h in zip(reversed(layers), reversed(step.heights), strict=True) if h > 0
    ]
    hover: list[Row] = [("phase", step.phase), ("together", exact(step.total, unit)), *parts]
    if peak:
        return mark("point", "accent", x=at, y=step.total, shape="diamond", size=7, emphasis=True, id="peak", name=step.name,
                    label=f"peak {format_quantity(step.total, unit)}", hover=hover)  # fmt: skip
    return mark("point", "ink", x=at, y=step.total, size=2, id=f"step-{at:g}", name=step.name, hover=hover)


def _words(peak: Step, layers: Sequence[Layer], unit: str, limit: tuple[float, str] | None) -> str:
    parts = ", ".join(f"{layer.name} {format_quantity(h, unit)}" for layer, h in zip(layers, peak.heights, strict=True) if h > 0)
    verdict = ""
    if limit:
        verdict = f"; {'above' if peak.total > limit[0] else 'within'} {limit[1]} of {format_quantity(limit[0], unit)}"
    return f"The peak is {format_quantity(peak.total, unit)}, in {peak.phase} at {peak.name}: {parts}{verdict}."


def _table(steps: Sequence[Step], layers: Sequence[Layer], drawn: Sequence[int], unit: str) -> Table:
    every = drawn[:: max(1, len(drawn) // POINTS)]
    rows = [
        (steps[i].phase, steps[i].name, format_quantity(steps[i].total, unit), *(format_quantity(h, unit) for h in steps[i].heights))
        for i in every
    ]
    return Table(("phase", "step", "together", *(layer.name for layer in layers)), tuple(rows))
