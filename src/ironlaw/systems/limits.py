"""Limits that a setting may hit, each with its title and its tone; and the least change after which it hits none.

LIMITS = (
    fail("memory", "It does not fit", lambda plan: plan.bytes > plan.capacity),
    warn("slow", "It runs, and could run faster", lambda plan: plan.seconds > 1.1 * plan.best),
    good("works", "It works"),
)
hit(LIMITS, plan).name                       "memory"
single_fixes(plan, holds, ("tensor", "zero"))    {"tensor parallelism over 4": the plan with it}
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any, TypeVar

from ironlaw.systems.fields import parameter

S = TypeVar("S")


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


def nearest(setting: Any, name: str, stops: Sequence[Any] = (), by: str = "place") -> list[Any]:
    """Where else this parameter can stand, nearest first: by its place in the list, or by the ratio."""
    listed, now = list(stops or parameter(type(setting), name).stops), getattr(setting, name)
    others = [stop for stop in listed if stop != now]
    if by == "ratio":
        return sorted(others, key=lambda stop: max(stop / now, now / stop))
    place = listed.index(now) if now in listed else 0
    return sorted(others, key=lambda stop: abs(listed.index(stop) - place))


def single_fixes(
    setting: S, holds: Callable[[S], bool], names: Iterable[str], by: str = "place", stops: Mapping[str, Sequence[Any]] | None = None
) -> dict[str, S]:
    """Words -> the setting with that one parameter turned as little as will do, all others as they are.

    `stops`: of those whose places depend on the setting.
    """
    fixes: dict[str, S] = {}
    for name in names:
        one = parameter(type(setting), name)
        for stop in nearest(setting, name, (stops or {}).get(name, ()), by):
            changed: S = replace(setting, **{name: stop})  # type: ignore[type-var]
            if holds(changed):
                fixes[one.remedy(stop)] = changed
                break
    return fixes


def paired_fix(setting: S, holds: Callable[[S], bool], names: Iterable[str], by: str = "ratio") -> dict[str, S]:
    """Two parameters, turned by the fewest stops together; empty where no two will do."""
    ways = [
        (i + j, first, one, second, other)
        for first, second in combinations(names, 2)
        for i, one in enumerate(nearest(setting, first, by=by))
        for j, other in enumerate(nearest(setting, second, by=by))
    ]
    for _, first, one, second, other in sorted(ways):
        both: S = replace(setting, **{first: one, second: other})  # type: ignore[type-var]
        if holds(both):
            words = (parameter(type(setting), name).remedy(stop) for name, stop in ((first, one), (second, other)))
            return {" with ".join(words): both}
    return {}


def either(words: Sequence[str], nothing: str = "") -> str:
    """ "a", "a, or b", "a, b, or c"; `nothing` where there are none."""
    if not words:
        return nothing
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])}, or {words[-1]}"
