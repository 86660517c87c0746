"""marimo as the host: a piece is an anywidget there, and a page is a session with a thread of its own.

The pieces of a page are known to registries that hold on to them (ipywidgets', marimo's), and a piece holds on to its lab: unless
they are closed, every page that was ever opened stays in memory.
"""

from __future__ import annotations

import threading
from typing import Any

import anywidget
import marimo as mo
import traitlets
from marimo._runtime.context import ContextNotInitializedError, get_context

from ironlaw.kit import shared_ledger
from ironlaw.widget.assets import script, style
from ironlaw.widget.piece import Piece, close_pieces, wire


class Mirror(anywidget.AnyWidget):
    """A piece as marimo shows it: what the browser does goes to the piece, what the piece answers to the browser."""

    _esm = traitlets.Unicode().tag(sync=True)
    _css = traitlets.Unicode().tag(sync=True)
    _anywidget_id = traitlets.Unicode("ironlaw").tag(sync=True)
    layout = traitlets.Any()  # ipywidgets' own is another widget with forty traits, and marimo shows none of them
    kind = traitlets.Unicode().tag(sync=True)
    spec = traitlets.Dict().tag(sync=True)
    state = traitlets.Dict().tag(sync=True)
    view = traitlets.Dict().tag(sync=True, to_json=wire)

    def __init__(self, piece: Piece) -> None:
        super().__init__(kind=piece.kind, spec=piece.spec, state=piece.state, view=piece.view, _esm=script(), _css=style())
        self.piece = piece
        self.observe(self._on_state, names=["state"])
        piece.followers.append(self)

    def add_traits(self, **traits: Any) -> None:
        """Nothing for those declared above: traits that are added make a class for each widget."""
        new = {name: trait for name, trait in traits.items() if not self.has_trait(name)}
        if new:
            super().add_traits(**new)

    def changed(self, name: str, value: Any) -> None:
        setattr(self, name, value)

    def close(self) -> None:
        """Let go of by every registry; what it held on to is free."""
        super().close()
        self.unobserve_all()

    def _on_state(self, change: Any) -> None:
        self.piece.state = change["new"]


class Element:
    """marimo's element of a piece, which marimo drops unless something refers to it."""

    def __init__(self, piece: Piece, held: Any) -> None:
        self.widget, self._held = piece, held

    def __str__(self) -> str:
        return format(self._held)


class End:
    """marimo calls `teardown` in the thread of a session that ends."""

    def teardown(self) -> None:
        close_pieces(threading.current_thread())


def widget(piece: Piece) -> Any:
    """marimo's own element: cells that read its `value` run again whenever the learner acts."""
    return mo.ui.anywidget(Mirror(piece))


class MarimoHost:
    def html(self, text: str) -> Any:
        return mo.Html(text)

    def state(self, value: Any) -> Any:
        return mo.state(value)

    def element(self, piece: Piece) -> Element:
        """No cell reads its value: a turn of a dial is answered by the piece alone, and marimo runs nothing after it."""
        held = widget(piece)
        if hasattr(held.widget.comm, "ui_element_id"):
            held.widget.comm.ui_element_id = None
        return Element(piece, held)

    def begin(self) -> None:
        """Nothing where no page is open: a test, `ironlaw lab check`."""
        try:
            kernel: Any = getattr(get_context(), "_kernel", None)
        except ContextNotInitializedError:
            return
        if kernel is not None and not any(isinstance(callback, End) for callback in kernel._callbacks):
            kernel._callbacks.append(End())

    def ledger(self) -> Any:
        return shared_ledger.shared_ledger()
