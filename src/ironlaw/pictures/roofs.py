"""The interactive roofline: several machines, number formats and memory levels at once, and points of any kind under them.

A Roof is one memory level of a machine in one number format; the first is the one that the shading and the colours belong
to. A Dot is a point: on its roof where only the roof is known, below it where somebody measured.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ironlaw.engine.device.machine import Figure as Sourced
from ironlaw.engine.device.machine import Hardware, Level
from ironlaw.errors import BadValue
from ironlaw.formats import intensity_unit, operation, rate_unit
from ironlaw.pictures.ends import decades
from ironlaw.pictures.theme import context_colour
from ironlaw.units import significant
from ironlaw.widget.figure import Axis, Figure, Mark, Row, Table, mark
from ironlaw.widget.quantities import THIN, cite, exact, format_quantity, share

SIDES = {"memory": "memory-bound", "compute": "compute-bound"}
LEVELS = {"registers": "registers", "shared": "shared, L1", "l1": "L1", "l2": "L2", "l3": "L3"}  # as a line calls them


def per_byte(value: float, fmt: str) -> str:
    """An intensity to read: `1,370 FLOP/B`, never with a prefix, so that points and ridges compare at a glance."""
    return f"{significant(value)}{THIN}{intensity_unit(fmt)}"


@dataclass(frozen=True, slots=True)
class Roof:
    hardware: Hardware
    fmt: str
    label: str  # what the machine is called in the picture
    level: str = "main"
    work: str = "matrix"  # or vector: the roof of element-wise work

    @property
    def memory(self) -> Level:
        return self.hardware.level(self.level)

    @property
    def peak(self) -> float:
        return float(self.hardware.rate(self.fmt, self.work))

    @property
    def bandwidth(self) -> float:
        return float(self.memory.bandwidth)

    @property
    def ridge(self) -> float:
        return float(self.hardware.ridge(self.fmt, self.level, self.work))

    @property
    def rate_unit(self) -> str:
        return rate_unit(self.fmt)

    @property
    def name(self) -> str:
        return f"{self.label}, {self.rated}" + ("" if self.level == "main" else f", {self.memory.label}")

    @property
    def rated(self) -> str:
        """What the peak is of: a format, and whether outside the matrix units."""
        return self.fmt.upper() + (" vector" if self.work == "vector" else "")

    def attainable(self, intensity: float) -> float:
        return min(self.peak, self.bandwidth * intensity)

    def side(self, intensity: float) -> str:
        return SIDES["memory" if intensity < self.ridge else "compute"]

    @property
    def sources(self) -> tuple[str, str]:
        """The sources of the bandwidth and of the peak."""
        figures = self.hardware.figures
        level: Sourced | str | None = figures.get("bandwidth") if self.level == "main" else _cite_level(self.memory)
        group = "vector" if self.work == "vector" and self.fmt in self.hardware.vector else "peak"
        return f"bandwidth: {cite(level)}", f"peak: {cite(figures.get(f'{group}.{self.fmt}'))}"


def roofs_by_work(hardware: Hardware, fmt: str, label: str) -> dict[str, Roof]:
    """The roof of each kind of work, matrix first; where both run on the same units the two are one."""
    matrix = Roof(hardware, fmt, label)
    return {"matrix": matrix, "vector": replace(matrix, work="vector") if hardware.has_matrix_units(fmt) else matrix}


def distinct(above: Mapping[str, Roof]) -> list[Roof]:
    """The roofs to draw: one where matrix and element-wise work run on the same units."""
    return list({roof.work: roof for roof in above.values()}.values())


def _cite_level(level: Level) -> str:
    text = f"{level.source}, {level.date}"
    return f"Estimate: {level.why} ({text})" if level.estimate else text


@dataclass(frozen=True, slots=True)
class Dot:
    """`rate` is where it stands: None puts it on its roof. `more` are options of the mark: drag, tags, role …"""

    id: str
    name: str
    flops: float
    bytes: float
    roof: Roof
    rate: float | None = None
    label: str = ""
    colour: str = "accent"
    shape: str = "circle"
    size: float = 7.0
    drop: bool = False  # a line down to the axis
    source: str = ""
    seconds: float | None = None
    apart: bool = False  # measured on a machine whose own roof is not known: it is compared with none
    more: tuple[tuple[str, Any], ...] = ()

    @property
    def intensity(self) -> float:
        return self.flops / self.bytes

    @property
    def attainable(self) -> float:
        return self.roof.attainable(self.intensity)

    @property
    def height(self) -> float:
        return self.attainable if self.rate is None else self.rate

    @property
    def figures(self) -> dict[str, str]:
        rows = {
            "arithmetic": format_quantity(self.flops, operation(self.roof.fmt)),
            "bytes": format_quantity(self.bytes, "B"),
            "AI": per_byte(self.intensity, self.roof.fmt),
        }
        if not self.apart:
            rows |= {
                "attainable": format_quantity(self.attainable, self.roof.rate_unit), "of the peak": share(self.attainable, self.roof.peak),
                "bound": self.roof.side(self.intensity),
            }  # fmt: skip
        if self.rate is not None:
            rows |= {"reached": format_quantity(self.rate, self.roof.rate_unit)} | (
                {} if self.apart else {"of the roof": share(self.rate, self.attainable)}
            )
        if self.seconds is not None:
            rows["takes"] = format_quantity(self.seconds, "s")
        return rows


def roofs(
    rooflines: Sequence[Roof], dots: Sequence[Dot], across: tuple[float, float], id: str = "roofs", title: str = "Roofline",
    extra: Sequence[Mark] = (), note: str = "", legend: Sequence[dict[str, Any]] = (), **more: Any,
) -> Figure:  # fmt: skip
    """`across`: the ends of the intensity axis; it is extended to include every dot and ridge."""
    if not rooflines:
        raise BadValue("a roofline needs at least one roof; give the machine and the number format")
    left, right = decades(
        min([across[0], *(dot.intensity / 1.5 for dot in dots)]),
        max([across[1], *(2 * roof.ridge for roof in rooflines), *(1.5 * dot.intensity for dot in dots)]),
    )
    room = 4.0 if len({(roof.label, roof.peak) for roof in rooflines}) == 1 else 10.0  # over the highest roof, for the names of the roofs
    lowest = [roof.bandwidth * left for roof in rooflines]
    low = min(*lowest, decades(min([*lowest, *(dot.height / 1.5 for dot in dots)]), max(lowest))[0] if dots else max(lowest))
    high = max([roof.peak for roof in rooflines] + [dot.height for dot in dots])
    marks = [*roof_marks(rooflines, left, right), *(m for dot in dots for m in _marks(dot, low)), *extra]
    formats = [roof.fmt for roof in rooflines]
    x = Axis("log", "arithmetic intensity", intensity_unit(*formats), (left, right))
    y = Axis("log", "rate", rate_unit(*formats), (low, high * room))
    ridges = len({(roof.label, roof.ridge) for roof in rooflines})
    options = {"export": True, "height": 440 + 14 * ridges, **more}
    return Figure(id, title, x, y, tuple(marks), _words(rooflines, dots), _table(rooflines, dots), note, tuple(legend), options)


def roof_marks(rooflines: Sequence[Roof], left: float, right: float) -> list[Mark]:
    """The roofs between two intensities, and the two sides of the first one's ridge."""
    return [*_shading(rooflines[0]), *_lines(rooflines, left, right)]


