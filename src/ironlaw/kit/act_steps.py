"""The part of a Lab that an act is made of: message, lock, instrument, reveal, claims, reflection, maths. Each is a place on the page."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ironlaw.kit import blanks as sentences
from ironlaw.kit import challenge as challenges
from ironlaw.kit import claims, host, message, peek, prose, step
from ironlaw.kit import decide as decisions
from ironlaw.kit import hint as hints
from ironlaw.kit import lock as locks
from ironlaw.kit import places as journey
from ironlaw.kit import reflect as reflections
from ironlaw.kit import reveal as reveals
from ironlaw.kit.decide import Verdict
from ironlaw.kit.guided import Guided
from ironlaw.kit.hint import Advice
from ironlaw.kit.instrument import Instrument, Values, View
from ironlaw.kit.questions import Question
from ironlaw.kit.sealed import Part
from ironlaw.widget.dials import Dial
from ironlaw.widget.piece import Piece

LOCKED = "Commit a prediction to unlock."
DECIDE = "Commit your choice to unlock."
Slots = Mapping[str, object]


class ActSteps(Guided):
    follows: dict[str, tuple[str, ...]]

    def message(self, act: str, slots: Slots | None = None) -> Any:
        name = f"{act}.message"
        title = f'<h2 class="il-act-title">{prose.inline(self.words[f"{act}.title"])}</h2>{step.unfold(f"{step.DONE}Done. Show it again")}'
        text = self.words.fill_all([name], slots or {})[name]
        sender = self.words.sections.get(f"{act}.sender", self.words["sender"])  # an act may come from somebody else
        return host.html(step.step(act, "message", title + message.message(sender, text)))

    def closed(self, act: str) -> Any:
        title, why = prose.inline(self.words[f"{act}.title"]), prose.inline(self.words[f"{act}.closed"])
        return host.html(step.closed(act, title, why))

    def lock(self, act: str, slots: Slots | None = None, part: Part | None = None) -> Any:
        """`part`: an estimate or a curve that is sealed with the choice."""
        texts = self.words.fill_all([f"{act}.question", f"{act}.premises"], slots or {})
        ask, premises = texts.values()
        to = self._next(f"{act}.lock")
        place = to.anchor if to else ""
        piece = locks.lock(self.question(act), ask, premises, self.ledger, self.slug, lambda: self._on_commit(act), place, part)
        return self._show(act, piece, act, "lock", "Your decision" if self.question(act).kind == "decision" else "Your prediction")

    def _on_commit(self, act: str) -> None:
        self._predictions.pop(act, None)  # there is a newer one
        for name, instrument in self.instruments.items():
            if name.partition(".")[0] == act:
                instrument.open()
        self._changed()

    def instrument(
        self, act: str, dials: Callable[[Values], Sequence[Dial]], compute: Callable[[Values], View], follows: tuple[str, ...] = (),
        panel: str = "",
    ) -> Any:  # fmt: skip
        """Locked until the act's prediction is committed. `follows`: dials that move with the context.

        An act may have a second one: `panel` is its name, `act.panel.instrument` its title in words.md, `act.panel` its readouts.
        """
        name = f"{act}.{panel}" if panel else act

        def on_readouts(readouts: Mapping[str, Any]) -> None:
            self.readouts[name] = dict(readouts)
            self.notify("readouts")

        title = self.words[f"{name}.instrument"]
        locked = None if self.prediction(act) else DECIDE if self.question(act).kind == "decision" else LOCKED
        instrument = Instrument(
            name, title, dials, compute, store=self._store(name), locked=locked, on_readouts=on_readouts, saved=self.saved_dials(name)
        )  # fmt: skip
        self.instruments[name], self.follows[name] = instrument, follows
        place = name if panel else f"{act}.instrument"
        first = self._next(f"{act}.lock")  # a reveal stands under this one, and the way on under that
        apart = any(each.name == place for each in self.places) and (first is None or first.name != place)
        then = self.go_on(place) if apart else ""
        return self._show(f"{name}.instrument", instrument.piece, act, "instrument", anchor=f"{act}-{panel}" if panel else "", then=then)

    def reveal(self, act: str, truth: str, distance: str, slots: Slots | None = None) -> Any:
        """`truth` and `distance` are inline HTML; the words are those of the chosen option, then the act's own."""
        option = self.choice(act)
        if option is None:
            return None
        options = self.question(act).options
        names = [*(f"{act}.feedback.{o.id}" for o in options), f"{act}.reveal"]
        texts = self.words.fill_all(names, slots or {}, {o.id: prose.inline(o.label) for o in options})
        meaning = texts[f"{act}.feedback.{option.id}"] + "\n\n" + texts[f"{act}.reveal"]
        kind, event = self.question(act).kind, self.prediction(act)
        right = bool(event is not None and event.payload["correct"])
        again = event is not None and event.attempt > 1
        text = reveals.reveal(prose.inline(option.label), truth, distance, meaning, right, kind, again)
        to = self._next(f"{act}.lock")
        return host.html(step.step(act, "reveal", text + (self.go_on(to.name) if to else ""), "Reveal"))

    def claims(
        self,
        act: str,
        names: Sequence[str],
        local: Mapping[str, claims.LocalFigure] | None = None,
        answers: Mapping[str, str] | None = None,
    ) -> Any:
        """`local`: claim -> the figure of the learner's own machine, where the act has experiments; then the way on is under those.

        `answers`: claim -> the challenge that it answers; it stays closed until a number is committed there.
        """
        then = "" if local is not None else self.go_on(f"{act}.claims")
        closed = [name for name, question in (answers or {}).items() if self.entry(question) is None]
        panel = claims.panel([name for name in names if name not in closed], local, len(closed))
        return host.html(step.step(act, "claims", panel + then, "Claim · Model · Measured"))

    def reflect(self, act: str, slots: Slots | None = None) -> Any:
        name = f"{act}_reflection"
        question = self.question(name)
        texts = self.words.fill_all([f"{name}.question", *self._feedback(question).values()], slots or {})
        feedback = {option: texts[section] for option, section in self._feedback(question).items()}
        piece = reflections.reflect(question, texts[f"{name}.question"], feedback, self.ledger, self.slug, self._on_answer)
        after = any(q.kind == "blank" and q.name.startswith(f"{act}_") for q in self.questions.values())
        return self._show(name, piece, act, "reflect", "Reflection", anchor=name.replace("_", "-") if after else "")

    @staticmethod
    def _feedback(question: Question) -> dict[str, str]:
        """Option -> the section that answers it."""
        return {option.id: f"{question.name}.feedback.{option.id}" for option in question.options}

    def blanks(self, act: str, names: Sequence[str], slots: Slots | None = None) -> Any:
        """A sentence (`act.blanks`) whose blanks are the questions of these names; `name.question` stands before each."""
        questions = [self.question(name) for name in names]
        sections = [f"{act}.blanks", *(f"{name}.question" for name in names), *(s for q in questions for s in self._feedback(q).values())]
        texts = self.words.fill_all(sections, slots or {})
        feedback = {q.name: {option: texts[section] for option, section in self._feedback(q).items()} for q in questions}
        labels = [texts[f"{name}.question"] for name in names]
        piece = sentences.blanks(questions, texts[f"{act}.blanks"], labels, feedback, self.ledger, self.slug, self._on_answer)
        return self._show(names[0], piece, act, "reflect", "Reflection")

    def challenge(self, act: str, name: str, slots: Slots, feedback: Callable[[float, bool], str]) -> Any:
        """A number to commit; `feedback(value, right)` is Markdown, called only then."""
        ask = self.words.fill_all([f"{name}.question"], slots)[f"{name}.question"]
        piece = challenges.challenge(self.question(name), ask, feedback, self.ledger, self.slug, self._on_answer)
        return self._show(name, piece, act, "challenge", "Scaling challenge", then=self.go_on(f"{act}.challenge"))

    def decide(self, act: str, judge: Callable[[Values], Verdict]) -> Any:
        """The button under an act's instrument that commits the design on its dials."""
        piece = decisions.decide(act, self.ledger, self.slug, lambda: self.instruments[act].values, judge, self._on_answer)
        return self._show(f"{act}.decide", piece, act, "decide", "Your design")

    def hint(self, act: str, advise: Callable[[Values], Advice]) -> Any:
        """The button under an act's instrument that asks for a way on; `act.hint` in words.md is its label. The ledger keeps that."""
        piece = hints.hint(act, self.words[f"{act}.hint"], self.ledger, self.slug, lambda: self.instruments[act].values, advise,
                           self._on_answer)  # fmt: skip
        return self._show(f"{act}.hint", piece, act, "hint", "A way out")

    def _on_answer(self) -> None:
        self._changed()

    def peek(self, act: str, slots: Slots | None = None) -> Any:
        body = self.words.fill_all([f"{act}.peek"], slots or {})[f"{act}.peek"]
        return host.html(step.step(act, "peek", peek.peek("The maths", body) + self.go_on(f"{act}.peek"), "Why"))

    def _element(self, name: str, piece: Piece) -> Any:
        self.elements[name] = host.element(piece)
        return self.elements[name]

    def _show(self, name: str, piece: Piece, act: str, part: str, title: str = "", anchor: str = "", then: str = "") -> Any:
        again = self._again(anchor or step.anchor(act, part))
        return host.html(step.step(act, part, f"{again}{self._element(name, piece)}{then}", title, anchor))

    def _again(self, anchor: str) -> str:
        """The button that stands for a place which is folded; a prediction is never folded alone, nor an answer."""
        place = next((each for each in self.places if each.anchor == anchor and not journey.commits(each, self.questions)), None)
        return step.unfold(f"{step.DONE}{prose.inline(place.label)}. Show it again") if place else ""
