"""Whose page a lab is on: a plain one, which the labs' server and the static site show, or marimo's, where a lab is run as a notebook.

The kit asks for four things, and a lab does not know who provides them:

    html(text)       a part of the page
    state(value)     (get, set): cells that name `get` run again when it is set
    element(piece)   a piece on the page: as text it is its HTML, `widget` is the piece
    begin()          a page begins: what is created from now on ends with it

and for the learner's ledger, where none is passed. marimo is the host unless another one is used (plain.py). Pages are opened in threads
side by side, and each has its own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
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


_used: ContextVar[Host | None] = ContextVar("host", default=None)


def current() -> Host:
    return _used.get() or _marimo()


@cache
def _marimo() -> Host:
    from ironlaw.kit.host.in_marimo import MarimoHost  # takes a second to import

    return MarimoHost()


@contextmanager
def using(host: Host) -> Iterator[None]:
    """This host for all labs that are opened meanwhile, in this thread."""
    token = _used.set(host)
    try:
        yield
    finally:
        _used.reset(token)


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
