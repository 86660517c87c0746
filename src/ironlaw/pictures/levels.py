"""A machine's memory ladder: what each level holds, how fast it is, and where a tensor's size falls."""

from __future__ import annotations

from collections.abc import Sequence

from ironlaw.engine.device.machine import Level
from ironlaw.pictures.ladder import estimates
from ironlaw.widget.figure import Axis, Figure, Mark, Row, Table, mark
from ironlaw.widget.quantities import exact, format_quantity


def levels(memory: Sequence[Level], size: float, home: str = "", id: str = "levels") -> Figure:
    """Fastest first. `size` is the tensor's, in bytes; `home` the level that it lives in."""
    dots = [_dot(level, level.name == home) for level in memory]
    tensor = mark(
        "rule",
        "accent",
        x=size,
        dash=True,
        label=f"tensor {format_quantity(size, 'B')}",
        name="the tensor",
        id="tensor",
        hover=[("size", exact(size, "B"))],
    )
    sizes = ", ".join(f"{level.label} {_words(level)}" for level in memory)
    end = f"It lives in {next(level.label for level in memory if level.name == home)}." if home else "No level holds it."
    rows = tuple(
        (level.label, format_quantity(float(level.size), "B"), format_quantity(float(level.bandwidth), "B/s"), _source(level))
        for level in memory
    )
    return Figure(
        id, "Memory ladder", Axis("log", "holds, in all", "B"), Axis("band", names=tuple(level.label for level in memory)), (*dots, tensor),
        f"From the fastest: {sizes}. The tensor has {format_quantity(size, 'B')}. {end}",
        Table(("level", "holds", "bandwidth", "source"), rows),
        note="whole chip, fastest first",
        legend=(estimates("log"),) if any(level.estimate for level in memory) else (),
    )  # fmt: skip


def _dot(level: Level, home: bool) -> Mark:
    hover: list[Row] = [
        ("holds", exact(float(level.size), "B")), ("bandwidth", exact(float(level.bandwidth), "B/s")), _source(level)
    ]  # fmt: skip
    tags = [{"text": "lives here", "colour": "accent"}] if home else None
    return mark(
        "dot", "memory", x=float(level.size), y=level.label, id=level.name, name=level.label, label=_words(level), emphasis=home,
        pattern=level.estimate, tags=tags, hover=hover,
    )  # fmt: skip


def _words(level: Level) -> str:
    return f"{format_quantity(float(level.size), 'B')}, {format_quantity(float(level.bandwidth), 'B/s')}"


def _source(level: Level) -> str:
    text = f"{level.source}, {level.date}".strip(", ")
    return f"Estimate: {level.why} ({text})" if level.estimate else text
