"""One lab in one session: its words and questions, what is known of the learner, how far they are, what was measured, and the page.

Everything a learner commits goes to the ledger first; what is open is read from the ledger each time, so a reload, a second
window and a killed server all lead back to the same place. What stands on the page is drawn by parts.py and frame.py.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ironlaw import lab_names
from ironlaw.errors import IronlawError, LedgerError, unknown
from ironlaw.kit import context, journey, learner_keys, page_host, prose, step
from ironlaw.kit import lab_words as texts
from ironlaw.kit import question_sheet as sheets
from ironlaw.kit.context import Context
from ironlaw.kit.experiments import Experiments
from ironlaw.kit.instrument import Instrument
from ironlaw.kit.lab_progress import Progress
from ironlaw.kit.learner_record import LearnerRecord
from ironlaw.kit.states import States
from ironlaw.widget.piece import Piece

if TYPE_CHECKING:
    from ironlaw.kit.goal import Aim
    from ironlaw.kit.goal import Design as BuiltDesign

LABS = Path(__file__).parent.parent / "labs"
Slots = Mapping[str, object]
Design = Callable[[], Mapping[str, Any]]


def folder(name: str | Path) -> Path:
    """A lab's folder, by its slug or as a path."""
    path = Path(name)
    if path.is_absolute():
        return path
    if path.name == str(name) and (LABS / path / "lab.py").is_file():
        return LABS / path
    from ironlaw import own_labs  # few have labs of their own

    own = own_labs.folder_of(str(name))
    if own is None:
        slugs = sorted(script.parent.name for script in LABS.glob("*/lab.py"))
        raise unknown("lab", name, slugs, f"ironlaw lab new {name}")
    return own


def open(name: str | Path, ledger: Any = None) -> Lab:
    """The lab of that slug, with the learner's ledger unless another is passed."""
    place = folder(name)
    sheet = sheets.load(place / "questions.toml")
    words = texts.load(place / "words.md", sheet.premises)
    if ledger is None:
        try:
            ledger = page_host.ledger()
        except IronlawError as error:
            from ironlaw.kit.missing_ledger import AbsentLedger

            ledger = AbsentLedger(str(error))
    return Lab(place.name, words, sheet, ledger)


