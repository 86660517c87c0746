"""Fronts in any number of figures, each to be large or small: what nothing else beats in all of them.

`frontier` draws two figures of which less is better; here a model may be judged by accuracy, robustness, time and training at once.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ironlaw.errors import BadValue

MORE, LESS = "more", "less"
Senses = Mapping[str, str]  # figure -> which is better


@dataclass(frozen=True)
class Candidate:
    """A name and its figures; `doubt`: how far each may be off to either side, 0 where it is not said."""

    name: str
    figures: Mapping[str, float]
    doubt: Mapping[str, float] | None = None


def dominates(a: Candidate, b: Candidate, senses: Senses) -> bool:
    """No worse in any figure and better in one."""
    gains = [_gain(a, b, name, sense) for name, sense in senses.items()]
    return min(gains) >= 0 and max(gains) > 0


def surely_dominates(a: Candidate, b: Candidate, senses: Senses) -> bool:
    """The same with both off by their doubt, to a's disadvantage: better in at least one figure beyond doubt, and worse in none."""
    gains = [(_gain(a, b, name, sense), _doubt(a, name) + _doubt(b, name)) for name, sense in senses.items()]
    return all(gain >= 0 for gain, _ in gains) and any(gain > doubt for gain, doubt in gains)


def pareto(candidates: Sequence[Candidate], senses: Senses) -> tuple[Candidate, ...]:
    """The points that nothing dominates, in the order given. Two equal points both stay."""
    check(candidates, senses)
    return tuple(one for one in candidates if not any(dominates(other, one, senses) for other in candidates))


def dominators(one: Candidate, candidates: Sequence[Candidate], senses: Senses) -> tuple[Candidate, ...]:
    """The points on the front that dominate this one; none if it is on the front itself."""
    return tuple(other for other in pareto(candidates, senses) if dominates(other, one, senses))


def check(candidates: Sequence[Candidate], senses: Senses) -> None:
    if not senses or any(sense not in (MORE, LESS) for sense in senses.values()):
        raise BadValue(f'figures to judge by are {dict(senses)!r}; name at least one, each "more" or "less"', "senses")
    for one in candidates:
        for name in senses:
            if name not in one.figures or math.isnan(one.figures[name]):
                raise BadValue(f"{one.name} has no {name}; leave it out, or judge by other figures", name)


def _gain(a: Candidate, b: Candidate, name: str, sense: str) -> float:
    """How much better a is than b. Two that are both infinite are equal."""
    x, y = a.figures[name], b.figures[name]
    if x == y:
        return 0.0
    return x - y if sense == MORE else y - x


def _doubt(one: Candidate, name: str) -> float:
    return (one.doubt or {}).get(name, 0.0)
