"""How a measurement reports how far it is, and how it is stopped."""

from __future__ import annotations

from collections.abc import Callable

Progress = Callable[[float, str], None]  # share done, 0 to 1, and what is being done
Stop = Callable[[], bool]  # called between samples; True ends the measurement


class Cancelled(Exception):
    """A measurement that was asked to stop. Nothing of it is stored."""


def quiet(share: float, doing: str) -> None:
    """A Progress that shows nothing."""


def within(progress: Progress, start: float, end: float) -> Progress:
    """A Progress for one part of a longer run, which goes from share `start` to `end` of the whole."""
    return lambda share, doing: progress(start + (end - start) * min(max(share, 0.0), 1.0), doing)
