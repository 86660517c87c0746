"""Whose page a lab is on: marimo's, which the labs' server shows, or a plain one, which the static site shows.

The kit asks for four things, and a lab does not know who provides them:

    html(text)       a part of the page
    state(value)     (get, set): cells that name `get` run again when it is set
    element(piece)   a piece on the page: as text it is its HTML, `widget` is the piece
    begin()          a page begins: what is created from now on ends with it

and for the learner's ledger, where none is passed. marimo is the host until another one is used (plain.py).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Protocol

from ironlaw.widget.piece import Piece

State = tuple[Callable[[], Any], Callable[[Any], None]]


class Element(Protocol):
    @property
    def widget(self) -> Piece: ...


class Host(Protocol):
    def html(self, text: str) -> Any: ...

    def state(self, value: Any) -> State: ...

    def element(self, piece: Piece) -> Element: ...

    def begin(self) -> None: ...

    def ledger(self) -> Any: ...


_used: list[Host] = []


def current() -> Host:
    if not _used:
        from ironlaw.kit.host.in_marimo import MarimoHost  # takes a second to import

        _used.append(MarimoHost())
    return _used[-1]


@contextmanager
def using(host: Host) -> Iterator[None]:
    """This host for all labs that are opened meanwhile."""
    _used.append(host)
    try:
        yield
    finally:
        _used.remove(host)


def html(text: str) -> Any:
    return current().html(text)


def state(value: Any) -> State:
    return current().state(value)


def element(piece: Piece) -> Element:
    return current().element(piece)


def begin() -> None:
    current().begin()


def ledger() -> Any:
    return current().ledger()
