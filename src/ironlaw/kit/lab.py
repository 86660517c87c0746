"""One lab in one session: its words, its questions, the ledger, and the pieces on the page.

Everything a learner commits goes to the ledger first; what is open is read from the ledger each time, so a reload, a second
window and a killed server all lead back to the same place.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from ironlaw import lab_names
from ironlaw.errors import IronlawError, LedgerError, sentence, unknown
from ironlaw.kit import context, ending, guided, header, host, hud, own_keys, prose, rail
from ironlaw.kit import places as journey
from ironlaw.kit import questions as sheets
from ironlaw.kit import words as texts
from ironlaw.kit.absent import AbsentLedger
from ironlaw.kit.act_steps import ActSteps, Slots
from ironlaw.kit.banner import ledger_notice, notice
from ironlaw.kit.context import Context
from ironlaw.kit.guided import Design
from ironlaw.kit.hud import Item
from ironlaw.kit.instrument import Instrument
from ironlaw.kit.rail import Act, Step
from ironlaw.ledger import Event

LABS = Path(__file__).parent.parent / "labs"


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
    if ledger is None:
        try:
            ledger = host.ledger()
        except IronlawError as error:
            ledger = AbsentLedger(str(error))
    return Lab(place.name, words, sheet, ledger)


class Lab(ActSteps):
    def __init__(self, slug: str, words: texts.Words, sheet: sheets.Sheet, ledger: Any) -> None:
        sheet = own_keys.bound(sheet, ledger, slug)
        self.slug, self.words, self.sheet, self.ledger = slug, words, sheet, ledger
        self.questions = sheet.questions
        self.places = journey.places(sheet)
        contexts = context.contexts(sheet.contexts)
        self.contexts = context.first(contexts, ledger.track([each.slug for each in contexts]))
        self.current_context: Context = self.contexts[0]
        self.instruments: dict[str, Instrument] = {}
        self.follows: dict[str, tuple[str, ...]] = {}
        self.elements: dict[str, Any] = {}  # a page drops an element that nothing refers to
        self.readouts: dict[str, dict[str, Any]] = {}
        self._predictions: dict[str, list[Event]] = {}
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

    # --- states: a cell that names one runs again when it changes

    def states(self, *names: str) -> tuple[Any, ...]:
        """One per name: a question ("act1"), a place ("act1.claims"), "progress", "context", "readouts" or "measured".

        Set only when the value changes.
        """
        for name in names:
            self._setters[name] = host.state(self._standing(name))
        return tuple(self._setters[name][0] for name in names)

    def value(self, state: str) -> Any:
        """What a state stands at."""
        return self._setters[state][0]()

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

    @property
    def name(self) -> str:
        """`Lab 01`."""
        return lab_names.name(self.slug) or f"Lab {int(self.sheet.lab['number']):02d}"

    def header(self) -> Any:
        about = self.sheet.lab
        text = header.header(
            self.name, self.words["title"], self.words["sentence"], self.words["invariant"], int(about["minutes"]),
            self.contexts, self.words["read_first"],
        )  # fmt: skip
        if self.trouble:
            text += notice(
                "fail", "The ledger can't be opened", prose.html(f"{sentence(self.trouble)}\n\nYou can read on; nothing is kept.")
            )
        text += ledger_notice(self.ledger)
        return host.html(text + self.follower())

    def rail(self) -> Any:
        acts = []
        for act, listed in guided.acts(self.places).items():
            title = "" if act == journey.END else self.words[f"{act}.title"]
            steps = [Step(place.anchor, place.label, self._state(place.name)) for place in listed]
            acts.append(Act(title.partition(":")[0], tuple(steps)))
        return host.html(rail.rail(acts))

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
        track = self.ledger.track([each.slug for each in self.contexts])
        target = next((each for each in self.contexts if each.slug == track), self.current_context)
        if target is not self.current_context:
            self.elements["context"].widget.state = {"value": target.slug}
            self._move_to(target)

    def fields(self, **acts: Sequence[str]) -> dict[str, Any]:
        """A design of such readouts of each act's instrument, with the context and what was predicted: `lab.fields(act1=("rate",))`."""
        values = {name: self.readouts.get(act, {}).get(name) for act, names in acts.items() for name in names}
        return {"context": self.current_context.slug, **values, **self.outcomes(*acts)}

    def end(self, truths: Mapping[str, tuple[str, str]], design: Design, slots: Slots | None = None) -> Any:
        """The end of a lab: the receipt with the button that saves, what to take away, and the ways on. `truths`: `end_rows`."""
        points, connections = self.words.fill_all(["takeaways", "connections"], slots or {}).values()
        return host.html(ending.ending(self.slug, self.end_rows(truths), self.save_button(design), points, connections))

    def hud(self, items: Sequence[Item], design: Mapping[str, Any]) -> Any:
        """`design`: what would be saved now."""
        receipt = self.receipt(design)
        head: list[Item] = [
            (self.name, self.words["title"], ""),
            ("Context", self.current_context.label, ""),
        ]
        for act in (name for name, question in self.questions.items() if question.kind == "prediction"):
            event, title = self.prediction(act), self.words[f"{act}.title"].partition(":")[0]
            head.append(hud.prediction(title, self.correct(act), event.attempt if event else 1, self.is_open(f"{act}.lock")))
        if "save" in self.elements:
            self.elements["save"].widget.refresh()
        return host.html(hud.hud([*head, *items], receipt, ("Ledger", "not saved", "fail") if self.trouble else None))
