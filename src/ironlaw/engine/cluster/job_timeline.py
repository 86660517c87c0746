"""A job that fails at given moments, stretch by stretch: useful work, saves, work that is lost, restarts.

For what no formula covers (failures that are not a Poisson process), and to be drawn.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from ironlaw.engine.cluster.failures import Shares
from ironlaw.engine.device.types import check_positive


class Stretch(NamedTuple):
    """`kind`: "work" that a save has made last, "save", "lost" (work and saves that a failure undid), or "restart"."""

    kind: str
    start: float
    end: float


def strip(moments: Iterable[float], interval: float, save: float, restart: float, span: float) -> Iterator[Stretch]:
    """What a job does up to `span`. A restart may be cut short by the next failure; what is not saved at the end counts as lost."""
    check_positive("interval", interval)
    check_positive("span", span)
    now = 0.0
    first = True
    for moment in (*moments, span):
        until = min(moment, span)
        if not first:
            up = min(now + restart, until)
            if up > now:
                yield Stretch("restart", now, up)
            now = up
        while now + interval + save <= until:
            yield Stretch("work", now, now + interval)
            if save:
                yield Stretch("save", now + interval, now + interval + save)
            now += interval + save
        if until > now:
            yield Stretch("lost", now, until)
        now, first = until, False
        if now >= span:
            return


def shares(stretches: Iterable[Stretch]) -> Shares:
    """Where the time of a strip went."""
    spent = {"work": 0.0, "save": 0.0, "restart": 0.0, "lost": 0.0}
    for stretch in stretches:
        spent[stretch.kind] += stretch.end - stretch.start
    total = sum(spent.values())
    return Shares(*(spent[kind] / total for kind in ("work", "save", "restart", "lost")))
