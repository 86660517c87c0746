"""Syntax trees one at a time, where Python needs that.

marimo parses a lab's cells in several threads. Python 3.11 before 3.11.8 counts the depth of all trees that are being built in one
place (CPython issue 106905): two at once, and one fails with "AST constructor recursion depth mismatch". Later ones count for each.
"""

from __future__ import annotations

import ast
import sys
import threading
from functools import wraps
from typing import Any

SOUND = (3, 11, 8)
_turn = threading.RLock()  # a finaliser may parse while its own thread is parsing


def one_at_a_time(version: tuple[int, ...] = sys.version_info[:3]) -> None:
    """From now on `ast.parse` waits for its turn; nothing where Python does not need it, or it was done already."""
    if version >= SOUND or hasattr(ast.parse, "waits"):
        return
    parse = ast.parse

    @wraps(parse)
    def waiting(*arguments: Any, **options: Any) -> Any:
        with _turn:
            return parse(*arguments, **options)

    waiting.waits = True  # type: ignore[attr-defined]
    ast.parse = waiting
