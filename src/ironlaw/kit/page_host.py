"""Whose page a lab is on: page.py's, which the labs' server, the static site and a notebook show, or none, as in a test.

The kit asks for three things, and a lab does not know who provides them:

    html(text)       a part of the page
    state(value)     (get, set): cells that name `get` run again when it is set
    element(piece)   a piece on the page: as text it is its HTML, `widget` is the piece

and for the learner's ledger, where none is passed. Pages are opened in threads side by side, and each has its own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
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

    def ledger(self) -> Any: ...


_used: ContextVar[Host | None] = ContextVar("host", default=None)


@dataclass(frozen=True)
class Loose:
    """A piece on no page."""

    widget: Piece

    def __str__(self) -> str:
        return "<ironlaw-piece></ironlaw-piece>"


class NoPage:
    """What is shown is text, a state holds its value, and nothing runs again."""

    def html(self, text: str) -> str:
        return text

    def state(self, value: Any) -> State:
        held = [value]
        return lambda: held[0], lambda new: held.__setitem__(0, new)

    def element(self, piece: Piece) -> Loose:
        return Loose(piece)

    def ledger(self) -> Any:
        from ironlaw.kit.shared_ledger import shared_ledger  # brings SQL, which a page in a browser does without

        return shared_ledger()


def current() -> Host:
    return _used.get() or NoPage()


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


def ledger() -> Any:
    return current().ledger()
