"""How far the learner is: which places are open, and the design that was saved. Read from the ledger, so that windows agree."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ironlaw.errors import BadValue, LedgerError
from ironlaw.kit import journey
from ironlaw.kit.journey import Place
from ironlaw.kit.question_sheet import Question
from ironlaw.ledger import Event


class Progress:
    """`reached`: the index of the place that waits; `stamp`: how many events the ledger holds of this lab; `design`: the newest one."""

    def __init__(
        self, slug: str, places: tuple[Place, ...], questions: Mapping[str, Question], ledger: Any, further: tuple[Place, ...] = ()
    ) -> None:
        self.slug, self.places, self.questions, self.ledger, self.further = slug, places, questions, ledger, further
        self.trouble = ""
        self.look()

    def look(self) -> None:
        """Once per act of the learner, not with every turn of a dial."""
        try:
            events: list[Event] = self.ledger.events(self.slug)
        except LedgerError as error:
            self.trouble, events = str(error), []
        self.reached = journey.reached(self.places, self.questions, events)
        self.design = next((event for event in reversed(events) if event.kind == "design"), None)
        self.stamp = len(events)

    def is_open(self, name: str) -> bool:
        """Whether a place is shown: all before it are done. Those beyond the core come with the receipt."""
        return self.index(journey.END if self.is_further(name) else name) <= self.reached

    def is_further(self, name: str) -> bool:
        return any(place.name == name for place in self.further)

    def state(self, name: str) -> str:
        index = self.index(name)
        if name == journey.END and self.design is not None:
            return "done"
        return "done" if index < self.reached else "now" if index == self.reached else "locked"

    def index(self, name: str) -> int:
        return self._index(name, self.places)

    def _index(self, name: str, listed: tuple[Place, ...]) -> int:
        for index, place in enumerate(listed):
            if place.name == name:
                return index
        raise BadValue(f"{self.slug} has no place {name!r}; its places are {', '.join(place.name for place in listed)}")

    def after(self, name: str) -> Place | None:
        listed = self.further if self.is_further(name) else self.places
        index = self._index(name, listed) + 1
        return listed[index] if index < len(listed) else None

    def acts(self) -> dict[str, list[Place]]:
        """Act -> its places, in order."""
        by_act: dict[str, list[Place]] = {}
        for place in self.places:
            by_act.setdefault(place.act, []).append(place)
        return by_act

    def saved_dials(self, instrument: str) -> dict[str, Any]:
        """Where an instrument's dials stood when the design was saved."""
        dials = self.design.payload.get("dials") if self.design is not None else None
        values = dials.get(instrument) if isinstance(dials, dict) else None
        return dict(values) if isinstance(values, dict) else {}

    def store(self, instrument: str) -> str:
        """Where the browser keeps the dials until they are saved: a saved design begins a new page there."""
        return f"{self.slug}/{instrument}@{self.design.id if self.design is not None else ''}"
