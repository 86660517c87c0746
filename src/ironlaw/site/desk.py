"""What a page of the site asks of Python, in the browser's worker. Texts of JSON go in and come out; nothing here knows of JavaScript.

The browser keeps the events. Whoever calls `ask` stores what `unsaved` gives and only then shows the answer; if that failed, `failed`
takes the events back and gives the answer to show instead.
"""

from __future__ import annotations

import json
import re
import uuid
from collections.abc import Callable
from typing import Any

from ironlaw.errors import BadValue, IronlawError, LedgerDamaged
from ironlaw.kit.lab import folder
from ironlaw.kit.missing_ledger import AbsentLedger
from ironlaw.kit.page import Page
from ironlaw.ledger import Ledger
from ironlaw.ledger.events import now
from ironlaw.ledger.export_text import parse
from ironlaw.ledger.memory_store import MemoryStore
from ironlaw.pages import certificate_page, gallery
from ironlaw.pages.lab_catalogue import every_lab
from ironlaw.pages.records import Records, records
from ironlaw.recall.certificate_facts import issue
from ironlaw.site.addresses import relative
from ironlaw.site.ledger_copy import exported, owner_in, progress
from ironlaw.site.ledger_damage import Damage, head_of, missing_end, owner_of
from ironlaw.version import __version__
from ironlaw.widget import direct_answers

PLACE = "this browser, for this site"
BODY = re.compile(r"<body>(.*)</body>", re.DOTALL)
LONGEST_NAME = 80


def new_learner(copy: str = "") -> str:
    """For a browser that holds no ledger yet. `copy`: of one that a course holds; its owner goes on."""
    owner = owner_in(copy) if copy else ""
    return owner or _text({"learner": str(uuid.uuid4()), "since": now()})


