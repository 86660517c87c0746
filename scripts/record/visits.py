"""A lab's page as its host serves it, and what a learner does there.

    cells     name -> HTML; a piece is an empty element with its name in it
    pieces    name -> kind, spec, state, view

The host numbers pieces in the order in which it builds them, which may change; they are recorded by kind and id (`lock act1`).
"""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import seams

PIECE = re.compile(r'data-piece="(\w+)"')
HERE = {"seconds": "", "why": ""}  # of an experiment: these depend on what is installed on this machine
Parts = dict[str, Any]


@contextmanager
def ledger_at(path: Path) -> Iterator[Any]:
    with seams.open_ledger(path) as ledger:
        ledger.path = path
        yield ledger


@contextmanager
def copy_of(ledger: Any, name: str = "copy") -> Iterator[Any]:
    """A ledger that begins where this one stands."""
    path = ledger.path.with_name(f"{ledger.path.stem}-{name}.db")
    path.unlink(missing_ok=True)
    source, target = sqlite3.connect(ledger.path), sqlite3.connect(path)
    source.backup(target)
    source.close()
    target.close()
    with ledger_at(path) as copy:
        yield copy
    for each in path.parent.glob(f"{path.name}*"):
        each.unlink()


class Visit:
    """One page of one lab."""

    def __init__(self, lab: Any, ledger: Any) -> None:
        self.lab, self.ledger = lab, ledger
        self.page = seams.page(lab, ledger)
        self.page.open()

    @property
    def names(self) -> dict[str, str]:
        """`lock act1` -> the piece's name on this page, in the order of the page."""
        names: dict[str, str] = {}
        for html in self.page.shown()["cells"].values():
            for name in PIECE.findall(html):
                names[self._called(name)] = name
        return names

    def traits(self, called: str) -> dict[str, Any]:
        traits: dict[str, Any] = self.page.traits(self.names[called])
        return traits

    def shown(self) -> Parts:
        """Everything on the page."""
        return self._parts(self.page.shown()["cells"], {name: self.page.traits(name) for name in self.names.values()})

    def act(self, called: str, **state: Any) -> Parts:
        """What changes on the page after a learner did this to a piece."""
        name = self.names[called]
        before = self.page.traits(name)["state"]
        changes = self.page.act(name, {**before, **state, "seq": before.get("seq", 0) + 1})
        return self._parts(changes["cells"], {**changes["pieces"], **changes["new"]})

    def press(self, called: str, button: str = "act", **state: Any) -> Parts:
        count = self.traits(called)["state"].get(button, 0) + 1
        return self.act(called, **{button: count}, **state)

    def look(self, called: str, state: Mapping[str, Any]) -> Parts:
        """What a dial that is still being turned shows."""
        return {"view": self.page.look(self.names[called], {**self.traits(called)["state"], **state})}

    def events(self, since: int = 0) -> list[dict[str, Any]]:
        """What the ledger got of this lab, without ids and times."""
        listed = [event for event in self.ledger.events() if event.lab == self.lab.slug]
        return [{"kind": event.kind, "attempt": event.attempt, "payload": event.payload} for event in listed[since:]]

    def close(self) -> None:
        self.page.close()

    def _called(self, name: str) -> str:
        traits = self.page.traits(name)
        return f"{traits['kind']} {traits['spec'].get('id', '')}"

    def _parts(self, cells: Mapping[str, str], pieces: Mapping[str, Mapping[str, Any]]) -> Parts:
        parts: Parts = {}
        for name, html in cells.items():
            parts[f"cell {name}"] = PIECE.sub(lambda match: f'data-piece="{self._called(match[1])}"', html)
        for name, traits in pieces.items():
            if name not in self.page.pieces:
                continue
            for trait, value in traits.items():
                parts |= _split(f"{self._called(name)} {trait}", value)
        return parts


def _split(name: str, value: Any) -> Parts:
    """A view by its fields, so that a difference says which one."""
    if not name.endswith(" view") or not isinstance(value, dict):
        return {name: {key: item for key, item in value.items() if key != "seq"}} if isinstance(value, dict) else {name: value}
    fields = {key: item for key, item in value.items() if key != "seq"}
    if "items" in fields and name.startswith("experiment"):
        fields["items"] = [{**item, **HERE} for item in fields["items"]]
    return {f"{name}.{key}": item for key, item in fields.items()}
