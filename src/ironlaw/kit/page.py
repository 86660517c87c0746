"""One page of a lab, as the labs' server, the static site and a notebook show it. Nothing here knows of a browser.

    page = Page(folder, ledger)
    page.open()                     # cell -> HTML: what the runner's cells show of the lab
    page.shown()                    # all that is on the page
    page.act("p3", {"value": 2})    # what the learner did to a piece -> what changed on the page

In a cell's HTML a piece is an empty element with its name; `traits` has what is to be drawn there.
"""

from __future__ import annotations

import logging
import re
import weakref
from collections.abc import Callable, Mapping
from html import escape
from pathlib import Path
from typing import Any

from ironlaw.errors import BadValue, IronlawError, sentence
from ironlaw.kit.banner import notice
from ironlaw.kit.cell import Cell
from ironlaw.kit.page_host import State, using
from ironlaw.kit.runner import OPENED, names, script
from ironlaw.widget.piece import Piece, wire

LOG = logging.getLogger(__name__)
PIECE = re.compile(r'data-piece="(\w+)"')


class Shown:
    """A piece on the page: as text it is the element in which the page draws it."""

    def __init__(self, name: str, piece: Piece, page: Page) -> None:
        self.name, self.widget, self._page = name, piece, weakref.ref(page)
        self.known: dict[str, Any] = {"spec": piece.spec, "state": piece.state}  # to the page
        piece.followers.append(self)

    def __str__(self) -> str:
        return f'<ironlaw-piece data-piece="{self.name}"></ironlaw-piece>'

    def changed(self, name: str, value: Any) -> None:
        page = self._page()
        if page is None or self.known.get(name) == value:
            return
        if name in self.known:
            self.known[name] = value
        page.changes.setdefault(self.name, {})[name] = value

    def close(self) -> None:
        """Nothing else holds on to it."""


class Page:
    """The host of one lab."""

    def __init__(self, folder: Path, ledger: Any) -> None:
        self._script, self._ledger = script(folder), ledger
        self.lab: Any = None
        self._states: dict[str, Callable[[], Any]] = {}
        self._stale: dict[Callable[[], Any], int] = {}  # state that was set -> how many cells had run by then
        self._ran: dict[str, int] = {}  # cell -> the number of its run
        self._runs = 0
        self.cells = names(self._script)
        self.html_of = dict.fromkeys(self.cells, "")
        self.failed: dict[str, Exception] = {}  # cell -> why it shows nothing else
        self.changes: dict[str, dict[str, Any]] = {}  # piece -> what is new about it
        self.pieces: weakref.WeakValueDictionary[str, Shown] = weakref.WeakValueDictionary()
        self._count = 0

    # --- what the kit asks for

    def html(self, text: str) -> str:
        return text

    def state(self, value: Any) -> State:
        held = [value]

        def get() -> Any:
            return held[0]

        def put(new: Any) -> None:
            held[0] = new
            self._stale[get] = self._runs

        return get, put

    def element(self, piece: Piece) -> Shown:
        self._count += 1
        shown = Shown(f"p{self._count}", piece, self)
        self.pieces[shown.name] = shown
        return shown

    def ledger(self) -> Any:
        return self._ledger

    # --- what shows the page asks for

    def open(self, lab: Any = None) -> dict[str, str]:
        """Every cell, as HTML. `lab`: one that is open already."""
        with using(self):
            try:
                self.lab = lab if lab is not None else self._script.open()
                self._states = dict(zip(self._script.states, self.lab.states(*self._script.states), strict=True))
            except Exception as error:
                self.html_of[OPENED] = self._failure(OPENED, error)
            else:
                for cell in self._script.cells:
                    self._run(cell)
        self.settle()
        return dict(self.html_of)

    def shown(self) -> dict[str, Any]:
        """The whole page: `{"cells": {cell: HTML}, "pieces": {piece: traits}}`."""
        return {"cells": dict(self.html_of), "pieces": {name: self.traits(name) for name in self.pieces}}

    def act(self, name: str, state: dict[str, Any]) -> dict[str, Any]:
        """What the learner did to a piece. The cells and pieces that changed, as `shown` has them; `new`: the pieces of those cells."""
        shown = self._shown(name)
        shown.known["state"] = state
        shown.widget.state = state
        changes = self.settle()
        names = [name for html in changes["cells"].values() for name in PIECE.findall(html)]
        return {**changes, "new": {name: self.traits(name) for name in names}}

    def close(self) -> None:
        """Nobody looks at it any more: what its pieces held on to is free."""
        for shown in list(self.pieces.values()):
            shown.widget.close()

    def settle(self) -> dict[str, Any]:
        """Run again what names a state that was set, and say what changed since."""
        before = dict(self.html_of)
        with using(self):
            while self._stale:
                stale, self._stale = self._stale, {}
                for cell in [cell for cell in self._script.cells if self._is_older(cell, stale)]:
                    self._run(cell)
        cells = {name: text for name, text in self.html_of.items() if before.get(name) != text}
        pieces = {name: dict(traits) for name, traits in self.changes.items()}
        self.changes.clear()
        for traits in pieces.values():
            if "view" in traits:
                traits["view"] = wire(traits["view"])
        return {"cells": cells, "pieces": pieces}

    def look(self, name: str, state: dict[str, Any]) -> dict[str, Any]:
        """The view for a dial that is being turned; nothing is kept."""
        return self._shown(name).widget.look(state | {"moving": True})

    def traits(self, name: str) -> dict[str, Any]:
        piece = self._shown(name).widget
        return {"kind": piece.kind, "spec": piece.spec, "state": piece.state, "view": wire(piece.view)}

    def _shown(self, name: str) -> Shown:
        shown = self.pieces.get(name)
        if shown is None:
            raise BadValue("this part of the page is out of date; load the page again")
        return shown

    def _is_older(self, cell: Cell, stale: Mapping[Callable[[], Any], int]) -> bool:
        """Whether it ran before one of its states was set."""
        return any(self._ran[cell.name] <= stale.get(self._states[name], -1) for name in cell.states)

    def _run(self, cell: Cell) -> None:
        self._runs += 1
        self._ran[cell.name] = self._runs
        self.html_of[cell.name] = self._show(cell)

    def _show(self, cell: Cell) -> str:
        try:
            shown = cell.draw(self.lab)
        except Exception as error:
            return self._failure(cell.name, error)
        as_html = getattr(shown, "_repr_html_", None)  # what a notebook shows a table or a figure by
        return "" if shown is None else str(as_html() if as_html else shown)

    def _failure(self, name: str, error: Exception) -> str:
        LOG.error("the cell %r failed", name, exc_info=error)
        self.failed[name] = error
        reason = sentence(str(error)) if isinstance(error, IronlawError) else f"{type(error).__name__}: {error}"
        return notice("fail", f"This part ({name}) could not be shown", f"{escape(reason)} What you committed is kept.")