def _shading(first: Roof) -> list[Mark]:
    return [
        mark("area", "memory", x1=first.ridge, label=SIDES["memory"], anchor="end", id="memory-side"),
        mark("area", "compute", x0=first.ridge, label=SIDES["compute"], id="compute-side"),
    ]


def _lines(rooflines: Sequence[Roof], left: float, right: float) -> list[Mark]:
    """A slope per machine and level, a ceiling per machine and rate, a ridge per place; what several formats share is drawn once."""
    marks, done, several = [], set(), len({roof.label for roof in rooflines}) > 1
    for i, roof in enumerate(rooflines):
        of = f"{roof.label}: " if several else ""
        bandwidth, peak = roof.sources
        style = _style(rooflines, i)
        own = [r for r in rooflines if r.label == roof.label]
        slope, flat, ridge = (roof.label, roof.level), (roof.label, roof.peak), (roof.label, roof.ridge, "ridge")
        top = max(r.peak for r in own)
        alike = [r for r in own if r.peak == roof.peak]
        start = min(r.ridge for r in alike)
        formats, unit = ", ".join(dict.fromkeys(r.rated for r in alike)), rate_unit(*(r.fmt for r in alike))
        level = list(dict.fromkeys(r.label for r in rooflines if r.peak == roof.peak and r.rated == roof.rated))
        if slope not in done:
            marks.append(
                mark(
                    "line", style[0], points=[(left, left * roof.bandwidth), (top / roof.bandwidth, top)], along=True, dash=style[2],
                    label=f"{of}{format_quantity(roof.bandwidth, 'B/s')}{_place(roof)}", name=f"{roof.label}: {roof.memory.label}",
                    id=f"slope-{slope}",
                    hover=[
                        ("bandwidth", exact(roof.bandwidth, "B/s")), ("holds", format_quantity(float(roof.memory.size), "B")), bandwidth
                    ],
                )
            )  # fmt: skip
        if flat not in done:
            marks.append(
                mark(
                    "line", style[1], points=[(start, roof.peak), (right, roof.peak)], along=True, dash=style[2], id=f"flat-{flat}",
                    label=_ceiling(roof, level, several, f"{format_quantity(roof.peak, unit)} {formats}"),
                    name=f"{roof.label}: peak in {formats}",
                    hover=[("peak, dense", exact(roof.peak, unit)), peak],
                )
            )  # fmt: skip
        if ridge not in done:
            per = intensity_unit(*(r.fmt for r in alike))
            marks.append(_ridge(roof, per, i == 0, several, formats if len({r.peak for r in own}) > 1 else ""))
        done |= {slope, flat, ridge}
    return marks


