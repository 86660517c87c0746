"""What a study file gives for one parameter: a value, a list of values, or a range."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from random import Random
from typing import Any

from ironlaw.errors import BadValue, IronlawError, unknown
from ironlaw.systems.fields import Parameter

KEYS = ("from", "to", "step", "times", "count", "log")
MOST = 1_000_000  # values of one range
EXAMPLE = "{ from = 1, to = 64, times = 2 }"


@dataclass(frozen=True)
class Axis:
    """Values in their order; or, for a random search, anything between `low` and `high`, evenly or evenly in its logarithm."""

    parameter: Parameter
    values: tuple[Any, ...] = ()
    low: float = 0.0
    high: float = 0.0
    log: bool = False

    @property
    def open(self) -> bool:
        """Whether it has ends and no list."""
        return not self.values

    @property
    def size(self) -> float:
        if self.values:
            return len(self.values)
        return math.floor(self.high) - math.ceil(self.low) + 1 if self.parameter.column == "int64" else math.inf

    def draw(self, random: Random) -> Any:
        share = random.random()
        if self.values:
            return self.values[int(share * len(self.values))]
        if self.parameter.column == "int64":
            low, high = self.low, self.high + 1  # so that both ends are as likely as the rest
            return min(int(_between(low, high, share, self.log)), int(self.high))
        return _between(self.low, self.high, share, self.log)


def axis(parameter: Parameter, given: Any) -> Axis:
    """A value that can't be is refused here, before anything is computed."""
    if isinstance(given, Mapping):
        return _range(parameter, given)
    if isinstance(given, list):
        if not given:
            raise BadValue(f"{parameter.name} has an empty list; give at least one value, or leave it out", parameter.name)
        return Axis(parameter, tuple(dict.fromkeys(_read(parameter, value) for value in given)))
    return Axis(parameter, (_read(parameter, given),))


def _read(parameter: Parameter, value: Any) -> Any:
    try:
        return parameter.read(value)
    except IronlawError as error:
        if error.field:  # then it says itself what it is about
            raise
        raise type(error)(f"{parameter.name}: {error}", parameter.name) from None


def _range(parameter: Parameter, given: Mapping[str, Any]) -> Axis:
    name = parameter.name
    if not parameter.numeric:
        raise BadValue(f"{name} is not a number, so it can't have a range; write a list", name)
    for key in given:
        if key not in KEYS:
            raise unknown(f"key of the range of {name}", key, KEYS, field=name)
    missing = [key for key in ("from", "to") if key not in given]
    if missing:
        raise BadValue(f"the range of {name} has no {' and no '.join(missing)}; write it as {EXAMPLE}", name)
    low, high = (_read(parameter, given[key]) for key in ("from", "to"))
    if low > high:
        raise BadValue(f"the range of {name} goes from {low} to {high}; give the lower end first", name)
    steps = [key for key in ("step", "times", "count") if key in given]
    if len(steps) > 1:
        raise BadValue(f"the range of {name} has {' and '.join(steps)}; keep one of them", name)
    if not isinstance(given.get("log", False), bool):
        raise BadValue(f"the range of {name} has log = {given['log']!r}; write true or false", name)
    log = given.get("log", False)
    if log and not low:
        raise BadValue(f"the range of {name} is logarithmic but starts at 0; start above it", name)
    if not steps:
        return Axis(parameter, low=low, high=high, log=log)
    values = _stepped(parameter, given, steps[0], low, high, log)
    return Axis(parameter, tuple(dict.fromkeys(values)))


def _stepped(parameter: Parameter, given: Mapping[str, Any], how: str, low: float, high: float, log: bool) -> list[Any]:
    """The values of a range that says how it steps; those of whole numbers are rounded."""
    name, by = parameter.name, given[how]
    if how == "count":
        if isinstance(by, bool) or not isinstance(by, int) or not 2 <= by <= MOST:
            raise BadValue(f"the range of {name} has count = {by!r}; give a whole number from 2 to {MOST:,}", name)
        found = [_between(low, high, i / (by - 1), log) for i in range(by)]
    else:
        least = 1.0 if how == "times" else 0.0
        by = _read(parameter, by) if how == "step" else by
        if isinstance(by, bool) or not isinstance(by, (int, float)) or not least < by < math.inf:
            raise BadValue(f"the range of {name} has {how} = {given[how]!r}; give a number above {least:g}", name)
        if (math.log(high / low) / math.log(by) if how == "times" and low else (high - low) / by) >= MOST or (how == "times" and not low):
            raise BadValue(f"the range of {name} never ends, or has over {MOST:,} values; give a larger {how} or start above 0", name)
        found, i = [], 0
        while (value := low * by**i if how == "times" else low + by * i) <= high * (1 + 1e-12):
            found.append(value)
            i += 1
    return [round(value) for value in found] if parameter.column == "int64" else [float(value) for value in found]


def _between(low: float, high: float, share: float, log: bool) -> float:
    if share == 1:
        return high
    return low * (high / low) ** share if log else low + (high - low) * share
