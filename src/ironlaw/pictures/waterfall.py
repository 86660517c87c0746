"""Parts of a whole as one stacked bar: where the time goes, or what fills the memory, against a limit if there is one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ironlaw.engine.device.machine import Hardware
from ironlaw.engine.device.memory import Memory
from ironlaw.engine.device.predict import Prediction
from ironlaw.errors import BadValue
from ironlaw.pictures.ends import up_to
from ironlaw.pictures.theme import HELD, TERM_NAMES
from ironlaw.units import significant
from ironlaw.widget.figure import Axis, Figure, Mark, Row, Table, mark
from ironlaw.widget.quantities import cite, exact, format_quantity, share


@dataclass(frozen=True, slots=True)
class Part:
    name: str
    value: float
    colour: str = "ink"
    pattern: bool = False
    source: str = ""


@dataclass(frozen=True, slots=True)
class Limit:
    """The most that the whole may be."""

    name: str
    value: float
    source: str = ""


def waterfall(
    parts: Sequence[Part], unit: str, title: str, row: str = "", limit: Limit | None = None, label: str = "", id: str = "waterfall"
) -> Figure:
    """`row` names the bar. What is over the limit lies on red ground, and the text states the factor."""
    positive = [part for part in parts if part.value > 0]
    if not positive:
        raise BadValue(f"{title}: no part is above 0; give at least one")
    total = sum(part.value for part in positive)
    over = limit is not None and total > limit.value
    marks = _bars(positive, total, unit, row or title)
    rows = [(part.name, format_quantity(part.value, unit), exact(part.value, unit), share(part.value, total)) for part in positive]
    rows.append(("together", format_quantity(total, unit), exact(total, unit), share(total, total)))
    if limit is not None:
        words = f"{limit.name} {format_quantity(limit.value, unit)}"
        hover: list[Row] = [("exactly", exact(limit.value, unit)), limit.source]
        if over:
            marks.append(mark("area", "fail", x0=limit.value, x1=total, id="over", name="too much"))
            beyond = f"{format_quantity(total - limit.value, unit)} too much"
            marks.append(mark("label", "fail", x=total, y=row or title, id="beyond", label=beyond))
        marks.append(mark("rule", "fail" if over else "ink", x=limit.value, label=words, name=limit.name, id="limit", hover=hover))
        rows.append((limit.name, format_quantity(limit.value, unit), exact(limit.value, unit), share(limit.value, total)))
    legend = tuple(
        {"colour": part.colour, "pattern": part.pattern, "label": f"{part.name} {format_quantity(part.value, unit)}"} for part in positive
    )
    return Figure(
        id, title, Axis("linear", label or title.lower(), unit, (0.0, up_to(1.35 * total)) if over else None),
        Axis("band", names=(row or title,)), tuple(marks),
        _words(positive, total, unit, limit),
        Table(("part", "value", "exactly", "of the whole"), tuple(rows)), note=_verdict(total, unit, limit),
        legend=legend,
        more={"stacked": True, "row": 44},
    )  # fmt: skip


def _bars(parts: Sequence[Part], total: float, unit: str, row: str) -> list[Mark]:
    marks, at = [], 0.0
    for part in parts:
        hover: list[Row] = [("exactly", exact(part.value, unit)), ("of the whole", share(part.value, total)), part.source]
        ends: dict[str, Any] = {"x0": at, "x1": at + part.value, "y": row}
        marks.append(mark("bar", part.colour, **ends, id=part.name, name=part.name, pattern=part.pattern, hover=hover))
        at += part.value
    return marks


def _verdict(total: float, unit: str, limit: Limit | None) -> str:
    if limit is None:
        return format_quantity(total, unit)
    if total > limit.value:
        return f"{format_quantity(total, unit)}, {significant(total / limit.value)}× the {limit.name}"
    return f"{format_quantity(total, unit)}, {share(total, limit.value)} of the {limit.name}"


def _words(parts: Sequence[Part], total: float, unit: str, limit: Limit | None) -> str:
    each = ", ".join(f"{part.name} {format_quantity(part.value, unit)}" for part in parts)
    against = f" of {format_quantity(limit.value, unit)}" if limit is not None else ""
    return f"{each}; together {_verdict(total, unit, limit)}{against}."


def footprint(memory: Memory, hardware: Hardware, id: str = "memory") -> Figure:
    """What must be in memory at once, against what the machine has."""
    parts = (
        *(() if memory.flash else (Part("weights", float(memory.weights), HELD["weights"]),)),  # flash keeps a microcontroller's
        Part("KV cache", float(memory.kv_cache), HELD["cache"], pattern=True),
        Part("activations", float(memory.activations), HELD["activations"]),
    )
    limit = Limit("usable memory", float(memory.usable), cite(hardware.figures.get("memory")))
    return waterfall(parts, "B", "Memory needed at once", hardware.name, limit, "bytes held at once", id)


def time(prediction: Prediction, id: str = "time") -> Figure:
    """The three terms one after the other."""
    terms = (("memory", prediction.data_s), ("compute", prediction.compute_s), ("overhead", prediction.overhead_s))
    parts = [Part(TERM_NAMES[term], float(value), term) for term, value in terms]
    return waterfall(parts, "s", "Time, term after term", prediction.graph.name, None, "time", id)
