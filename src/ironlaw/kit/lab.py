"""One lab in one session: its words, its questions, the ledger, and the pieces on the page.

Everything a learner commits goes to the ledger first; what is open is read from the ledger each time, so a reload, a second
window and a killed server all lead back to the same place.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import marimo as mo

from ironlaw.errors import IronlawError, LedgerError, sentence, unknown
from ironlaw.kit import blanks as sentences
from ironlaw.kit import challenge as challenges
from ironlaw.kit import claims, context, ending, guided, header, hud, message, peek, prose, rail, session, step
from ironlaw.kit import decide as decisions
from ironlaw.kit import lock as locks
from ironlaw.kit import places as journey
from ironlaw.kit import questions as sheets
from ironlaw.kit import reflect as reflections
from ironlaw.kit import reveal as reveals
from ironlaw.kit import words as texts
from ironlaw.kit.absent import AbsentLedger
from ironlaw.kit.banner import ledger_notice, notice
from ironlaw.kit.context import Context
from ironlaw.kit.decide import Verdict
from ironlaw.kit.guided import Design, Guided
from ironlaw.kit.hud import Item
from ironlaw.kit.instrument import Instrument, Values, View
from ironlaw.kit.questions import Question
from ironlaw.kit.rail import Act, Step
from ironlaw.kit.sealed import Part
from ironlaw.ledger import Event
from ironlaw.widget.dials import Dial
from ironlaw.widget.piece import Piece

LABS = Path(__file__).parent.parent / "labs"
LOCKED = "Commit a prediction to unlock."
DECIDE = "Commit your choice to unlock."
Slots = Mapping[str, object]


def folder(name: str | Path) -> Path:
    """A lab's folder, by its slug or as a path."""
    path = Path(name)
    if path.is_absolute():
        return path
    slugs = sorted(script.parent.name for script in LABS.glob("*/lab.py"))
    if str(name) not in slugs:
        raise unknown("lab", name, slugs, f"ironlaw lab new {name}")
    return LABS / str(name)


def open(name: str | Path, ledger: Any = None) -> Lab:
    """The lab of that slug, with the learner's ledger unless another is passed."""
    place = folder(name)
    sheet = sheets.load(place / "questions.toml")
    words = texts.load(place / "words.md", sheet.premises)
    session.begin()
    if ledger is None:
        try:
            ledger = session.shared_ledger()
        except IronlawError as error:
            ledger = AbsentLedger(str(error))
    return Lab(place.name, words, sheet, ledger)


