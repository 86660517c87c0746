"""Machines on one axis, dots on a log one or bars on a linear one: compute, bandwidth, capacity or power, the chosen one emphasised.

An axis that puts FP16 beside INT8 says so; a figure that is not the maker's own is a hollow dot or a hatched bar.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from ironlaw.engine.device.machine import Figure as Sourced
from ironlaw.engine.device.machine import Hardware
from ironlaw.errors import unknown
from ironlaw.formats import rate_unit
from ironlaw.pictures.theme import context_colour
from ironlaw.units import show_binary
from ironlaw.widget.figure import Axis, Figure, Mark, Table, mark
from ironlaw.widget.quantities import THIN, cite, exact, format_quantity


class Machine(Protocol):
    """What a ladder needs of a context: a machine, the name it goes by, and the format of its headline rate."""

    @property
    def slug(self) -> str: ...
    @property
    def label(self) -> str: ...
    @property
    def regime(self) -> str: ...
    @property
    def hardware(self) -> Hardware: ...
    @property
    def format(self) -> str: ...
    @property
    def sparse(self) -> bool: ...


@dataclass(frozen=True, slots=True)
class Rung:
    """The plainest Machine."""

    hardware: Hardware
    format: str
    label: str = ""
    sparse: bool = False

    @property
    def slug(self) -> str:
        return self.hardware.slug

    @property
    def regime(self) -> str:
        return self.hardware.context


# quantity -> title, unit, what the axis says
QUANTITIES = {
    "compute": ("Peak compute", "FLOP/s", "peak rate"),
    "bandwidth": ("Memory bandwidth", "B/s", "bandwidth"),
    "capacity": ("Memory capacity", "B", "capacity"),
    "power": ("Power", "W", "rated power"),
}


def value_of(machine: Machine, quantity: str) -> tuple[float, Sourced | None]:
    """The machine's figure in SI, and its source."""
    if quantity not in QUANTITIES:
        raise unknown("quantity", quantity, QUANTITIES)
    hardware = machine.hardware
    if quantity == "compute":
        key = f"{'sparse' if machine.sparse else 'peak'}.{machine.format}"
        return float(hardware.peak(machine.format, machine.sparse)), hardware.figures.get(key)
    value = {"bandwidth": hardware.bandwidth, "capacity": hardware.capacity, "power": hardware.power}[quantity]
    return float(value), hardware.figures.get("memory" if quantity == "capacity" else quantity)


def ladder(
    machines: Sequence[Machine], quantity: str, chosen: str = "", extra: Sequence[Mark] = (), id: str = "", width: str = "",
    scale: str = "log", tags: Mapping[str, str] | None = None, foot: str = "",
) -> Figure:  # fmt: skip
    """One row per machine. `chosen` is a slug; `extra` marks (a reveal's rules, say) are drawn on the same axis; `tags`: slug -> a word
    at the end of its bar; `foot`: a sentence under the picture."""
    values = [(machine, *value_of(machine, quantity)) for machine in machines]
    title, unit, label = QUANTITIES[quantity]
    tags = tags or {}
    bars = [_bar(machine, quantity, unit, value, source, chosen, tags.get(machine.slug, ""), scale) for machine, value, source in values]
    formats = sorted({_format(machine) for machine in machines})
    mixed = quantity == "compute" and len(formats) > 1
    axis = f"{label} in each one's format" if mixed else f"{label}, {formats[0]}" if quantity == "compute" else label
    labels = [(_name(m), _label(m, quantity, value, unit)) for m, value, _ in values]
    rows = tuple(
        (name, text, exact(value, _unit(m, quantity, unit)), cite(source))
        for (name, text), (m, value, source) in zip(labels, values, strict=True)
    )
    domain = _from_zero(bars, extra) if scale == "linear" else None
    hatched = any(source is not None and source.estimate for _, _, source in values)
    return Figure(
        id or f"ladder-{quantity}", title, Axis(scale, axis, _axis_unit(machines, quantity), domain),
        Axis("band", names=tuple(n for n, _ in labels)),
        (*bars, *extra), f"{title} on a {scale} axis: {', '.join(f'{name} {text}' for name, text in labels)}.",
        Table(("machine", label, "exactly", "source"), rows), note=f"Formats differ: {', '.join(formats)}" if mixed else "",
        legend=(estimates(scale),) if hatched else (),
        more={key: value for key, value in (("width", width), ("foot", foot)) if value},
    )  # fmt: skip


def estimates(scale: str) -> dict[str, object]:
    """How the legend shows a figure that is not the maker's own."""
    if scale == "log":
        return {"colour": "ridge", "shape": "circle", "hollow": True, "label": "hollow: an estimate"}
    return {"colour": "ridge", "pattern": True, "label": "hatched: an estimate"}


def _from_zero(bars: Sequence[Mark], extra: Sequence[Mark]) -> tuple[float, float]:
    """A bar of true length, and no longer than the longest."""
    return 0.0, 1.02 * max(float(dict(item.at).get("x", 0.0)) for item in (*bars, *extra))


def ladders(machines: Sequence[Machine], chosen: str = "", extra: Sequence[Mark] = ()) -> tuple[Figure, ...]:
    """All four, two by two; with `extra` marks the first (compute) takes the whole width for them, and the others stand under it."""
    small = "third" if extra else "half"
    compute = ladder(machines, "compute", chosen, extra, width="" if extra else small)
    return (compute, *(ladder(machines, quantity, chosen, width=small) for quantity in QUANTITIES if quantity != "compute"))


def _name(machine: Machine) -> str:
    return machine.label or machine.hardware.name


def _format(machine: Machine) -> str:
    return machine.format.upper() + (" sparse" if machine.sparse else "")


def unit_of(machine: Machine, quantity: str) -> str:
    """The unit of a machine's figure: a rate of integers counts operations, not floating-point ones."""
    return _unit(machine, quantity, QUANTITIES[quantity][1])


def _unit(machine: Machine, quantity: str, unit: str) -> str:
    return rate_unit(machine.format) if quantity == "compute" else unit


def _axis_unit(machines: Sequence[Machine], quantity: str) -> str:
    if quantity == "capacity":
        return "iB"  # memories come in powers of two: ticks and labels both count in them
    return rate_unit(*(machine.format for machine in machines)) if quantity == "compute" else QUANTITIES[quantity][1]


def _label(machine: Machine, quantity: str, value: float, unit: str) -> str:
    text = show_binary(value).replace(" ", THIN) if quantity == "capacity" else format_quantity(value, _unit(machine, quantity, unit))
    return f"{text} {_format(machine)}" if quantity == "compute" else text


def _bar(machine: Machine, quantity: str, unit: str, value: float, source: Sourced | None, chosen: str, tag: str, scale: str) -> Mark:
    estimate = source is not None and source.estimate
    hover: list[tuple[str, str] | str] = [("exactly", exact(value, _unit(machine, quantity, unit)))]
    if quantity == "compute":
        hover.append(("format", _format(machine) + ("" if machine.sparse else ", dense")))
    return mark(
        "dot" if scale == "log" else "bar", context_colour(machine.regime), x=value, y=_name(machine), id=machine.slug, name=_name(machine),
        label=_label(machine, quantity, value, unit), emphasis=machine.slug == chosen, pattern=estimate, hover=[*hover, cite(source)],
        tags=[{"text": tag, "colour": "accent"}] if tag else None,
    )  # fmt: skip
