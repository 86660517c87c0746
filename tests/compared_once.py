"""All rows of evidence, and all pairs of them, beside what is predicted for them, computed once in a process: it takes seconds."""

from functools import cache

from ironlaw.compare import Comparison, comparisons
from ironlaw.systems.accuracy.measured_gains import MeasuredGain, measured_gains


@cache
def compared() -> tuple[Comparison, ...]:
    return tuple(comparisons())


@cache
def gains_of(slug: str, timing: str) -> list[list[MeasuredGain]]:
    return measured_gains(slug, (timing,))
