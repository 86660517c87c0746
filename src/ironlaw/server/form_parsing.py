"""Syntax trees one at a time, where Python needs that.

What labs compute is parsed in several threads. Python 3.11 before 3.11.8 counts the depth of all trees that are being built in one
place (CPython issue 106905): two at once, and one fails with "AST constructor recursion depth mismatch". Later ones count for each.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from functools import wraps
from typing import Any

SOUND = (3, 11, 8)
BUILDERS = (("ast", "parse"),)  # what builds trees in the labs' threads
_turn = threading.RLock()  # a finaliser may parse while its own thread is parsing


def one_at_a_time(version: tuple[int, ...] = sys.version_info[:3]) -> None:
    """Each of the builders that is imported waits from now on for its turn; nothing where Python does not need it, or it was done."""
    if version >= SOUND:
        return
    for module, name in BUILDERS:
        builder = getattr(sys.modules.get(module), name, None)
        if builder is not None and not hasattr(builder, "waits"):
            setattr(sys.modules[module], name, waiting(builder))


def waiting(builder: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(builder)
    def wait(*arguments: Any, **options: Any) -> Any:
        with _turn:
            return builder(*arguments, **options)

    wait.waits = True  # type: ignore[attr-defined]
    return wait
