"""The reveal: your prediction and the truth on the same axis, and how far apart they are."""

from __future__ import annotations

import math
from collections.abc import Collection
from dataclasses import dataclass, replace

from ironlaw.errors import BadValue
from ironlaw.units import joined, power_of_ten, show_between, significant
from ironlaw.widget.figure import Figure, Mark, mark
from ironlaw.widget.quantities import exact, format_quantity

CLOSE = 1.1  # within a tenth nobody was wrong
SAME = 0.01  # of the truth: closer than that, the dials stand at the question's own case


@dataclass(frozen=True, slots=True)
class Distance:
    """How far a prediction was off, as a factor."""

    predicted: float
    true: float

    def __post_init__(self) -> None:
        if not (self.predicted > 0 and self.true > 0 and math.isfinite(self.predicted) and math.isfinite(self.true)):
            raise BadValue(f"a prediction of {self.predicted!r} against {self.true!r} has no factor; both must be above 0")

    @property
    def factor(self) -> float:
        """How many times too large or too small, so at least 1."""
        return max(self.predicted / self.true, self.true / self.predicted)

    @property
    def orders(self) -> float:
        """Orders of magnitude; positive where the prediction was too high."""
        return math.log10(self.predicted / self.true)

    @property
    def words(self) -> str:
        """`98.9× too low, 2 orders of magnitude`."""
        if self.factor < CLOSE:
            return "on the mark"
        way = "high" if self.predicted > self.true else "low"
        if self.factor < 10:
            return f"{significant(self.factor)}× too {way}"
        orders = significant(abs(self.orders), 2)
        return f"{significant(self.factor)}× too {way}, {orders} {'order' if orders == '1' else 'orders'} of magnitude"


def points_off(predicted: float, true: float) -> str:
    """`16.7 points too high`, of two percentages; within a point nobody was wrong."""
    apart = abs(predicted - true)
    return "on the mark" if apart < 1 else f"{significant(apart)} points too {'high' if predicted > true else 'low'}"


def rules(
    predicted: float,
    true: float,
    unit: str = "",
    *,
    guess_label: str = "you said",
    truth_label: str = "it is",
    base: float = 1.0,
    digits: int = 3,
    between: tuple[float, float] | None = None,
    now: float | None = None,
) -> tuple[Mark, Mark]:
    """Two upright rules for a figure with numbers along x.

    `now`: the same quantity at the dials, where they may stand at another case than the question's: the truth then says whose it is.

    `digits` are the truth's; `between`: where it lies, if it is simulated. `base` moves both along the axis:
    a predicted ratio of 10⁴ over a machine of 1 GFLOP/s stands at 10 TFLOP/s.
    """
    distance = Distance(predicted, true)
    off = distance.words
    truth = show_between(true, *between, unit) if between else format_quantity(true, unit, digits)
    if now is not None and abs(now / true - 1) > SAME:
        truth_label = f"as asked, {truth_label}"
    return (
        mark(
            "rule", "accent", x=base * predicted, role="prediction", distance=off, id="prediction",
            label=f"{guess_label} {_round(predicted, unit)}", name="your prediction",
            hover=[("your prediction", exact(predicted, unit)), ("off", off)],
        ),
        mark(
            "rule", "ink", x=base * true, role="truth", label=f"{truth_label} {truth}", id="truth",
            name="computed",
            hover=[("computed", exact(true, unit)), ("your prediction", off)],
        ),
    )  # fmt: skip


def _round(value: float, unit: str) -> str:
    """Powers of ten as the options write them: 10⁶."""
    exponent = math.log10(value)
    if unit in ("", "×") and exponent.is_integer() and exponent >= 2:
        return joined(power_of_ten(int(exponent)), unit)
    return format_quantity(value, unit)


def on_rows(figure: Figure, said: Collection[str], true: str) -> Figure:
    """The same picture for a question whose answer is one of its rows: words behind those that were chosen, and the right one, say so."""
    words = dict.fromkeys(said, ("accent", "prediction", "◆ you said"))
    words[true] = ("ink", "truth", "◆ you said, and it is" if true in said else "✓ it is this one")
    marks, last = list(figure.marks), {}
    for i, one in enumerate(marks):
        row = dict(one.at).get("y")
        if row in words and one.type in ("bar", "label"):
            last[row] = i
    for row, i in last.items():
        marks[i] = _worded(marks[i], *words[row])
    return replace(figure, marks=tuple(marks), text=f"{figure.text} You said: {', '.join(said)}. It is: {true}.")


def _worded(one: Mark, colour: str, role: str, words: str) -> Mark:
    more = {**dict(one.more), "role": role}
    if one.type == "label":
        return replace(one, colour=colour, label=f"{one.label}  {words}", more=tuple(more.items()))
    more["tags"] = [*more.get("tags", ()), {"text": words, "colour": colour}]
    return replace(one, more=tuple(more.items()))
