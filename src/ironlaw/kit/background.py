"""What a learner will probably ask for next, computed in the background while they look at what is there."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import suppress

allowed = threading.Event()
allowed.set()
_begun: set[str] = set()


def begin(name: str, fill: Callable[[], object], after: float = 0.0) -> None:
    """Once in a process for each name, `after` seconds from now. A browser's Python has no threads: there the first answer is as slow as it
    is."""
    if name in _begun or not allowed.is_set():
        return
    _begun.add(name)
    timer = threading.Timer(after, fill)
    timer.daemon = True
    with suppress(RuntimeError):
        timer.start()
