"""The dials of Act II, and the design that they stand at."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ironlaw.kit import settings
from ironlaw.systems.fields import parameter, parameters
from ironlaw.systems.whole import Design
from ironlaw.systems.whole.design import NONE
from ironlaw.systems.whole.whole_search import DIALS

LABELS = {name: one.label for name, one in parameters(Design).items()}


def said(dial: str, value: Any) -> str:
    """A value as its dial shows it."""
    return parameter(Design, dial).words(value)


def dials(start: Design, near: str) -> list[Any]:
    """A menu each; intervals of near copies only where there are any."""
    return settings.dials(
        Design,
        tuple(LABELS),
        **{
            name: {
                "value": _plain(getattr(start, name)), "options": [_plain(stop) for stop in one.stops],
                "shown": {_plain(stop): one.words(stop) for stop in one.stops}, "hidden": name == "near_every" and near == NONE,
            }
            for name, one in parameters(Design).items()
        },
    )  # fmt: skip


def design_of(values: Mapping[str, Any]) -> Design:
    """Numbers come back from a browser as it likes to write them: each is the stop that it equals."""
    stops = {dial: next(stop for stop in DIALS[dial] if _plain(stop) == _plain(values[dial])) for dial in LABELS}
    return Design(**stops)


def _plain(value: Any) -> Any:
    return float(value) if isinstance(value, (int, float)) else value
