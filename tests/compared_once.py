"""All rows of evidence beside what is predicted for them, computed once in a process: it takes seconds."""

from functools import cache

from ironlaw.compare import Comparison, comparisons


@cache
def compared() -> tuple[Comparison, ...]:
    return tuple(comparisons())
