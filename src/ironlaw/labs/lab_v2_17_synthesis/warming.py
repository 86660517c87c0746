"""What Act II will ask for first, computed in the background while the learner looks at Act I."""

from __future__ import annotations

import threading
from contextlib import suppress

from ironlaw.systems.whole import Design, evaluate
from ironlaw.systems.whole.whole_levers import tornado
from ironlaw.systems.whole.whole_search import nearest

_warm = threading.Lock()


def warm(design: Design) -> None:
    """Once in a process. A browser's Python has no threads: there the first view is as slow as it is."""
    if _warm.acquire(blocking=False):  # never given back
        with suppress(RuntimeError):
            threading.Thread(target=fill, args=(design,), daemon=True).start()


def fill(design: Design) -> None:
    if not evaluate(design).refusal:
        tornado(design)
        nearest(design)
