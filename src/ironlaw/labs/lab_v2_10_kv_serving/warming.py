"""What Act II will ask for first, simulated in the background while the learner looks at Act I."""

from __future__ import annotations

import threading
from contextlib import suppress
from dataclasses import replace

_warm = threading.Lock()


def warm() -> None:
    """Once in a process. A browser's Python has no threads: there the first view is as slow as it is."""
    if _warm.acquire(blocking=False):  # never given back
        with suppress(RuntimeError):
            threading.Thread(target=fill, daemon=True).start()


def fill() -> None:
    from ironlaw.engine.serving.llm.policy import Policy  # here: Act I does not need them
    from ironlaw.labs.lab_v2_10_kv_serving.act2.server import premise

    for case in (premise(), premise(True), replace(premise(True), policy=Policy(budget=256))):
        _ = case.outcome
