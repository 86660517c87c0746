"""Ways to a goal over an instrument's own dials: the single turns around a setting, and the nearest setting that meets every limit.

A setting's rank is the place of the first limit that it breaks, in the lab's list; the list's end is the goal. Single turns come first,
each dial's nearest stop before its next; then further turns of the most promising ones. The number of settings tried is bounded.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ironlaw.kit.instrument import Values, stand
from ironlaw.widget.dials import Dial

TRIES = 600  # settings judged from one start
DEPTH = 4  # dials turned, at most
WIDTH = 24  # settings that the next turn starts from
STOPS = 12  # of a slider that has none of its own


@dataclass(frozen=True)
class Turn:
    dial: str
    value: Any
    values: dict[str, Any]  # where all dials stand then
    order: int  # the dial's nearest stop is 0


def stops(dial: Dial, now: Any) -> list[Any]:
    """Where else a dial can stand, nearest first."""
    if dial["type"] == "switch":
        return [not now]
    if "options" in dial:
        listed = [option["value"] for option in dial["options"]]
        place = listed.index(now) if now in listed else 0
        open_to = [option["value"] for option in dial["options"] if not option["disabled"] and option["value"] != now]
        return sorted(open_to, key=lambda value: abs(listed.index(value) - place))
    if dial["type"] not in ("range", "log"):
        return []
    places = dial.get("steps") or [*_grid(dial), *dial.get("presets", ())]
    apart = _ratio if dial["type"] == "log" else lambda one, other: abs(one - other)
    return sorted({place for place in places if place != now}, key=lambda place: (apart(place, now), place))


def _ratio(one: float, other: float) -> float:
    return abs(math.log(one / other)) if one > 0 and other > 0 else abs(one - other)


def _grid(dial: Dial) -> Iterable[float]:
    low, high = float(dial["min"]), float(dial["max"])
    for k in range(STOPS + 1):
        part = k / STOPS
        if dial["type"] == "log":
            value = min(high, max(low, float(f"{low * (high / low) ** part:.2g}")))
        else:
            value = min(high, low + dial["step"] * round((high - low) * part / dial["step"]))
        yield round(value) if dial.get("whole") else round(value, 9)


def spread(turns: Sequence[Turn]) -> list[Turn]:
    """The first, a middle and the last one."""
    return [turns[k] for k in sorted({0, len(turns) // 2, len(turns) - 1}) if turns]


class Search:
    """`rank` says how far down the list of limits a setting gets; `top` is the rank of one that breaks none."""

    def __init__(self, dials: Callable[[Values], Sequence[Dial]], rank: Callable[[Values], int], top: int, names: Sequence[str]) -> None:
        self.dials, self.top, self.names, self._rank = dials, top, names, rank
        self.ranks: dict[str, int] = {}

    def rank(self, values: Mapping[str, Any]) -> int:
        key = str(sorted(values.items(), key=lambda item: item[0]))
        if key not in self.ranks:
            self.ranks[key] = self._rank(values)
        return self.ranks[key]

    def turns(self, values: Mapping[str, Any]) -> list[Turn]:
        """Every single turn, each dial's nearest stop before any dial's next one."""
        found: dict[str, Turn] = {}
        shown = {dial["id"]: dial for dial in self.dials(values) if dial["id"] in self.names and not dial.get("hidden")}
        for name in (name for name in self.names if name in shown):
            for order, stop in enumerate(stops(shown[name], values[name])):
                _, turned, _ = stand(self.dials, {**values, name: stop})
                if turned[name] == stop:
                    found.setdefault(f"{name}={stop}", Turn(name, stop, turned, order))
        return sorted(found.values(), key=lambda turn: turn.order)

    def movers(self, values: Mapping[str, Any]) -> list[str]:
        """The dials that get past the limit that is broken, each by itself: at its nearest stop, a middle one or its farthest.

        And the one whose least turn repairs it, wherever that stop lies.
        """
        now = self.rank(values)
        turns = self.turns(values)
        own = {name: [turn for turn in turns if turn.dial == name] for name in self.names}
        least = self.repair(values)
        return [
            name for name in self.names if least and (name == least.dial or any(self.rank(turn.values) > now for turn in spread(own[name])))
        ]

    def repair(self, values: Mapping[str, Any]) -> Turn | None:
        """The least single turn that gets past the limit that is broken."""
        now = self.rank(values)
        return next((turn for turn in self.turns(values) if self.rank(turn.values) > now), None)

    def nearest(self, start: Mapping[str, Any]) -> dict[str, Any] | None:
        """Where all dials stand at the nearest setting found that meets the goal; None where the tries end first."""
        self.tries = TRIES
        front = [dict(start)]
        for _ in range(DEPTH):
            tried: list[Turn] = []
            for values in front:
                for turn in self.turns(values):
                    if self.rank(turn.values) == self.top:
                        return self.fewest(start, turn.values)
                    tried.append(turn)
                    self.tries -= 1
                    if self.tries < 0:
                        return None
            front = self._best(tried)
        return None

    def _best(self, tried: Sequence[Turn]) -> list[dict[str, Any]]:
        """For each dial the nearest, a middle and the farthest of the turns that get furthest, best first."""
        kept: list[Turn] = []
        for name in self.names:
            own = [turn for turn in tried if turn.dial == name]
            high = max((self.rank(turn.values) for turn in own), default=0)
            same = [turn for turn in own if self.rank(turn.values) == high]
            kept += spread(same)
        return [turn.values for turn in sorted(kept, key=lambda turn: (-self.rank(turn.values), turn.order))[:WIDTH]]

    def fewest(self, start: Mapping[str, Any], end: Mapping[str, Any]) -> dict[str, Any]:
        """The same without the turns that it does not need."""
        now = dict(end)
        for name in [name for name in end if end[name] != start.get(name)]:
            _, without, _ = stand(self.dials, {**now, name: start.get(name)})
            if self.rank(without) == self.top:
                now = without
        return now