def _ceiling(roof: Roof, level: Sequence[str], several: bool, peak: str) -> str:
    """The words of a ceiling; machines whose ceilings are one line share them, at the first one's place."""
    words = f"{', '.join(level)}: {peak}" if several else peak
    return words if roof.label == level[0] else ""


def _place(roof: Roof) -> str:
    return "" if roof.level == "main" else f" {LEVELS.get(roof.level, roof.level)}"


def _style(rooflines: Sequence[Roof], i: int) -> tuple[str, str, str | None]:
    """(slope's colour, ceiling's, dash): the first roof in the colours of the terms, the others in their machine's."""
    roof, first = rooflines[i], rooflines[0]
    if roof.label == first.label:
        return "memory", "compute", None if (roof.level, roof.fmt, roof.work) == ("main", first.fmt, first.work) else "7 4"
    return (context_colour(roof.hardware.context),) * 2 + ("2 4",)


def _ridge(roof: Roof, unit: str, main: bool, several: bool, formats: str) -> Mark:
    parts = [part for part in (roof.label if several else "", formats, _place(roof).strip()) if part]
    label = f"{' '.join(parts) or 'ridge'} {significant(roof.ridge)}{THIN}{unit}"
    hover: list[Row] = [
        ("ridge", exact(roof.ridge, unit)),
        f"{format_quantity(roof.peak, roof.rate_unit)} over {format_quantity(roof.bandwidth, 'B/s')}",
    ]
    name = f"ridge: {roof.name}"
    return mark("rule", "ridge", x=roof.ridge, dash=None if main else True, label=label, name=name, id=f"ridge-{roof.name}", hover=hover)


def _marks(dot: Dot, low: float) -> list[Mark]:
    hover: list[Row] = [*dot.figures.items(), dot.source]  # the roofs tell their own sources
    marks = []
    if dot.drop:
        marks.append(mark("line", dot.colour, points=[(dot.intensity, low), (dot.intensity, dot.height)], dash="3 4", id=f"drop-{dot.id}"))
    place: dict[str, Any] = {"x": dot.intensity, "y": dot.height, "shape": dot.shape, "size": dot.size}
    marks.append(mark("point", dot.colour, **place, label=dot.label, name=dot.name, id=dot.id, hover=hover, **dict(dot.more)))
    return marks


def _side(dot: Dot) -> str:
    return "measured" if dot.apart else dot.figures["bound"]


def _words(rooflines: Sequence[Roof], dots: Sequence[Dot]) -> str:
    machines = "; ".join(
        f"{roof.name}: {format_quantity(roof.bandwidth, 'B/s')} and {format_quantity(roof.peak, roof.rate_unit)},"
        f" ridge {per_byte(roof.ridge, roof.fmt)}"
        for roof in rooflines
    )
    top = [dot for dot in dots if dot.label] or list(dots[:1])
    points = "; ".join(
        f"{dot.name}: {per_byte(dot.intensity, dot.roof.fmt)} at {format_quantity(dot.height, dot.roof.rate_unit)}, {_side(dot)}"
        for dot in top
    )
    return f"{machines}. {points}." if points else f"{machines}."


def _table(rooflines: Sequence[Roof], dots: Sequence[Dot]) -> Table:
    columns = ("what", "arithmetic", "bytes", "AI", "rate", "of the peak", "bound")
    rows = [
        (dot.name, format_quantity(dot.flops, operation(dot.roof.fmt)), format_quantity(dot.bytes, "B"),
         per_byte(dot.intensity, dot.roof.fmt),
         format_quantity(dot.height, dot.roof.rate_unit),
         "" if dot.apart else share(dot.height, dot.roof.peak), _side(dot))
        for dot in dots
    ]  # fmt: skip
    ridges = [
        (f"ridge, {roof.name}", "", "", per_byte(roof.ridge, roof.fmt), format_quantity(roof.peak, roof.rate_unit), "", "")
        for roof in rooflines
    ]
    return Table(columns, (*rows, *ridges))
