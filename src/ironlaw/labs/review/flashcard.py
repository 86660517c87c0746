"""A card of the review: question, answer, confidence, and only then the key.

The browser counts up `act` and names what it does (`do`); the ledger has an answer before its key leaves Python. The learner's place
in the sitting is kept here; a reload begins a new sitting from the ledger.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from math import inf
from string import ascii_lowercase as LETTERS
from typing import Any

from ironlaw.claims.glossary import NAMED
from ironlaw.errors import BadValue, IronlawError
from ironlaw.kit.prose import NARROW, UNIT
from ironlaw.recall import beliefs, grade
from ironlaw.recall.card_templates import template, topics
from ironlaw.recall.card_variants import Variant
from ironlaw.recall.confidence import PROBABILITY
from ironlaw.recall.review_session import Session
from ironlaw.recall.schedule import Due, next_due, time_until
from ironlaw.widget.acts import ActCounter
from ironlaw.widget.glossary_words import mark_text
from ironlaw.widget.piece import Piece

REASONS = {"confident error": "you were sure, and wrong", "due": "due", "belief held": "about a belief that you hold",
           "shaky": "you called it shaky", "new": "new"}  # fmt: skip
FROM_MAP, AHEAD = "chosen from the map", "ahead of its time"
SITTING = 10  # cards that are asked ahead of their time
ANSWER_BACK = "Taken back: “{answer}”. It stays in the ledger and no longer counts; here is the card with other figures."
EXPLANATION_BACK = {
    False: "Taken back: your explanation stays in the ledger and no longer counts. You have just read its points, so the card comes last.",
    True: "Taken back: your explanation stays in the ledger and no longer counts. It is the last card left; try it without the points.",
}
ANSWER, POINTS, KEY, DONE = "answer", "points", "key", "done"


class ReviewDesk:
    """The card on the table, its phase, and the cards requested by name."""

    def __init__(self, session: Session, changed: Callable[[], None] = lambda: None) -> None:
        self.session, self.changed = session, changed
        self.requests: list[str] = []  # cards requested by name, due or not
        self.asked_from = FROM_MAP
        self.most: float = inf  # cards that may be said to be left
        self.held: list[str] = []  # cards for the end of the sitting, because what they ask for was just on the screen
        self.phase, self.turn, self.remaining, self.reason = DONE, 0, 0, ""
        self.variant: Variant | None = None
        self.draft: tuple[str, int] = ("", 0)  # an explanation that waits for its points
        self.key: dict[str, Any] = {}
        self.message = ""
        self.next()

    # --- what a learner does

    def next(self) -> None:
        """The next card: the first requested by name, otherwise the first waiting."""
        waiting = self._waiting()
        self.turn, self.key, self.draft = self.turn + 1, {}, ("", 0)
        soon = [due for due in waiting if due.template.id not in self.held]
        card = self._first_request(waiting) or (soon[0] if soon else self._first_held(waiting))
        self._count(waiting)
        if card is None:
            self.phase, self.variant = DONE, None
            return
        self.remaining = max(1, self.remaining)
        self.phase, self.reason = ANSWER, REASONS.get(card.reason, card.reason)
        self.variant = self.session.variant(card.template)

    def ask(self, cards: Iterable[str], reason: str = FROM_MAP) -> None:
        """Ask these cards next, one after the other, due or not."""
        self.requests, self.asked_from, self.message, self.most = [template(card).id for card in cards], reason, "", inf
        self.next()

    def ahead(self) -> None:
        """Ask the cards that come back soonest before they are due."""
        if not (cards := self._soonest()):
            raise BadValue("no card was answered yet, so none comes back; begin with a new one")
        self.session.renew()
        self.ask(cards, AHEAD)
        self.changed()

    def topic(self, name: str) -> None:
        if name and name not in topics():
            raise BadValue(f"no topic {name!r}; choose one of {', '.join(topics())}")
        self.session.topic, self.requests, self.held, self.message, self.most = name or None, [], [], "", inf
        self.next()
        self.changed()

    def skip(self) -> None:
        if self.variant is None or self.phase == KEY:
            raise BadValue("there is no open card to skip; go on with the next")
        self.session.skip(self.variant.template)
        self._drop(self.variant.template.id)
        self.message = "Skipped for this session."
        self.next()
        self.changed()

    def more(self) -> None:
        """Another sitting."""
        self.session.renew()
        self.held, self.message, self.most = [], "", inf
        self.next()
        self.changed()

    def undo(self) -> None:
        """The last answer no longer counts; its card is asked again: at once with other figures, an explanation when the rest is done."""
        review = self.session.undo()
        if review is None:
            raise BadValue("there is no answer to take back")
        own, self.most = template(review.card).kind == "explain", inf
        self._drop(review.card)
        (self.held if own else self.requests).insert(0, review.card)
        self.next()
        at_once = self.variant is not None and self.variant.template.id == review.card
        self.message = EXPLANATION_BACK[at_once] if own else ANSWER_BACK.format(answer=review.answer)
        self.changed()

    def answer(self, answer: Any, confidence: Any) -> None:
        variant, text = self._open(ANSWER), str(answer or "").replace("\x00", "").strip()
        if not text:
            raise BadValue("answer first, then show the key")
        verdict = None if variant.template.kind == "explain" else grade.grade(variant, text)
        if isinstance(confidence, bool) or confidence not in PROBABILITY:
            raise BadValue("say how sure you are, from 1 to 5, before you see the key")
        if verdict is None:
            self.phase, self.draft = POINTS, (text, confidence)
        else:
            self._keep(variant, text, confidence, verdict)

    def points(self, points: Any) -> None:
        """Which points of the rubric, counted from 1, were in the explanation."""
        variant = self._open(POINTS)
        if not isinstance(points, (list, tuple)) or not all(isinstance(point, int) and not isinstance(point, bool) for point in points):
            raise BadValue("say which of the points you made")
        self._keep(variant, *self.draft, grade.grade_explanation(variant, set(points)))

    # --- what follows

    def _open(self, phase: str) -> Variant:
        if self.variant is None or self.phase != phase:
            raise BadValue("this card is already answered; undo the answer, or go on to the next")
        return self.variant

    def _first_request(self, waiting: list[Due]) -> Due | None:
        if not self.requests:
            return None
        name = self.requests[0]
        due = next((card for card in waiting if card.template.id == name), None)
        return due or Due(template(name), self.session.state().standing[name], self.asked_from)

    def _first_held(self, waiting: list[Due]) -> Due | None:
        return next((card for name in self.held for card in waiting if card.template.id == name), None)

    def _waiting(self) -> list[Due]:
        """What was answered in this sitting comes back in the next one at the earliest."""
        answered = {review.card for review in self.session.answers.values()}
        return [due for due in self.session.queue() if due.template.id not in answered]

    def _count(self, waiting: list[Due]) -> None:
        """The number of cards left, which never rises during a session: what falls due meanwhile waits."""
        self.remaining = int(min(self.most, len({card.template.id for card in waiting} | set(self.requests))))
        self.most = self.remaining

    def _soonest(self) -> list[str]:
        """The cards of this topic that come back next."""
        standing = [stands for stands in self.session.state().standing.values() if stands.due is not None]
        mine = [stands for stands in standing if self.session.topic in (None, template(stands.card).topic)]
        return [stands.card for stands in sorted(mine, key=lambda stands: (stands.due, stands.card))][:SITTING]

    def _drop(self, card: str) -> None:
        self.requests = [name for name in self.requests if name != card]
        self.held = [name for name in self.held if name != card]

    def _keep(self, variant: Variant, answer: str, confidence: int, verdict: grade.Grade) -> None:
        self.session.answer(variant, answer, confidence, verdict)
        self._drop(variant.template.id)
        self._count(self._waiting())
        self.phase, self.message = KEY, ""
        state = self.session.state()
        back = state.standing[variant.template.id].due
        self.key = {
            "right": verdict.correct, "said": verdict.answer, "answer": variant.answer, "working": variant.working,
            "own": variant.template.kind == "explain", "confidence": confidence, "back": time_until(back - state.now) if back else "",
            "belief": None, "but": "",
        }  # fmt: skip
        if verdict.misconception:
            example = beliefs.counterexample(verdict.misconception)
            where = f"Evidence: {example.source}" if example.source else "Computed by the engine now"
            self.key |= {"belief": beliefs.belief(verdict.misconception), "but": example.text, "source": where}
        self.key["html"] = {part: _marked(self.key[part]) for part in ("working", "but")}
        self.changed()

    # --- the view

    def view(self) -> dict[str, Any]:
        answers = self.session.answers
        score = {"answered": len(answers), "right": sum(review.correct for review in answers.values())}
        about = {
            "phase": self.phase,
            "turn": self.turn,
            "left": self.remaining,
            "told": self.message,
            "undo": bool(self.session.state().reviews),
            **score,
        }
        return about | (self._done() if self.variant is None else self._card(self.variant))

    def _card(self, variant: Variant) -> dict[str, Any]:
        view: dict[str, Any] = {
            "card": variant.template.id, "topic": plain(variant.template.topic), "reason": self.reason, "kind": variant.template.kind,
            "text": variant.text, "html": _marked(variant.text, None if self.phase == KEY else NAMED), "hint": grade.hint(variant),
            "choices": [choice.label for choice in variant.choices],
            "letters": LETTERS[: len(variant.choices)], "margin": grade.margin(variant),
            "facts": [{"label": fact.label, "value": fact.value, "source": fact.source} for fact in variant.facts],
        }  # fmt: skip
        if self.phase in (POINTS, KEY) and variant.rubric:
            view |= {"rubric": list(variant.rubric), "enough": variant.template.enough, "typed": self.draft[0]}
        return view | ({"key": self.key} if self.phase == KEY else {})

    def _done(self) -> dict[str, Any]:
        state = self.session.state()
        soon = next_due(state.standing, state.now)
        return {
            "next": time_until(soon - state.now) if soon else "",
            "skipped": len(self.session.skipped),
            "more": len(state.due(self.session.topic)),
            "ahead": len(self._soonest()),
            "topic": plain(self.session.topic) if self.session.topic else "",
        }


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

    levels = [{"level": level, "stands": f"{100 * probability:.0f}%"} for level, probability in PROBABILITY.items()]
    names = [{"value": name, "label": plain(name)} for name in topics()]
    return Piece("flashcard", {"id": "card", "levels": levels, "topics": names}, compute, {"act": 0})


def act(desk: ReviewDesk, state: Mapping[str, Any]) -> None:
    do = state.get("do")
    if do == "answer":
        desk.answer(state.get("answer"), state.get("confidence"))
    elif do == "points":
        desk.points(state.get("points"))
    elif do == "topic":
        desk.topic(str(state.get("topic") or ""))
    elif do in ("next", "skip", "undo", "more", "ahead"):
        {"next": desk.next, "skip": desk.skip, "undo": desk.undo, "more": desk.more, "ahead": desk.ahead}[do]()
    else:
        raise BadValue(f"{do!r} is not an action on a card; choose answer, points, next, skip, undo, more, ahead or topic")


SHORT = {"Kv": "KV", "Slos": "SLOs"}  # abbreviations at the beginning of a topic's name


def plain(name: str) -> str:
    """A topic's file name in plain words."""
    return " ".join(SHORT.get(word, word) for word in name.capitalize().split("_"))


def _marked(text: str, groups: tuple[str, ...] | None = None) -> str:
    """HTML with the glossary's words marked, in which no line ends before a unit."""
    return mark_text(UNIT.sub(NARROW, text), groups)
