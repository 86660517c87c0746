"""Arithmetic intensity against batch, one line per byte convention, and the ridge that it has to reach to be compute-bound."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ironlaw.engine.device.machine import Hardware
from ironlaw.engine.device.types import Work
from ironlaw.errors import BadValue
from ironlaw.formats import intensity_unit, operation
from ironlaw.units import significant
from ironlaw.widget.figure import Axis, Figure, Mark, Table, mark
from ironlaw.widget.hold import hold
from ironlaw.widget.quantities import cite, exact, format_quantity, share

# lines differ in dash and in the shape of their points; the accent is for the one that the dials stand at
DASHES = ("", "7 4", "2 4", "10 3 2 3")
SHAPES = ("circle", "square", "triangle", "cross")

Series = Mapping[str, Sequence[tuple[float, Work]]]


@dataclass(frozen=True, slots=True)
class Position:
    """Where the dials stand; the batch is one of the series' own."""

    series: str
    batch: float


def curve(
    series: Series, hardware: Hardware, fmt: str, position: Position | None = None, drag: str = "", id: str = "curve",
    title: str = "Arithmetic intensity against batch",
) -> Figure:  # fmt: skip
    """`series`: name -> (batch, the engine's Work at that batch), in order. `drag`: the dial that the chosen point turns."""
    if not series or any(not points for points in series.values()):
        raise BadValue("a curve needs at least one series with at least one point; give (batch, work) pairs")
    ridge = float(hardware.ridge(fmt))
    sources = [cite(hardware.figures.get(f"peak.{fmt}")), cite(hardware.figures.get("bandwidth"))]
    name = f"ridge of {hardware.name} in {fmt.upper()}"
    unit = intensity_unit(fmt)
    label = f"ridge {format_quantity(ridge, unit)}"
    marks = [mark("rule", "ridge", y=ridge, dash=True, id="ridge", label=label, name=name, hover=[("ridge", exact(ridge, unit)), *sources])]
    if hardware.activations:
        marks.append(_other_ridge(hardware, fmt))
    for i, (name, points) in enumerate(series.items()):
        marks += _line(i, name, points, ridge, fmt, position if position and position.series == name else None, drag)
    batches = sorted({float(batch) for points in series.values() for batch, _ in points})
    doubling = [2.0**k for k in range(31) if batches[0] <= 2.0**k <= batches[-1]]
    x = Axis("log", "batch", ticks=tuple(doubling if len(doubling) > 1 else batches))
    words, note = _words(series, ridge, hardware, fmt), f"{hardware.name}, {fmt.upper()}"
    legend = tuple(
        {"colour": "accent" if position and position.series == name else "ink", "shape": SHAPES[i % len(SHAPES)], "label": name}
        for i, name in enumerate(series)
    )
    return Figure(id, title, x, Axis("log", "intensity", unit), tuple(marks), words, _table(series, ridge, unit), note, legend)


def _other_ridge(hardware: Hardware, fmt: str) -> Mark:
    """Where activations have a memory of their own: the ridge of a run that moves little else."""
    level, ridge = hardware.level(hardware.activations), float(hardware.ridge(fmt, hardware.activations))
    label = f"ridge of {level.label} {format_quantity(ridge, intensity_unit(fmt))}"
    hover = [("ridge", exact(ridge, intensity_unit(fmt)))]
    return mark("rule", "ridge", y=ridge, dash=True, id="ridge-activations", label=label, name=label, hover=hover)


def _line(
    i: int, name: str, points: Sequence[tuple[float, Work]], ridge: float, fmt: str, position: Position | None, drag: str
) -> list[Mark]:  # fmt: skip
    colour = "accent" if position else "ink"
    values = [(float(batch), float(work.intensity)) for batch, work in points]
    dash, shape = DASHES[i % len(DASHES)], SHAPES[i % len(SHAPES)]
    marks = [mark("line", colour, points=values, name=name, dash=dash or None, emphasis=position is not None, id=f"line-{name}", end=name)]
    for (batch, intensity), (_, work) in zip(values, points, strict=True):
        now = position is not None and position.batch == batch
        hover = [
            ("batch", significant(batch, 6)), ("intensity", exact(intensity, intensity_unit(fmt))),
            ("arithmetic", format_quantity(float(work.flops), operation(fmt))),
            ("bytes", format_quantity(float(work.bytes), "B")), ("of the ridge", share(intensity, ridge)),
        ]  # fmt: skip
        marks.append(
            mark(
                "point", colour, x=batch, y=intensity, shape=shape, size=8 if now else 4, emphasis=now,
                id="now" if now else f"{name}-{batch:g}", name=f"{name}, batch {significant(batch, 6)}",
                label=format_quantity(intensity, intensity_unit(fmt)) if now else "", hover=hover,
                drag=hold(drag) if now and drag else None,
            )
        )  # fmt: skip
    return marks


def _words(series: Series, ridge: float, hardware: Hardware, fmt: str) -> str:
    lines = []
    for name, points in series.items():
        ends = [
            f"{format_quantity(float(work.intensity), intensity_unit(fmt))} at batch {significant(float(batch), 6)}"
            for batch, work in (points[0], points[-1])
        ]
        lines.append(f"{name} goes from {ends[0]} to {ends[1]}")
    reached = [name for name, points in series.items() if max(float(work.intensity) for _, work in points) >= ridge]
    verdict = _verdict(reached, len(series))
    return f"{'; '.join(lines)}; {verdict} the ridge of {hardware.name} in {fmt.upper()}, {format_quantity(ridge, intensity_unit(fmt))}."


def _verdict(reached: Sequence[str], lines: int) -> str:
    if not reached:
        return "none reaches"
    if len(reached) == lines > 1:
        return "all reach"
    return f"only {reached[0]} reaches" if len(reached) == 1 else f"only {' and '.join(reached)} reach"


def _table(series: Series, ridge: float, unit: str) -> Table:
    rows = [
        (name, significant(float(batch), 6), exact(float(work.intensity), unit), share(float(work.intensity), ridge))
        for name, points in series.items()
        for batch, work in points
    ]
    return Table(("bytes counted", "batch", "intensity", "of the ridge"), tuple(rows))
