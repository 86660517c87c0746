"""The learner's ledger, which all pages of a process share, so that the number of its connections does not grow with the pages."""

from __future__ import annotations

import threading

from ironlaw.errors import IronlawError
from ironlaw.ledger import Ledger, open_ledger, where

_turn = threading.Lock()
_shared: dict[str, Ledger] = {}  # place -> its ledger; one at most


def shared_ledger() -> Ledger:
    """Opened once. One that can't be read any more (its file was replaced, say) is opened anew."""
    with _turn:
        place = where()
        ledger = _shared.get(place)
        if ledger is not None:
            try:
                ledger.learner_name()
                return ledger
            except IronlawError:
                pass
        _close()
        _shared[place] = open_ledger()
        return _shared[place]


def close_shared() -> None:
    """Closes the ledger at the end of the process: the last one to close moves the rest of SQLite's log into the file and removes it."""
    with _turn:
        _close()


def _close() -> None:
    for ledger in _shared.values():
        ledger.close()
    _shared.clear()
