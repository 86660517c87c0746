"""A pass in parts, some of them sped up: parts take turns, or run in lanes beside one another."""

from __future__ import annotations

import math
from collections.abc import Collection
from dataclasses import dataclass

from ironlaw.engine.scaling.stages import in_turn, pipelined, share_after


@dataclass(frozen=True)
class Parted:
    """`times`: (part, seconds), as they take turns. `lanes`: which parts run one after the other beside the rest, where they overlap.
    `ahead`: (lane, seconds) of one that takes another time then, such as a host that runs ahead of its device."""

    times: tuple[tuple[str, float], ...]
    lanes: tuple[tuple[str, tuple[str, ...]], ...] = ()
    ahead: tuple[str, float] = ("", 0.0)

    @property
    def seconds(self) -> float:
        return sum(seconds for _, seconds in self.times)

    def share(self, faster: Collection[str]) -> float:
        """The share of the pass that these parts take, before any change."""
        return sum(seconds for part, seconds in self.times if part in faster) / self.seconds

    def after(self, faster: Collection[str], factor: float) -> list[float]:
        return [seconds / (factor if part in faster else 1.0) for part, seconds in self.times]

    def speedup(self, faster: Collection[str], factor: float, overlap: bool = False) -> float:
        """The whole's; inf is a factor, too."""
        if not overlap:
            return float(in_turn([seconds for _, seconds in self.times], self._factors(faster, factor)))
        before, now = self.lane_times(faster, 1.0), self.lane_times(faster, factor)
        return float(pipelined(list(before.values()), [_over(before[lane], now[lane]) for lane in before]))

    def lane_times(self, faster: Collection[str], factor: float) -> dict[str, float]:
        """How long each lane takes by itself."""
        after = dict(zip((part for part, _ in self.times), self.after(faster, factor), strict=True))
        times = {lane: sum(after[part] for part in parts) for lane, parts in self.lanes}
        lane, seconds = self.ahead
        if lane in times:
            times[lane] = seconds / (factor if set(dict(self.lanes)[lane]) <= set(faster) else 1.0)
        return times

    def gain_of_one_percent(self, faster: Collection[str], factor: float) -> float:
        """The parts' share after the change, which is what 1% more on their factor brings, in percent."""
        times, factors = [seconds for _, seconds in self.times], self._factors(faster, factor)
        return sum(float(share_after(times, factors, i)) for i, (part, _) in enumerate(self.times) if part in faster)

    def _factors(self, faster: Collection[str], factor: float) -> list[float]:
        return [factor if part in faster else 1.0 for part, _ in self.times]


def _over(before: float, now: float) -> float:
    return before / now if now else math.inf