class Lab(Guided):
    def __init__(self, slug: str, words: texts.Words, sheet: sheets.Sheet, ledger: Any) -> None:
        self.slug, self.words, self.sheet, self.ledger = slug, words, sheet, ledger
        self.questions = sheet.questions
        self.places = journey.places(sheet)
        self.contexts = context.first(context.contexts(sheet.contexts), ledger.track())
        self.current_context: Context = self.contexts[0]
        self.instruments: dict[str, Instrument] = {}
        self.follows: dict[str, tuple[str, ...]] = {}
        self.elements: dict[str, Any] = {}  # marimo drops an element that nothing refers to
        self.readouts: dict[str, dict[str, Any]] = {}
        self._predictions: dict[str, Event] = {}
        self._setters: dict[str, tuple[Any, Callable[[Any], None]]] = {}
        self._begin()
        self._look()
        self._recall()

    def _begin(self) -> None:
        try:
            events = self.ledger.events(self.slug)
            if not events or events[-1].kind != "opened":
                self.ledger.append(self.slug, "opened", {})
            self.trouble = ""
        except LedgerError as error:
            self.trouble = str(error)

    # --- words

    def fill(self, name: str, /, **slots: object) -> str:
        return self.words.fill(name, **slots)

    # --- marimo's states: a cell that names one runs again when it changes

    def states(self, *names: str) -> tuple[Any, ...]:
        """One per name: a question ("act1"), a place ("act1.claims"), "progress", "context", "readouts" or "measured".

        Set only when the value changes.
        """
        for name in names:
            self._setters[name] = mo.state(self._standing(name))
        return tuple(self._setters[name][0] for name in names)

    def notify(self, *names: str) -> None:
        """Tell the cells that show these states that something was committed, chosen or read out."""
        for name in names or tuple(self._setters):
            if name not in self._setters:
                continue
            get, set_value = self._setters[name]
            value = self._standing(name)
            if get() != value:
                set_value(value)

    # --- the pieces

    def header(self) -> Any:
        about = self.sheet.lab
        text = header.header(
            int(about["number"]), self.words["title"], self.words["sentence"], self.words["invariant"], int(about["minutes"]),
            self.contexts, self.words["read_first"],
        )  # fmt: skip
        if self.trouble:
            text += notice(
                "fail", "The ledger can't be opened", prose.html(f"{sentence(self.trouble)}\n\nYou can read on; nothing is kept.")
            )
        text += ledger_notice(self.ledger)
        return mo.Html(text + self.follower())

    def rail(self, *_: Any) -> Any:
        """The arguments are states: naming them is what runs the cell again."""
        acts = []
        for act, listed in guided.acts(self.places).items():
            title = "" if act == journey.END else self.words[f"{act}.title"]
            steps = [Step(place.anchor, place.label, self._state(place.name)) for place in listed]
            acts.append(Act(title.partition(":")[0], tuple(steps)))
        return mo.Html(rail.rail(acts))

    def _state(self, place: str) -> str:
        index = self._index(place)
        if place == journey.END and self._design is not None:
            return "done"
        return "done" if index < self._reached else "now" if index == self._reached else "locked"

    def context(self) -> Any:
        """The toggle. The learner's track comes first; a change is an event."""
        piece = context.toggle(self.words["context"], self.contexts, self.current_context, self._choose)
        return self._show("context", piece, "context", "toggle")

    def _choose(self, slug: str) -> None:
        if slug == self.current_context.slug:
            return
        target = context.pick(self.contexts, slug)
        self.ledger.append(self.slug, "context", {"context": slug})
        self._move_to(target)
        self._changed()

    def _move_to(self, target: Context) -> None:
        """Dials that belong to the device go along; the others stay, so that two contexts can be compared."""
        self.current_context = target
        for act, instrument in self.instruments.items():
            instrument.follow(self.follows[act])
        self.notify("context", "readouts")

    def _follow_context(self) -> None:
        """Another window may have chosen one, and a machine that was measured there is not among ours until the page is loaded again."""
        target = next((each for each in self.contexts if each.slug == self.ledger.track()), self.current_context)
        if target is not self.current_context:
            self.elements["context"].widget.state = {"value": target.slug}
            self._move_to(target)

    def message(self, act: str, slots: Slots | None = None) -> Any:
        name = f"{act}.message"
        title = f'<h2 class="il-act-title">{prose.inline(self.words[f"{act}.title"])}</h2>'
        text = self.words.fill_all([name], slots or {})[name]
        return mo.Html(step.step(act, "message", title + message.message(self.words["sender"], text)))

    def closed(self, act: str) -> Any:
        title, why = prose.inline(self.words[f"{act}.title"]), prose.inline(self.words[f"{act}.closed"])
        return mo.Html(step.closed(act, title, why))

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
        return mo.Html(step.step(act, "reveal", text + (self.go_on(to.name) if to else ""), "Reveal"))

    def claims(self, act: str, names: Sequence[str], local: Mapping[str, claims.LocalFigure] | None = None) -> Any:
        """`local`: claim -> the figure of the learner's own machine, where the act has experiments; then the way on is under those."""
        then = "" if local is not None else self.go_on(f"{act}.claims")
        return mo.Html(step.step(act, "claims", claims.panel(names, local) + then, "Claim · Model · Measured"))

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

    def _on_answer(self) -> None:
        self._changed()

    def peek(self, act: str, slots: Slots | None = None) -> Any:
        body = self.words.fill_all([f"{act}.peek"], slots or {})[f"{act}.peek"]
        return mo.Html(step.step(act, "peek", peek.peek("The maths", body) + self.go_on(f"{act}.peek"), "Why"))

    def end(self, truths: Mapping[str, tuple[str, str]], design: Design, slots: Slots | None = None) -> Any:
        """The end of a lab: the receipt with the button that saves, what to take away, and the ways on. `truths`: `end_rows`."""
        points, connections = self.words.fill_all(["takeaways", "connections"], slots or {}).values()
        return mo.Html(ending.ending(self.slug, self.end_rows(truths), self.save_button(design), points, connections))

    def hud(self, items: Sequence[Item], design: Mapping[str, Any], *_: Any) -> Any:
        """`design`: what would be saved now. Further arguments are states: naming them is what runs the cell again."""
        receipt = self.receipt(design)
        head: list[Item] = [
            (f"Lab {int(self.sheet.lab['number']):02d}", self.words["title"], ""),
            ("Context", self.current_context.label, ""),
        ]
        for act in (name for name, question in self.questions.items() if question.kind == "prediction"):
            event, title = self.prediction(act), self.words[f"{act}.title"].partition(":")[0]
            head.append(hud.prediction(title, self.correct(act), event.attempt if event else 1, self.is_open(f"{act}.lock")))
        if "save" in self.elements:
            self.elements["save"].widget.refresh()
        return mo.Html(hud.hud([*head, *items], receipt, ("Ledger", "not saved", "fail") if self.trouble else None))

    def _element(self, name: str, piece: Piece) -> Any:
        self.elements[name] = mo.ui.anywidget(piece)
        piece.quiet()
        return self.elements[name]

    def _show(self, name: str, piece: Piece, act: str, part: str, title: str = "", anchor: str = "", then: str = "") -> Any:
        return mo.Html(step.step(act, part, f"{self._element(name, piece)}{then}", title, anchor))
