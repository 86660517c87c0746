"""A cell: a part of a lab's page that runs again when what it shows has changed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

Show = Callable[[Any], Any]


@dataclass(frozen=True)
class Cell:
    """`show(lab)` runs when the lab is opened, and again when one of its states changes."""

    name: str
    show: Show
    opens: str = ""  # the state that must be true before anything is shown
    again: tuple[str, ...] = ()

    @property
    def states(self) -> tuple[str, ...]:
        return (self.opens, *self.again) if self.opens else self.again

    def draw(self, lab: Any) -> Any:
        return self.show(lab) if not self.opens or lab.value(self.opens) else None
