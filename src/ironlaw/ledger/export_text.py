"""An export, a certificate or a hand-in as text: JSON that says one thing only, and no more of it than a machine can hold.

JSON allows a key to be written twice. Programs take the second, a person reads the first, so a file that does it is refused.
"""

from __future__ import annotations

import json
from typing import Any

MOST_PARTS = 1_000_000  # lists and objects; a course has ten thousand, and each takes memory long before it is looked at


def parse(text: str | bytes) -> Any:
    """The value. ValueError says what is wrong, RecursionError that it is nested too deep."""
    parts = text.count(b"[") + text.count(b"{") if isinstance(text, bytes) else text.count("[") + text.count("{")
    if parts > MOST_PARTS:
        raise ValueError(f"it has {parts:,} lists and objects, and no ledger has more than {MOST_PARTS:,}")
    return json.loads(text, object_pairs_hook=_once)


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"{twice[:80]!r} is written twice in one object, and only one of them can be meant")
    return value
