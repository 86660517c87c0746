"""The states of a lab: a cell that names one runs again when it changes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ironlaw.kit import page_host


class States:
    """`standing(name)` is what a state stands at now; the page is told only where that has changed."""

    def __init__(self, standing: Callable[[str], Any]) -> None:
        self.standing = standing
        self.of: dict[str, page_host.State] = {}

    def create(self, *names: str) -> tuple[Callable[[], Any], ...]:
        for name in names:
            self.of[name] = page_host.state(self.standing(name))
        return tuple(self.of[name][0] for name in names)

    def value(self, name: str) -> Any:
        return self.of[name][0]()

    def notify(self, *names: str) -> None:
        """These, or all: something was committed, chosen or read out."""
        for name in names or tuple(self.of):
            if name not in self.of:
                continue
            get, put = self.of[name]
            value = self.standing(name)
            if get() != value:
                put(value)
