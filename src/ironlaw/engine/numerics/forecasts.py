"""Forecasts and what came true: the Brier score in Murphy's parts.

    Brier score = reliability − resolution + uncertainty        (Murphy, 1973)

Reliability is how far stated and observed shares are apart, level by level (0 is best); resolution how much the levels tell apart (higher
is better); uncertainty what the questions bring with them: p(1 − p) for a share p of right answers.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Brier:
    """The mean of (probability − outcome)², and what it is made of."""

    score: float
    reliability: float
    resolution: float
    uncertainty: float


def brier(forecasts: Iterable[tuple[float, bool]]) -> Brier | None:
    """Scores probabilities by what came true; None without any. Forecasts of the same probability are one group, so that the three parts
    are exact."""
    groups: dict[float, list[bool]] = {}
    for stated, outcome in forecasts:
        groups.setdefault(stated, []).append(outcome)
    count = sum(map(len, groups.values()))
    if not count:
        return None
    base = sum(map(sum, groups.values())) / count
    shares = [(stated, sum(outcomes) / len(outcomes), len(outcomes)) for stated, outcomes in groups.items()]
    return Brier(
        math.fsum((stated - outcome) ** 2 for stated, outcomes in groups.items() for outcome in outcomes) / count,
        math.fsum(n * (stated - share) ** 2 for stated, share, n in shares) / count,
        math.fsum(n * (share - base) ** 2 for _, share, n in shares) / count,
        base * (1 - base),
    )
