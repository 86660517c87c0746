"""What belongs to one open page and ends with it, and what all pages of a process share.

A page is a session of marimo, with a thread of its own. Its pieces are known to registries that hold on to them (ipywidgets', marimo's),
and a piece holds on to its lab: unless they are closed, every page that was ever opened stays in memory. The ledger is shared, so
that the number of its connections does not grow with the pages.
"""

from __future__ import annotations

import threading
from typing import Any

from marimo._runtime.context import ContextNotInitializedError, get_context

from ironlaw.errors import IronlawError
from ironlaw.ledger import Ledger, open_ledger, where
from ironlaw.widget.piece import close_pieces

_turn = threading.Lock()
_shared: dict[str, Ledger] = {}  # place -> its ledger; one at most


class End:
    """marimo calls `teardown` in the thread of a session that ends."""

    def teardown(self) -> None:
        close_pieces(threading.current_thread())


def begin() -> None:
    """Whatever this session creates from now on ends with it. Nothing where no page is open: a test, `ironlaw lab check`."""
    try:
        kernel: Any = getattr(get_context(), "_kernel", None)
    except ContextNotInitializedError:
        return
    if kernel is not None and not any(isinstance(callback, End) for callback in kernel._callbacks):
        kernel._callbacks.append(End())


def shared_ledger() -> Ledger:
    """The learner's ledger, opened once. One that can't be read any more (its file was replaced, say) is opened anew."""
    with _turn:
        place = where()
        ledger = _shared.get(place)
        if ledger is not None:
            try:
                ledger.learner_name()
                return ledger
            except IronlawError:
                pass
        for other in _shared.values():
            other.close()
        _shared.clear()
        _shared[place] = open_ledger()
        return _shared[place]
