"""Deliberate acts: committing, answering, starting. The browser raises a counter in the state with each, so that an act is done once,
however often the same state is computed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


class ActCounter:
    """Follows one counter of a piece's state."""

    def __init__(self, name: str = "act") -> None:
        self.name, self.last = name, 0

    def advanced(self, state: Mapping[str, Any]) -> bool:
        """Whether the state carries an act that was not done yet; it counts as done from now on."""
        count = state.get(self.name)
        if isinstance(count, bool) or not isinstance(count, int) or count <= self.last:
            return False
        self.last = count
        return True
