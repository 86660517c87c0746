"""Hosts that stand by: for which share of the time a job waits because more are away than there are spares.

Hosts fail one after the other while the job runs, one in `between` seconds on average, and each is away for `away` seconds. A job that has
lost its last spare stops, and nothing fails until one is back: the same chain of states as telephone lines that turn callers away, with
one line more than spares. Erlang's formula holds for it whatever the law of the time away.
"""

from __future__ import annotations

from ironlaw.engine.device.types import check_positive
from ironlaw.engine.serving.queues import erlang_b
from ironlaw.errors import BadValue


def waiting(spares: int, between: float, away: float) -> float:
    """`waiting(0, 100, 25)` = 0.2: a fifth of the time, since 25 s of every 125 are spent without a host."""
    if isinstance(spares, bool) or not isinstance(spares, int) or spares < 0:
        raise BadValue(f"spares is {spares!r}; give a whole number of hosts, 0 for none", "spares")
    check_positive("between", between)
    if not away >= 0:
        raise BadValue(f"away is {away!r}; give seconds, 0 where a host is replaced at once", "away")
    return erlang_b(spares + 1, away / between) if away else 0.0
