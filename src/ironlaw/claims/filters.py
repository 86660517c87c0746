"""What a row must have to play a role: a value, one of several (`any`), or none of several (`not`)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

ANY, NOT = "any", "not"


def agrees(value: Any, wanted: Any) -> bool:
    if isinstance(wanted, Mapping):
        return (ANY not in wanted or value in wanted[ANY]) and (NOT not in wanted or value not in wanted[NOT])
    return bool(value == wanted)