class Lab:
    def __init__(self, slug: str, words: texts.Words, sheet: sheets.Sheet, ledger: Any) -> None:
        sheet = learner_keys.bound(sheet, ledger, slug)
        self.slug, self.words, self.sheet, self.ledger = slug, words, sheet, ledger
        self.questions = sheet.questions
        self.places = journey.places(sheet, [name for name in sheet.questions if f"{name}.task" in words])
        self.further = journey.further(sheet)
        self.contexts = context.contexts(sheet.contexts)
        self.current_context: Context = context.current(self.contexts, self.questions, ledger, slug)
        self.instruments: dict[str, Instrument] = {}
        self.aims: dict[str, Aim] = {}  # instrument -> the goal that its design is held to
        self.built_now: dict[str, BuiltDesign] | None = None  # the designs on the dials, while the HUD and the receipt are drawn
        self.follows: dict[str, tuple[str, ...]] = {}
        self.reasons: dict[str, dict[str, Any]] = {}  # instrument -> why the answer that opened it is right or wrong
        self.elements: dict[str, Any] = {}  # a page drops an element that nothing refers to
        self.readouts: dict[str, dict[str, Any]] = {}
        self.claims: dict[str, Callable[[], Sequence[str]]] = {}  # act -> the claims that it shows
        self._unread = self._begin()
        self.record = LearnerRecord(slug, self.questions, ledger, self.beyond)
        self.progress = Progress(slug, self.places, self.questions, ledger, self.further)
        self.experiments = Experiments(slug, ledger)
        self._states = States(self.standing)
        self.states, self.value, self.notify = self._states.create, self._states.value, self._states.notify
        # what an act asks
        record = self.record
        self.question, self.prediction, self.choice, self.correct = record.question, record.prediction, record.choice, record.correct
        self.first_choice, self.holds, self.confidence, self.sealed = record.first_choice, record.holds, record.confidence, record.sealed
        self.outcomes, self.decision, self.entry, self.has_answer = record.outcomes, record.decision, record.entry, record.has_answer
        self.local_run, self.is_open = self.experiments.local_run, self.progress.is_open

    def _begin(self) -> str:
        """Why the ledger can't be used, if it can't."""
        try:
            events = self.ledger.events(self.slug)
            if not events or events[-1].kind != "opened":
                self.ledger.append(self.slug, "opened", {})
        except LedgerError as error:
            return str(error)
        return ""

    @property
    def beyond(self) -> list[str]:
        """The acts that have no place in the core."""
        core = {place.act for place in self.places}
        return [act for act in dict.fromkeys(place.act for place in self.further) if act not in core]

    @property
    def trouble(self) -> str:
        return self.experiments.trouble or self.progress.trouble or self._unread

    @property
    def name(self) -> str:
        """`Lab 01`; `Lab` alone where neither the slug nor the sheet has a number."""
        number = int(self.sheet.lab.get("number", 0))
        return lab_names.name(self.slug) or str(self.sheet.lab.get("name", "")) or (f"Lab {number:02d}" if number else "Lab")

    def fill(self, name: str, /, **slots: object) -> str:
        return self.words.fill(name, **slots)

    def fields(self, **acts: Sequence[str]) -> dict[str, Any]:
        """A design of such readouts of each act's instrument, with the context and what was predicted: `lab.fields(act1=("rate",))`."""
        values = {name: self.readouts.get(act, {}).get(name) for act, names in acts.items() for name in names}
        return {"context": self.current_context.slug, **values, **self.outcomes(*acts)}

    def standing(self, state: str) -> Any:
        """The state of a question ("act1"), a place ("act1.claims"), "progress", "context", "contexts", "readouts" or "measured"."""
        if state == "context":
            return self.current_context.slug
        if state == "contexts":
            return tuple(each.slug for each in self.contexts)
        if state == "progress":
            return self.progress.stamp, self.progress.reached
        if "." in state or state == journey.END:
            return self.is_open(state)
        if state == "measured":
            return {experiment: run.time for experiment, run in self.experiments.measured.items()}
        if state == "readouts":
            return {act: dict(values) for act, values in self.readouts.items()}
        return self.record.standing(state)

    # --- what changes

    def changed(self) -> None:
        """Something was written: the cells of this page follow, and its other windows are told."""
        self.record.forget()
        self.progress.look()
        self.notify()
        follower = self.elements.get("follow")
        if follower is not None:
            follower.widget.refresh()

    def catch_up(self) -> None:
        """Another window of this lab may have committed, answered, gone on, saved or chosen another context."""
        before, design = self.progress.stamp, self.progress.design
        self.progress.look()
        if self.progress.stamp == before:
            return
        self.record.forget()
        self.experiments.recall()
        self.follow_context()
        if self.progress.design is not None and (design is None or design.id != self.progress.design.id):
            for name, instrument in self.instruments.items():
                instrument.load(self.progress.saved_dials(name), self.progress.store(name))
        for name, instrument in self.instruments.items():
            if self.prediction(name.partition(".")[0]) is not None:
                instrument.open()
        for name, element in self.elements.items():
            if name != "follow" and element.widget.kind not in ("instrument", "toggle"):
                element.widget.refresh()
        self.notify()

    def choose(self, slug: str) -> None:
        """Another context; that is an event."""
        if slug == self.current_context.slug:
            return
        target = context.pick(self.contexts, slug)
        self.ledger.append(self.slug, "context", {"context": slug})
        self._move_to(target)
        self.changed()

    def _move_to(self, target: Context) -> None:
        """Dials that belong to the device go along; the others stay, so that two contexts can be compared."""
        self.current_context = target
        for toggle in self._toggles():
            if toggle.state.get("value") != target.slug:
                toggle.state = {"value": target.slug}  # without a number: it is Python that sets it
        for act, instrument in self.instruments.items():
            instrument.follow(self.follows[act])
        self.notify("context", "readouts")

    def _toggles(self) -> list[Piece]:
        """The contexts in the instruments' heads: all of them stand at the same one."""
        return [instrument.toggle for instrument in self.instruments.values() if instrument.toggle is not None]

    @property
    def could_meet_this_machine(self) -> bool:
        """Whether the learner's machine becomes a context here once it is measured."""
        return self.current_context.regime != context.DATA

    def meet_this_machine(self) -> None:
        """This machine may have been measured since the page was opened; then it is one of the contexts from now on."""
        own = context.this_machine() if self.could_meet_this_machine else None
        if own is None or any(each.slug == own.slug for each in self.contexts):
            return
        self.contexts = (*self.contexts, own)
        self.notify("contexts")  # toggles and dials that list them

    def follow_context(self) -> None:
        """A question that was committed may be about another one, and another window may have chosen one, or measured this machine."""
        self.meet_this_machine()
        target = context.current(self.contexts, self.questions, self.ledger, self.slug)
        if target is not self.current_context:
            self._move_to(target)

    @contextmanager
    def standing_in(self, slug: str) -> Iterator[None]:
        """For as long as something is asked of another context."""
        before = self.current_context
        self.current_context = context.pick(self.contexts, slug) if slug else before
        try:
            yield
        finally:
            self.current_context = before

    # --- pieces on the page

    def explain(self, act: str, text: str, right: bool) -> None:
        """`text` is HTML; it stands on the instrument that the commit opens."""
        opened = self.progress.after(f"{act}.lock")
        name = opened.name.removesuffix(".instrument") if opened is not None else act
        self.reasons[name] = {"text": text, "right": right}
        if name in self.instruments:
            self.instruments[name].explain(self.reasons[name])

    def element(self, name: str, piece: Piece) -> Any:
        self.elements[name] = page_host.element(piece)
        return self.elements[name]

    def show(self, name: str, piece: Piece, act: str, part: str, title: str = "", anchor: str = "", then: str = "",
             head: str = "") -> Any:  # fmt: skip
        here = anchor or step.anchor(act, part)
        beyond = any(place.anchor == here for place in self.further)
        return page_host.html(step.step(act, part, f"{self._again(here)}{head}{self.element(name, piece)}{then}", title, anchor, beyond))

    def _again(self, anchor: str) -> str:
        """The button that stands for a place which is folded; a prediction is never folded alone, nor an answer."""
        place = next((each for each in self.places if each.anchor == anchor and not journey.commits(each, self.questions)), None)
        return step.unfold(f"{step.DONE}{prose.inline(place.label)}. Show it again") if place else ""
