"""Limits that a setting may hit, each with its title and its tone.

LIMITS = (
    fail("memory", "It does not fit", lambda plan: plan.bytes > plan.capacity),
    warn("slow", "It runs, and could run faster", lambda plan: plan.seconds > 1.1 * plan.best),
    good("works", "It works"),
)
hit(LIMITS, plan).name                       "memory"
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any


def _always(_: Any) -> bool:
    return True


def _nothing(_: Any) -> Mapping[str, object]:
    return {}


@dataclass(frozen=True)
class Limit:
    """`hit` says whether a setting breaks it; `slots` what its sentence is filled with."""

    name: str
    tone: str  # fail, warn, good
    title: str
    hit: Callable[[Any], bool] = _always
    slots: Callable[[Any], Mapping[str, object]] = _nothing


def fail(name: str, title: str, hit: Callable[[Any], bool] = _always, slots: Callable[[Any], Mapping[str, object]] = _nothing) -> Limit:
    return Limit(name, "fail", title, hit, slots)


def warn(name: str, title: str, hit: Callable[[Any], bool] = _always, slots: Callable[[Any], Mapping[str, object]] = _nothing) -> Limit:
    return Limit(name, "warn", title, hit, slots)


def good(name: str, title: str, slots: Callable[[Any], Mapping[str, object]] = _nothing) -> Limit:
    """The last one: no limit is hit."""
    return Limit(name, "good", title, _always, slots)


def hit(limits: Sequence[Limit], setting: Any) -> Limit:
    """The first limit that the setting breaks."""
    return next(limit for limit in limits if limit.hit(setting))
