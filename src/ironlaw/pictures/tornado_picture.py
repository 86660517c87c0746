"""A tornado: what a readout becomes with a little less and a little more of each input, the widest bar on top."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from ironlaw.errors import BadValue
from ironlaw.units import significant
from ironlaw.widget.figure import Axis, Figure, Mark, Table, mark
from ironlaw.widget.quantities import exact, format_quantity, percent

LESS, MORE = "ridge", "accent"


class Bar(Protocol):
    @property
    def name(self) -> str: ...
    @property
    def low(self) -> float: ...
    @property
    def high(self) -> float: ...
    @property
    def lever(self) -> float: ...


def tornado(
    bars: Sequence[Bar], now: float, unit: str, title: str, *, names: Mapping[str, str], change: float, label: str = "",
    domain: tuple[float, float] | None = None, chosen: str = "", id: str = "tornado",
) -> Figure:  # fmt: skip
    """`now`: the readout as it is, where the bars meet; `change`: the share that is less and more; `chosen`: the bar that was predicted."""
    if not bars:
        raise BadValue(f"{title}: no bar; give at least one input")
    marks: list[Mark] = []
    for bar in bars:
        row = names[bar.name]
        hover = [
            (f"{percent(change)} less", exact(bar.low, unit)), (f"{percent(change)} more", exact(bar.high, unit)),
            ("lever", significant(bar.lever)),
        ]  # fmt: skip
        for colour, end, side in ((LESS, bar.low, "less"), (MORE, bar.high, "more")):
            x0, x1 = sorted((now, end))
            marks.append(mark("bar", colour, x0=x0, x1=x1, y=row, id=f"{bar.name}-{side}", name=f"{row}, {percent(change)} {side}",
                              pattern=side == "less", emphasis=bar.name == chosen, hover=hover))  # fmt: skip
        farthest = max(now, bar.low, bar.high)
        tag = f"{_signed(bar.lever)}{', you said this one' if bar.name == chosen else ''}"
        marks.append(mark("label", "ink", x=farthest, y=row, id=f"{bar.name}-lever", label=tag))
    marks.append(mark("rule", "ink", x=now, id="now", name="as it is", label=f"now {format_quantity(now, unit)}",
                      hover=[("as it is", exact(now, unit))]))  # fmt: skip
    rows = tuple(
        (names[bar.name], format_quantity(bar.low, unit), format_quantity(bar.high, unit), _signed(bar.lever), exact(bar.high, unit))
        for bar in bars
    )
    widest = bars[0]
    text = (
        f"{format_quantity(now, unit)} as it is. {percent(change)} more of {names[widest.name]} would make it "
        f"{format_quantity(widest.high, unit)}; " + ", ".join(f"{names[bar.name]} {format_quantity(bar.high, unit)}" for bar in bars[1:])
    )
    columns = ("of", f"{percent(change)} less", f"{percent(change)} more", "lever", "more, exactly")
    legend = (
        {"colour": MORE, "label": f"{percent(change)} more"},
        {"colour": LESS, "pattern": True, "label": f"{percent(change)} less"},
    )
    return Figure(
        id, title, Axis("linear", label or title.lower(), unit, domain), Axis("band", names=tuple(names[bar.name] for bar in bars)),
        tuple(marks), f"{text}.", Table(columns, rows), "the figure behind a bar: percent of change for one percent more", legend,
        {"row": 34},
    )  # fmt: skip


def _signed(lever: float) -> str:
    return "0" if abs(lever) < 5e-4 else f"{'−' if lever < 0 else '+'}{significant(abs(lever), 2)}"
