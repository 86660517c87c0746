"""What a lock may take beside the choice and seals with it: a figure that the learner expects, or a curve that they draw.

Both are optional in the ledger: a prediction of an earlier version, or a second attempt with the truth in sight, has neither.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ironlaw.errors import BadValue
from ironlaw.kit.prose import inline


@dataclass(frozen=True)
class Estimate:
    """A figure on a slider from `low` to `high`."""

    label: str  # Markdown
    unit: str
    low: float
    high: float
    step: float
    name = "estimate"

    def spec(self) -> dict[str, Any]:
        return {"label": inline(self.label), "unit": self.unit, "min": self.low, "max": self.high, "step": self.step}

    def read(self, value: Any) -> float:
        if not _number(value) or not self.low <= value <= self.high:
            raise BadValue(f"the estimate is {value!r}; move its slider to a value from {self.low:,g} to {self.high:,g}")
        return float(value)


@dataclass(frozen=True)
class Sketch:
    """A curve through points whose places along the axis stand and whose heights the learner sets. `figure` is the empty plot."""

    label: str  # Markdown
    figure: Any
    points: tuple[tuple[float, str], ...]  # place along the axis, and what a point there is called
    low: float
    high: float
    step: float
    start: float
    unit: str = "%"
    name = "sketch"

    def spec(self) -> dict[str, Any]:
        points = [{"x": at, "name": name} for at, name in self.points]
        return {
            "label": inline(self.label), "figure": self.figure.to_dict(), "points": points, "min": self.low, "max": self.high,
            "step": self.step, "start": self.start, "unit": self.unit,
        }  # fmt: skip

    def read(self, value: Any) -> list[float]:
        if not isinstance(value, list) or len(value) != len(self.points) or not all(map(self._holds, value)):
            raise BadValue(f"the curve is {value!r}; draw it with {len(self.points)} points from {self.low:g} to {self.high:g}")
        return [float(height) for height in value]

    def _holds(self, value: Any) -> bool:
        return _number(value) and self.low <= value <= self.high


def _number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)


Part = Estimate | Sketch


def sealed_part(part: Part | None, state: Mapping[str, Any]) -> dict[str, Any]:
    """For the ledger: what the state holds of the part; nothing if the lock has no such part, or the learner left it out."""
    if part is None or state.get(part.name) is None:
        return {}
    return {part.name: part.read(state[part.name])}
