"""An act's goal: the limits that a design is held to, and the dials that are the learner's to turn.

    GOAL = Goal(case_of, LIMITS, ("tensor", "zero", "nics"))        # case_of(lab, values): what the limits judge

The task is the section `act2.task` of words.md; the HUD, the help, the receipt, the map and the certificate follow from the goal.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from ironlaw.errors import IronlawError
from ironlaw.kit.banner import banner
from ironlaw.kit.goal_search import Search
from ironlaw.kit.instrument import Values, View, stand
from ironlaw.kit.prose import html
from ironlaw.systems.limits import Limit, hit
from ironlaw.units import joined, significant
from ironlaw.widget.dials import Dial

WHOLE = re.compile(r"(?<=:) | (?=[A-Za-zµ]+$)(?<=\d )")  # gaps where a dial's words may not part: `GPUs: 1`, `30 s`


@dataclass(frozen=True)
class Goal:
    """`limits` end with the good one, and a design that hits no other meets the goal. `turns`: the dials that a design may use.

    `nearest(lab, values)`: where the lab has a search of its own, the turns that it finds; `tight`: none of them is one too many.
    `drivers`: of a limit, the dials that it depends on, where the lab knows them; help tries no others. `ahead`: help takes so long that
    it is worked out in the background, from where the act opens.
    """

    setting: Callable[[Any, Values], Any]
    limits: Sequence[Limit]
    turns: Sequence[str]
    nearest: Callable[[Any, Values], Mapping[str, Any] | None] | None = None
    panel: str = ""  # the act's further instrument that it belongs to
    drivers: Mapping[str, Sequence[str]] = field(default_factory=dict)
    tight: bool = False
    ahead: bool = False

    def broken(self, lab: Any, values: Values) -> Limit | None:
        """The first limit that a design breaks; None where it meets the goal."""
        limit = hit(self.limits, self.setting(lab, values))
        return None if limit.tone == "good" else limit

    def rank(self, lab: Any, values: Values) -> int:
        limit = self.broken(lab, values)
        return len(self.limits) if limit is None else list(self.limits).index(limit)


@dataclass(frozen=True)
class Design:
    """What stands on an instrument's dials, held against its goal. `built`: the dials that the learner may turn, in words."""

    meets: bool
    limit: str  # the name of the first that is broken; "" where it meets the goal
    title: str
    built: str

    def stored(self) -> dict[str, Any]:
        return {"meets": self.meets, "limit": self.limit, "title": self.title, "built": self.built}


class Aim:
    """A goal at one instrument of an open lab."""

    def __init__(self, lab: Any, name: str, goal: Goal, task: str = "") -> None:
        """`task`: in words, as inline HTML."""
        self.lab, self.name, self.goal, self.task = lab, name, goal, task

    @property
    def values(self) -> dict[str, Any]:
        """Where the dials stand; empty while the instrument is locked."""
        instrument = self.lab.instruments.get(self.name)
        return dict(instrument.values) if instrument is not None else {}

    @property
    def dials(self) -> Callable[[Values], Sequence[Dial]]:
        found: Callable[[Values], Sequence[Dial]] = self.lab.instruments[self.name].dials
        return found

    def search(self, limit: str = "") -> Search:
        """Over the dials that drive this limit, or all of them."""
        goal = self.goal

        def rank(values: Values) -> int:
            """The rank by the short cut of a moving dial; what passes that is ranked again in full."""
            quick = goal.rank(self.lab, {**values, "moving": True})
            return quick if quick < len(goal.limits) else goal.rank(self.lab, values)

        return Search(self.dials, rank, len(goal.limits), goal.drivers.get(limit, goal.turns))

    @property
    def design(self) -> Design | None:
        values = self.values
        if not values:
            return None
        try:
            limit = self.goal.broken(self.lab, values)
        except IronlawError:
            return None
        name, title = (limit.name, limit.title) if limit else ("", "")
        dials = {dial["id"]: dial for dial in self.dials(values)}  # built once: a page asks for this with every dial that rests
        shown = [dials[name] for name in self.goal.turns if name in values and not dials.get(name, {"hidden": True}).get("hidden")]
        return Design(limit is None, name, title, "; ".join(WHOLE.sub("\u00a0", as_words(dial, values[dial["id"]])) for dial in shown))

    def label(self, name: str) -> str:
        return next(str(dial["label"]) for dial in self.dials(self.values) if dial["id"] == name)

    def words(self, values: Values, name: str) -> str:
        """`ZeRO stage: 3`, as the dial shows it."""
        return as_words(next(dial for dial in self.dials(values) if dial["id"] == name), values[name])

    def judging(self, compute: Callable[[Values], View], act: str) -> Callable[[Values], View]:
        """What the instrument shows, with a banner that never calls a design good which the goal does not."""

        def judged(values: Values) -> View:
            view = compute(values)
            if view.banner is not None and view.banner["tone"] != "good":
                return view
            setting = self.goal.setting(self.lab, values)
            limit = hit(self.goal.limits, setting)
            if limit.tone == "good":
                return view
            text = html(self.lab.fill(f"{act}.{limit.name}", **limit.slots(setting)))
            own = str(view.banner["text"]) if view.banner is not None else ""
            return replace(view, banner=banner(limit.tone, limit.title, own + text))

        return judged

    def banner(self, values: Values) -> Mapping[str, Any]:
        """What the instrument says of these dials."""
        return self.lab.instruments[self.name].compute(values).banner or {}

    def nearest(self, values: Values) -> dict[str, Any] | None:
        """Where the dials stand at the nearest design that meets the goal: from here, else from where the act opens."""
        search = self.search()
        _, opening, _ = stand(self.dials, {})
        premises = {name: value for name, value in opening.items() if name not in self.goal.turns}
        for begin in (dict(values), {**values, **premises}, opening):
            _, start, _ = stand(self.dials, begin)
            way = start if search.rank(start) == search.top else self._way(search, start)
            if way is not None:
                return way
        return None

    def _way(self, search: Search, start: dict[str, Any]) -> dict[str, Any] | None:
        if self.goal.nearest is None:
            return search.nearest(start)
        turns = self.goal.nearest(self.lab, start)
        if turns is None:
            return None
        return {**start, **turns} if self.goal.tight else search.fewest(start, {**start, **turns})


def as_words(dial: Dial, value: Any) -> str:
    """`ZeRO stage: 3`."""
    if dial["type"] == "switch":
        return f"{dial['label']}: {'on' if value else 'off'}"
    if "options" in dial:
        shown = next((option["label"] for option in dial["options"] if option["value"] == value), str(value))
        return f"{dial['label']}: {shown}"
    shown = f"{value:,.0f}" if float(value).is_integer() else significant(float(value))
    return f"{dial['label']}: {joined(shown, dial.get('unit', ''))}"
