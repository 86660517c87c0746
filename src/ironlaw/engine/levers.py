"""Levers of any model: what one percent more of an input does, how much room each constraint has, and which single change fixes one.

A readout is a function of named inputs, all above 0. Its lever at x is d ln f / d ln x: −1 where doubling x halves f, 0 where x is hidden.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from ironlaw.errors import BadValue

Inputs = Mapping[str, float]
Readout = Callable[[Inputs], float]
MOST, LEAST = "most", "least"


@dataclass(frozen=True)
class Bar:
    """One bar of a tornado: the readout with the input lower and higher by the same share, and the lever between."""

    name: str
    low: float
    high: float
    lever: float

    @property
    def reach(self) -> float:
        return abs(self.high - self.low)


@dataclass(frozen=True)
class Limit:
    """A constraint on a readout: a maximum (`most`) or a minimum (`least`)."""

    readout: str
    kind: str
    value: float

    def margin(self, readout: float) -> float:
        """The room that is left, as a share of the limit: below 0 it is broken."""
        room = self.value - readout if self.kind == MOST else readout - self.value
        return room / abs(self.value) if self.value else room

    def holds(self, readout: float) -> bool:
        return self.margin(readout) >= 0


@dataclass(frozen=True)
class Fix:
    """A single dial at another value, and what that costs."""

    dial: str
    value: float
    cost: float


def sensitivity(f: Readout, inputs: Inputs, step: float = 1e-4) -> dict[str, float]:
    """{input: d ln f / d ln x}, by central differences in logarithms."""
    _check(inputs)
    return {name: _slope(f, inputs, name, step) for name in inputs}


def tornado(f: Readout, inputs: Inputs, change: float = 0.1, between: bool = False) -> list[Bar]:
    """Every input alone, divided and multiplied by 1 + change; the widest bar first.

    `between`: a lever is the mean slope from end to end of its bar, not the slope at the inputs: two calls of `f` fewer for each."""
    if not change > 0:
        raise BadValue(f"the change is {change!r}; give a share above 0, such as 0.1", "change")
    _check(inputs)
    bars = []
    for name, x in inputs.items():
        low, high = f({**inputs, name: x / (1 + change)}), f({**inputs, name: x * (1 + change)})
        lever = _log_ratio(low, high, name) / (2 * math.log1p(change)) if between else _slope(f, inputs, name, 1e-4)
        bars.append(Bar(name, low, high, lever))
    return sorted(bars, key=lambda bar: -bar.reach)


def best(f: Readout, inputs: Inputs, names: Iterable[str] = (), change: float = 0.1, kind: str = MOST) -> str:
    """The input, among those named (or all), of which `change` more helps the readout most: lowers it for `most`, raises it for `least`."""
    chosen = tuple(names) or tuple(inputs)
    sign = 1 if kind == MOST else -1
    return min(chosen, key=lambda name: sign * f({**inputs, name: inputs[name] * (1 + change)}))


def critical(terms: Mapping[str, float]) -> str:
    """The largest of the terms that add up, or of those of which the largest counts."""
    if not terms:
        raise BadValue("there are no terms; name at least one", "terms")
    return max(terms, key=lambda name: terms[name])


def cheapest_fix(
    holds: Callable[[Inputs], bool], inputs: Inputs, dials: Mapping[str, Sequence[float]], cost: Callable[[str, float], float] | None = None
) -> Fix | None:
    """The cheapest setting of a single dial with which `holds` is true; None where none does.

    Without a `cost` it is how far a dial turns: |ln(new / old)|."""

    def turn(name: str, value: float) -> float:
        return abs(math.log(value / inputs[name]))

    turns = [Fix(name, value, (cost or turn)(name, value)) for name, values in dials.items() for value in values if value != inputs[name]]
    return next((fix for fix in sorted(turns, key=lambda fix: fix.cost) if holds({**inputs, fix.dial: fix.value})), None)


def _check(inputs: Inputs) -> None:
    for name, x in inputs.items():
        if not 0 < x < math.inf:
            raise BadValue(f"{name} is {x!r}; a lever needs an input above 0", name)


def _slope(f: Readout, inputs: Inputs, name: str, step: float) -> float:
    x = inputs[name]
    return _log_ratio(f({**inputs, name: x * math.exp(-step)}), f({**inputs, name: x * math.exp(step)}), name) / (2 * step)


def _log_ratio(low: float, high: float, name: str) -> float:
    if low == high:
        return 0.0
    if not (0 < low < math.inf and 0 < high < math.inf):
        raise BadValue(f"the readout goes from {low!r} to {high!r}; a logarithm needs figures above 0", name)
    return math.log(high / low)
