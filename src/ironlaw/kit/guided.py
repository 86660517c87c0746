"""The part of a Lab that leads: which places are open, the button to the next one, saving on purpose, and following other windows."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ironlaw.errors import BadValue, LedgerError
from ironlaw.kit import places as journey
from ironlaw.kit import prose
from ironlaw.kit import save as saves
from ironlaw.kit.measuring import Measuring
from ironlaw.kit.places import Place
from ironlaw.kit.words import Words
from ironlaw.ledger import Event
from ironlaw.widget.acts import ActCounter
from ironlaw.widget.piece import Piece

Design = Callable[[], Mapping[str, Any]]


class Guided(Measuring):
    places: tuple[Place, ...]
    words: Words
    _predictions: dict[str, list[Event]]
    _reached: int
    _stamp: int
    _design: Event | None
    _design_of: Design | None

    def _look(self) -> None:
        """Read from the ledger how far the learner is. Once per act of theirs, not with every turn of a dial."""
        try:
            events = self.ledger.events(self.slug)
        except LedgerError as error:
            self.trouble, events = str(error), []
        self._reached = journey.reached(self.places, self.questions, events)
        designs = [event for event in events if event.kind == "design"]
        self._design = designs[-1] if designs else None
        self._stamp = len(events)

    # --- places

    def is_open(self, name: str) -> bool:
        """Whether a place is shown: all before it are done."""
        return self._index(name) <= self._reached

    def _index(self, name: str) -> int:
        for index, place in enumerate(self.places):
            if place.name == name:
                return index
        raise BadValue(f"{self.slug} has no place {name!r}; its places are {', '.join(place.name for place in self.places)}")

    def _next(self, name: str) -> Place | None:
        index = self._index(name) + 1
        return self.places[index] if index < len(self.places) else None

    def go_on(self, name: str) -> str:
        """HTML of the button that leads from a place to the next one; empty where a commit or an answer leads on."""
        place, to = self.places[self._index(name)], self._next(name)
        if to is None or journey.commits(place, self.questions):
            return ""
        acts = ActCounter()

        def compute(state: Mapping[str, Any]) -> dict[str, Any]:
            if acts.advanced(state) and self._index(name) >= self._reached:
                self.ledger.append(self.slug, "step", {"step": name})
                self._changed()
            return {"done": self._index(name) < self._reached}

        piece = Piece("next", {"id": f"{name}.next", "label": self._lead(to), "to": to.anchor}, compute)
        return str(self._element(f"{name}.next", piece))

    def _lead(self, to: Place) -> str:
        if to.part == "lock":
            title = str(self.words[f"{to.act}.title"])
            return f"Go on to {title}"
        own = f"{to.name}.lead"
        return str(self.words[own]) if own in self.words else journey.LEADS.get(to.part, f"Go on: {to.label}")

    # --- what all windows know

    def _changed(self) -> None:
        """Something was written: the cells of this page follow, and its other windows are told."""
        self._predictions.clear()
        self._look()
        self.notify()
        follower = self.elements.get("follow")
        if follower is not None:
            follower.widget.refresh()

    def follower(self) -> str:
        """HTML of the piece that keeps windows together: one tells the others how much the ledger holds, and they look."""

        def compute(state: Mapping[str, Any]) -> dict[str, Any]:
            if state.get("look"):
                self.catch_up()
            return {"stamp": self._stamp}

        piece = Piece("follow", {"id": "follow", "lab": self.slug}, compute)
        return str(self._element("follow", piece))

    def catch_up(self) -> None:
        """Another window of this lab may have committed, answered, gone on, saved or chosen another context."""
        before, design = self._stamp, self._design
        self._look()
        if self._stamp == before:
            return
        self._predictions.clear()
        self._recall()
        self._follow_context()
        if self._design is not None and (design is None or design.id != self._design.id):
            self._load_design()
        for name, instrument in self.instruments.items():
            if self.prediction(name.partition(".")[0]) is not None:
                instrument.open()
        for name, element in self.elements.items():
            if name != "follow" and element.widget.kind not in ("instrument", "toggle"):
                element.widget.refresh()
        self.notify()

    # --- saving

    def saved_dials(self, name: str) -> dict[str, Any]:
        """Where an instrument's dials stood when the design was saved."""
        dials = self._design.payload.get("dials") if self._design is not None else None
        values = dials.get(name) if isinstance(dials, dict) else None
        return dict(values) if isinstance(values, dict) else {}

    def _store(self, name: str) -> str:
        """Where the browser keeps the dials until they are saved: a saved design begins a new page there."""
        return f"{self.slug}/{name}@{self._design.id if self._design is not None else ''}"

    def _load_design(self) -> None:
        for name, instrument in self.instruments.items():
            instrument.load(self.saved_dials(name), self._store(name))

    def designed(self, fields: Mapping[str, Any]) -> dict[str, Any]:
        """A lab's own fields, and where its dials stand."""
        return {**fields, "dials": {name: dict(instrument.values) for name, instrument in self.instruments.items() if instrument.values}}

    def receipt(self, fields: Mapping[str, Any]) -> saves.Receipt:
        """What the HUD says: saved or not, and whether the controls have moved since."""
        return saves.receipt(self.ledger, self._design, self.designed(fields), self.trouble)

    def save_button(self, fields: Design) -> str:
        """HTML of the one control that writes a design."""
        acts = ActCounter()

        def compute(state: Mapping[str, Any]) -> dict[str, Any]:
            if acts.advanced(state):
                if not self.complete:
                    raise BadValue("Answer every question first; then there is a design to save.")
                self.ledger.append(self.slug, "design", self.designed(fields()))
                self._look()
                for name, instrument in self.instruments.items():
                    instrument.rename(self._store(name))
                self._changed()
            receipt = self.receipt(fields())
            return {"saved": receipt.saved, "changed": receipt.changed, "time": receipt.time, "where": receipt.where}

        return str(self._element("save", Piece("save", {"id": "save"}, compute)))

    # --- the end

    def end_rows(self, truths: Mapping[str, tuple[str, str]]) -> list[tuple[str, str, str, str]]:
        """Act -> (the truth, what was measured), inline HTML -> rows of the receipt: act, predicted, true, measured."""
        rows: list[tuple[str, str, str, str]] = []
        for act, (truth, measured) in truths.items():
            option, event = self.first_choice(act), self.prediction(act)
            if option is not None and event is not None:
                rows.append((str(self.words[f"{act}.title"]), prose.inline(option.label), truth, measured))
        return rows

    _element: Callable[..., Any]
    _follow_context: Callable[[], None]


def acts(places: Sequence[Place]) -> dict[str, list[Place]]:
    """Act -> its places, in order."""
    by_act: dict[str, list[Place]] = {}
    for place in places:
        by_act.setdefault(place.act, []).append(place)
    return by_act
