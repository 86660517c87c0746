"""A card of the review: question, answer, confidence, and only then the key.

The browser counts up `act` and names what it does (`do`); the ledger has an answer before its key leaves Python. Where a learner is
in the sitting is kept here; a reload begins a new sitting on what the ledger holds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from string import ascii_lowercase as LETTERS
from typing import Any

from ironlaw.errors import BadValue, IronlawError
from ironlaw.recall import beliefs, grade
from ironlaw.recall.confidence import PROBABILITY
from ironlaw.recall.schedule import Due, next_due, time_until
from ironlaw.recall.session import Session
from ironlaw.recall.templates import template, topics
from ironlaw.recall.variants import Variant
from ironlaw.widget.acts import ActCounter
from ironlaw.widget.piece import Piece

REASONS = {"confident error": "you were sure, and wrong", "due": "due", "belief held": "about a belief that you hold", "new": "new"}
CHOSEN = "chosen from the map"
ANSWER, POINTS, KEY, DONE = "answer", "points", "key", "done"


class ReviewDesk:
    """What lies on the table: the card, how far it is, and those that were asked for by name."""

    def __init__(self, session: Session, changed: Callable[[], None] = lambda: None) -> None:
        self.session, self.changed = session, changed
        self.chosen: list[str] = []  # asked for by name, due or not
        self.phase, self.turn, self.left, self.reason = DONE, 0, 0, ""
        self.shown: Variant | None = None
        self.draft: tuple[str, int] = ("", 0)  # an explanation that waits for its points
        self.key: dict[str, Any] = {}
        self.told = ""
        self.next()

    # --- what a learner does

    def next(self) -> None:
        """The first of those asked for by name, else of those that wait."""
        waiting = self.session.queue()
        self.turn, self.key, self.draft = self.turn + 1, {}, ("", 0)
        found = self._chosen(waiting) or (waiting[0] if waiting else None)
        self.left = len({card.template.id for card in waiting} | set(self.chosen))
        if found is None:
            self.phase, self.shown = DONE, None
            return
        self.phase, self.reason = ANSWER, REASONS.get(found.reason, found.reason)
        self.shown = self.session.variant(found.template)

    def ask(self, cards: Iterable[str]) -> None:
        """These now, one after the other, whether they are due or not."""
        self.chosen, self.told = [template(card).id for card in cards], ""
        self.next()

    def topic(self, name: str) -> None:
        if name and name not in topics():
            raise BadValue(f"no topic {name!r}; choose one of {', '.join(topics())}")
        self.session.topic, self.chosen, self.told = name or None, [], ""
        self.next()

    def skip(self) -> None:
        if self.shown is None or self.phase == KEY:
            raise BadValue("there is no open card to skip; go on with the next")
        self.session.skip(self.shown.template)
        self._drop(self.shown.template.id)
        self.told = "Skipped for this sitting."
        self.next()

    def undo(self) -> None:
        """The last answer no longer counts; its card is asked again at once, with other figures."""
        gone = self.session.undo()
        if gone is None:
            raise BadValue("there is no answer to take back")
        self._drop(gone.card)
        self.chosen.insert(0, gone.card)
        self.next()
        self.told = f"Taken back: {gone.answer!r}. It stays in the ledger and no longer counts; here is the card with other figures."
        self.changed()

    def answer(self, typed: Any, confidence: Any) -> None:
        shown, text = self._open(ANSWER), str(typed or "").replace("\x00", "").strip()
        if not text:
            raise BadValue("answer first, then show the key")
        graded = None if shown.template.kind == "explain" else grade.grade(shown, text)
        if isinstance(confidence, bool) or confidence not in PROBABILITY:
            raise BadValue("say how sure you are, from 1 to 5, before you see the key")
        if graded is None:
            self.phase, self.draft = POINTS, (text, confidence)
        else:
            self._keep(shown, text, confidence, graded)

    def points(self, made: Any) -> None:
        """Which points of the rubric, counted from 1, were in the explanation."""
        shown = self._open(POINTS)
        if not isinstance(made, (list, tuple)) or not all(isinstance(point, int) and not isinstance(point, bool) for point in made):
            raise BadValue("say which of the points you made")
        self._keep(shown, *self.draft, grade.grade_explanation(shown, set(made)))

    # --- what follows from it

    def _open(self, phase: str) -> Variant:
        if self.shown is None or self.phase != phase:
            raise BadValue("this card is answered already; take the answer back, or go on with the next")
        return self.shown

    def _chosen(self, waiting: list[Due]) -> Due | None:
        if not self.chosen:
            return None
        name = self.chosen[0]
        found = next((card for card in waiting if card.template.id == name), None)
        return found or Due(template(name), self.session.state().standing[name], CHOSEN)

    def _drop(self, card: str) -> None:
        self.chosen = [name for name in self.chosen if name != card]

    def _keep(self, shown: Variant, typed: str, confidence: int, graded: grade.Grade) -> None:
        self.session.answer(shown, typed, confidence, graded)
        self._drop(shown.template.id)
        self.phase, self.told = KEY, ""
        found = self.session.state()
        back = found.standing[shown.template.id].due
        self.key = {
            "right": graded.correct, "said": graded.answer, "answer": shown.answer, "working": shown.working,
            "own": shown.template.kind == "explain", "confidence": confidence, "back": time_until(back - found.now) if back else "",
            "belief": None, "but": "",
        }  # fmt: skip
        if graded.misconception:
            example = beliefs.counterexample(graded.misconception)
            where = f"Evidence: {example.source}" if example.source else "Computed by the engine now"
            self.key |= {"belief": beliefs.belief(graded.misconception), "but": example.text, "source": where}
        self.changed()

    # --- what is shown

    def view(self) -> dict[str, Any]:
        kept = self.session.answers
        said = {"answered": len(kept), "right": sum(review.correct for review in kept.values())}
        about = {
            "phase": self.phase,
            "turn": self.turn,
            "left": self.left,
            "told": self.told,
            "undo": bool(self.session.state().reviews),
            **said,
        }
        return about | (self._done() if self.shown is None else self._card(self.shown))

    def _card(self, shown: Variant) -> dict[str, Any]:
        made: dict[str, Any] = {
            "card": shown.template.id, "topic": plain(shown.template.topic), "reason": self.reason, "kind": shown.template.kind,
            "text": shown.text, "hint": grade.hint(shown), "choices": [choice.label for choice in shown.choices],
            "letters": LETTERS[: len(shown.choices)],
        }  # fmt: skip
        if self.phase in (POINTS, KEY) and shown.rubric:
            made |= {"rubric": list(shown.rubric), "enough": shown.template.enough, "typed": self.draft[0]}
        return made | ({"key": self.key} if self.phase == KEY else {})

    def _done(self) -> dict[str, Any]:
        found = self.session.state()
        soon = next_due(found.standing, found.now)
        return {"next": time_until(soon - found.now) if soon else "", "skipped": len(self.session.skipped)}


def flashcard(desk: ReviewDesk) -> Piece:
    """The piece in which the desk's cards are answered."""
    acts = ActCounter()

    def compute(state: Mapping[str, Any]) -> dict[str, Any]:
        error = None
        if acts.advanced(state):
            try:
                act(desk, state)
            except IronlawError as refused:
                error = {"dial": None, "message": str(refused)}
        return {**desk.view(), "error": error}

    levels = [{"level": level, "stands": f"{100 * stands:.0f} %"} for level, stands in PROBABILITY.items()]
    named = [{"value": name, "label": plain(name)} for name in topics()]
    return Piece("flashcard", {"id": "card", "levels": levels, "topics": named}, compute, {"act": 0})


def act(desk: ReviewDesk, state: Mapping[str, Any]) -> None:
    do = state.get("do")
    if do == "answer":
        desk.answer(state.get("answer"), state.get("confidence"))
    elif do == "points":
        desk.points(state.get("points"))
    elif do == "topic":
        desk.topic(str(state.get("topic") or ""))
    elif do in ("next", "skip", "undo"):
        {"next": desk.next, "skip": desk.skip, "undo": desk.undo}[do]()
    else:
        raise BadValue(f"{do!r} is nothing to do with a card; choose answer, points, next, skip, undo or topic")


def plain(name: str) -> str:
    """A topic's file name as a reader knows it."""
    text = name.replace("_", " ")
    return text[:1].upper() + text[1:]