class Desk:
    """`owner`: what `new_learner` gave when the ledger began; `rows`: what is stored, in order; `root`: where the site begins; `head`: how
    many rows there were after the last write, and the hash of the last; empty where an earlier version wrote them."""

    def __init__(self, owner: str, rows: str, root: str, trouble: str = "", head: str = "") -> None:
        about = owner_of(owner)
        self.root, self.page, self.slug, self.message = root, None, "", ""
        self.owner, self.trouble = owner, trouble
        self.damage: Damage | None = None
        self.aside: Damage | None = None  # what a new ledger takes the place of, until that is stored
        self.store = MemoryStore(about["learner"], about["since"], place=PLACE)
        self.ledger: Any = Ledger(self.store, about["learner"])
        self.acts: dict[str, Callable[[dict[str, Any]], dict[str, Any]]] = {
            "open": self._open, "act": self._act, "start": self._start, "explore": self._explore, "name": self._name,
            "export": self._export, "import": self._import, "reset": self._reset, "repair": self._repair, "damaged": self._damaged,
            "certificate": self._certificate, "certificate.json": self._certificate_file,
            "progress": self._progress, "restore": self._restore,
        }  # fmt: skip
        self.hear(rows)
        self.counted, _ = head_of(head)
        if head and not self.damage and (reason := missing_end(head, self.store.rows)):
            self._damaged_by(reason, [])
        direct_answers.OFFERED.set()
        direct_answers.HOSTED["explore"] = explored

    page: Page | None

    # --- the store

    @property
    def count(self) -> int:
        """How many rows of the stored ones are known."""
        return len(self.store.rows)

    def hear(self, rows: str) -> None:
        """What was stored since, by another window."""
        heard = json.loads(rows)
        try:
            self.store.hear(heard)
        except LedgerDamaged as error:
            self._damaged_by(error.reason, heard)
        if self.trouble:
            self.ledger = AbsentLedger(self.trouble)

    def _damaged_by(self, reason: str, more: list[Any]) -> None:
        self.damage = Damage(reason, self.owner, [*(list(row) for row in self.store.rows), *more])
        self.trouble = f"{self.damage.words}; set it aside on the start page"
        self.ledger = AbsentLedger(self.trouble)

    def set_aside(self) -> str:
        """The old ledger as it was, and whose the new one is: to be stored together with the new one's events. Empty: there is none."""
        return _text([self.aside.file(), self.owner]) if self.aside else ""

    def unsaved(self) -> str:
        return _text([list(row) for row in self.store.unsaved()])

    def saved(self) -> None:
        self.aside = None
        self.store.saved()

    def failed(self, reason: str) -> str:
        """What was done last could not be stored: it was never there, and the page says so."""
        self.store.take_back()
        self.message = f"That could not be stored in {PLACE} ({reason}), so nothing of it was committed. Make room, then do it again."
        try:
            return self.ask(_text({"do": "open", "lab": self.slug} if self.slug else {"do": "start"}))
        finally:
            self.store.take_back()  # that the lab was opened could not be stored either

    # --- questions and answers

    def look(self, question: str) -> str:
        """A dial that is being turned; nothing is kept."""
        return direct_answers.reply(question)

    def ask(self, question: str) -> str:
        asked = json.loads(question)
        try:
            answer = self.acts[asked["do"]](asked)
        except IronlawError as error:
            answer = {"error": str(error)}
        return relative(_text(answer), self.root)

    def _open(self, asked: dict[str, Any]) -> dict[str, Any]:
        self.slug = str(asked["lab"])
        self.page = Page(folder(self.slug), self.ledger)
        self.page.open()
        direct_answers.spare_collector()
        return {**self.page.shown(), **self._said()}

    def _act(self, asked: dict[str, Any]) -> dict[str, Any]:
        if self.page is None:
            raise BadValue("the lab is not open; load the page again")
        return self.page.act(str(asked["piece"]), dict(asked["state"]))

    def _said(self) -> dict[str, Any]:
        message, self.message = self.message, ""
        return {"said": message} if message else {}

    def _start(self, asked: dict[str, Any], message: str = "", wrong: dict[str, str] | None = None) -> dict[str, Any]:
        failure, self.message = self.message, ""
        problem = self.damage.words if self.damage else self.trouble
        standing = Records(where=PLACE, problem=problem, damaged=bool(self.damage)) if problem else records(self.ledger)
        text = gallery.gallery(
            every_lab(), standing, "", message, wrong or ({"general": failure} if failure else None), place=gallery.BROWSER
        )
        return _body(text)

    def _certificate(self, asked: dict[str, Any]) -> dict[str, Any]:
        if self.trouble:
            return _body(certificate_page.trouble(self.trouble))
        return _body(certificate_page.page(self._issue(), every_lab()))

    def _certificate_file(self, asked: dict[str, Any]) -> dict[str, Any]:
        issued = self._issue()
        return {"name": certificate_page.file_name(issued), "text": certificate_page.text(issued)}

    def _issue(self) -> dict[str, Any]:
        return issue(self._writable().export(), __version__)

    # --- what a course system is told, and what it holds

    def _progress(self, asked: dict[str, Any]) -> dict[str, Any]:
        """`room`: how many characters the course system has for a copy of the ledger; empty where it is longer."""
        if self.trouble:
            return {"trouble": self.trouble}
        return {**progress(self._writable(), self.owner, int(asked["room"])), "lab": self.slug, "export": self._export(asked)}

    def _restore(self, asked: dict[str, Any]) -> dict[str, Any]:
        return {"events": self._writable().import_(exported(str(asked["copy"])))}

    def _explore(self, asked: dict[str, Any]) -> dict[str, Any]:
        from ironlaw.pages.explore.explore_page import traits

        shown = traits([(str(key), str(value)) for key, value in asked["query"]])
        direct_answers.spare_collector()
        return {"traits": shown}

    # --- what the start page does to the ledger

    def _name(self, asked: dict[str, Any]) -> dict[str, Any]:
        name = " ".join(str(asked["name"]).split())
        if len(name) > LONGEST_NAME:
            return self._start(asked, wrong={"name": f"that name has {len(name)} characters; use at most {LONGEST_NAME}"})
        return self._try("name", asked, lambda: self._writable().set_learner_name(name), gallery.MESSAGES["named" if name else "unnamed"])

    def _import(self, asked: dict[str, Any]) -> dict[str, Any]:
        fresh: list[int] = []

        def read() -> None:
            try:
                data = parse(asked["text"])
            except (ValueError, RecursionError) as error:
                raise BadValue(f"that file can't be read as JSON ({str(error)[:200]}); choose one that export gave you") from None
            fresh.append(self._writable().import_(data))

        return self._try("import", asked, read, lambda: gallery.imported(fresh[0]))

    def _repair(self, asked: dict[str, Any]) -> dict[str, Any]:
        """A new ledger in place of a damaged one. `total`: how many events the browser has counted."""
        if self.damage:
            self.store = self.damage.carry(PLACE, max(self.counted, int(asked.get("total") or 0)), str(uuid.uuid4()))
            self.aside, self.damage, self.trouble = self.damage, None, ""
            self.ledger = Ledger(self.store, self.store.learner)
            self.owner = _text({"learner": self.store.learner, "since": self.store.since})
        return self._start(asked)

    def _damaged(self, asked: dict[str, Any]) -> dict[str, Any]:
        """The damaged ledger whole; `kept`: one that was set aside."""
        data = self.damage.file() if self.damage else asked.get("kept")
        if not data:
            raise BadValue("no damaged ledger is kept here; download the export instead")
        return {"name": f"ironlaw-ledger-damaged-{now()[:10]}.json", "text": json.dumps(data, ensure_ascii=False, indent=1)}

    def _reset(self, asked: dict[str, Any]) -> dict[str, Any]:
        return self._try("reset", asked, lambda: self._writable().reset(), gallery.MESSAGES["reset"])

    def _try(self, place: str, asked: dict[str, Any], act: Callable[[], Any], message: str | Callable[[], str]) -> dict[str, Any]:
        try:
            act()
        except IronlawError as error:
            return self._start(asked, wrong={place: str(error)})
        return self._start(asked, message if isinstance(message, str) else message())

    def _writable(self) -> Ledger:
        if self.trouble:
            raise BadValue(f"nothing was written: {self.trouble}")
        ledger: Ledger = self.ledger
        return ledger

    def _export(self, asked: dict[str, Any]) -> dict[str, Any]:
        store = self.damage.carry(PLACE, 0, self.store.learner) if self.damage else self.store
        data = Ledger(store, store.learner).export()
        return {"name": f"ironlaw-ledger-{data['exported'][:10]}.json", "text": json.dumps(data, ensure_ascii=False, indent=1)}


def explored() -> Any:
    from ironlaw.pages.explore.explore_page import piece

    return piece()


def _body(page: str) -> dict[str, Any]:
    body = BODY.search(page)
    return {"html": body[1] if body else ""}


def _text(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
