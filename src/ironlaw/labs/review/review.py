"""The review in one session: its words, the ledger, the cards on the table, and the pieces that follow every answer.

A lab has acts and locks; the review has sections that are open from the start. It reveals its answers card by card.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from html import escape
from pathlib import Path
from typing import Any

from ironlaw.errors import IronlawError, LedgerError, sentence
from ironlaw.kit import hud, page_host, prose, step
from ironlaw.kit import lab_words as texts
from ironlaw.kit import question_sheet as sheets
from ironlaw.kit.banner import ledger_notice, notice
from ironlaw.kit.instrument import Instrument, Values, View
from ironlaw.kit.lab import folder
from ironlaw.kit.missing_ledger import AbsentLedger
from ironlaw.labs.review import checklist as checklists
from ironlaw.labs.review import conceptmap, flashcard, walker, writing
from ironlaw.recall import review_session as sessions
from ironlaw.recall.record import REVIEW
from ironlaw.widget.piece import Piece

Clock = Callable[[], datetime]
Slots = Mapping[str, object]


def now() -> datetime:
    return datetime.now(UTC)


def open(name: str | Path = REVIEW, ledger: Any = None, clock: Clock = now, seed: int | None = None) -> Review:
    """The review, with the learner's ledger unless another is passed. `seed` makes the cards' figures repeatable."""
    place = folder(name)
    sheet = sheets.load(place / "questions.toml")
    if ledger is None:
        try:
            ledger = page_host.ledger()
        except IronlawError as error:
            ledger = AbsentLedger(str(error))
    return Review(texts.load(place / "words.md", sheet.premises), sheet, ledger, clock, seed)


class Review:
    def __init__(self, words: texts.Words, sheet: sheets.Sheet, ledger: Any, clock: Clock = now, seed: int | None = None) -> None:
        self.words, self.sheet, self.ledger, self.clock = words, sheet, ledger, clock
        self.elements: dict[str, Any] = {}  # a page drops an element that nothing refers to
        self.following: list[Piece] = []  # pieces that show what the ledger says
        self.trouble = self._begin()
        self._state: sessions.State | None = None
        self._counter: tuple[Any, Callable[[Any], None]] | None = None
        self.desk = flashcard.ReviewDesk(sessions.Session(ledger, clock, seed=seed), self.changed)

    def _begin(self) -> str:
        try:
            events = self.ledger.events(REVIEW)
            if not events or events[-1].kind != "opened":
                self.ledger.append(REVIEW, "opened", {})
        except LedgerError as error:
            return str(error)
        return ""

    # --- the ledger's state, and the pieces that follow it

    @property
    def state(self) -> sessions.State:
        """The state as of the last change; read from the ledger again after each."""
        if self._state is None:
            self._state = sessions.state(self.ledger, self.clock())
        return self._state

    def changed(self) -> None:
        """Something was answered, taken back, ticked or written: every piece that shows it is computed again."""
        self._state = None
        for piece in self.following:
            piece.refresh()
        self._tell()

    def _tell(self) -> None:
        """The cells that name the count run again."""
        if self._counter is not None:
            get, put = self._counter
            put(get() + 1)

    def ask(self, cards: Sequence[str]) -> None:
        """These cards next, on the table."""
        self.desk.ask(cards)
        if "cards" in self.elements:
            self.elements["cards"].widget.refresh()
        self._tell()

    def states(self, *names: str) -> tuple[Any, ...]:
        """There is one, "count", which rises with every change: a cell that names it runs again."""
        self._counter = page_host.state(0)
        return tuple(self._counter[0] for _ in names)

    # --- the page

    def header(self) -> Any:
        words, minutes = self.words, int(self.sheet.lab["minutes"])
        text = (
            f'<header class="il-header"><div class="il-kicker"><p><span>Review · </span>about {minutes} minutes at a time</p></div>'
            f"<h1>{prose.inline(words['title'])}</h1>"
            f'<p class="il-lede">{prose.inline(words["sentence"])}</p>'
            f'<p class="il-how"><strong>How.</strong> {prose.inline(words["how"])}</p></header>'
        )
        if self.trouble:
            text += notice(
                "fail", "The ledger can't be opened", prose.html(f"{sentence(self.trouble)}\n\nYou can read on; nothing is kept.")
            )
        text += ledger_notice(self.ledger)
        return page_host.html(text)

    def rail(self, parts: Mapping[str, str]) -> Any:
        """Section -> what the rail calls it."""
        items = "".join(
            f'<li class="il-ready" data-place="{name}"><a href="#{name}">{escape(label)}</a></li>' for name, label in parts.items()
        )
        return page_host.html(
            f'<nav class="il-rail il-sections" aria-label="Sections"><div class="il-act il-here"><ol>{items}</ol></div></nav>'
        )

    def section(self, name: str, slots: Slots | None = None) -> Any:
        """A section's title and its words; its pieces come after it. A page shows one section at a time."""
        title = prose.inline(self.words[f"{name}.title"])
        body = self.words.fill_all([f"{name}.about"], slots or {})[f"{name}.about"]
        head = f'<h2 class="il-act-title">{title}</h2>'
        return page_host.html(
            f'<section class="il-step il-section" id="{name}">{head}<div class="il-prose">{prose.html(body)}</div></section>'
        )

    def cards(self) -> Any:
        return self.show("cards", flashcard.flashcard(self.desk))

    def map(self) -> Any:
        return self.show("map", conceptmap.conceptmap(lambda: self.state, self.ask), follows=True, part="instrument")

    def walker(self) -> Any:
        return self.show("walk", walker.walker())

    def checklist(self) -> Any:
        return self.show("checklist", checklists.checklist(self.ledger, lambda: self.state, self.changed), follows=True)

    def writing(self) -> Any:
        return self.show("writing", writing.writing(self.ledger, lambda: self.state, self.changed), follows=True)

    def show(self, name: str, piece: Piece, follows: bool = False, part: str = "piece") -> Any:
        """`follows`: what it shows depends on the ledger, so it is computed again with every change."""
        self.elements[name] = page_host.element(piece)
        if follows:
            self.following.append(piece)
        return page_host.html(step.step(name, part, f"{self.elements[name]}"))

    def html(self, name: str, text: str) -> Any:
        """Plain HTML as a part of the page."""
        return page_host.html(f'<section class="il-step" id="{name}" aria-live="polite">{text}</section>')

    def instrument(self, name: str, dials: Callable[[Values], Any], compute: Callable[[Values], View], follows: bool = False) -> Any:
        instrument = Instrument(name, self.words[f"{name}.instrument"], dials, compute, store=f"{REVIEW}/{name}")
        return self.show(name, instrument.piece, follows, "instrument")

    def hud(self) -> Any:
        state = self.state
        left, due = self.desk.remaining, sum(card.standing.due is not None for card in state.due(self.desk.session.topic))
        again = f", {due} due" if due else ""
        answers, right = self.desk.session.answers, sum(review.correct for review in self.desk.session.answers.values())
        items: list[hud.Item] = [
            ("Review", self.words["title"], ""), ("Cards", f"{left} to go{again}" if left else "done for now", ""),
            ("This session", f"{right} of {len(answers)} right" if answers else hud.OPEN, ""),
        ]  # fmt: skip
        mine = [event for event in state.events if event.lab == REVIEW and event.kind != "opened"]
        ledger_item = ("Ledger", "not saved", "fail") if self.trouble else ("Ledger", "keeps every answer", "")
        if mine and not self.trouble:
            ledger_item = ("Ledger", f"saved {hud.clock(mine[-1].time)}", "good")
        return page_host.html(hud.hud(items, ledger_item=ledger_item))
