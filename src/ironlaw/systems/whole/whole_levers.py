"""What one more of each thing would bring: the tornado of a system, and its best lever."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import lru_cache

from ironlaw.engine import levers
from ironlaw.engine.levers import Bar
from ironlaw.systems.whole.design import Design, Faster
from ironlaw.systems.whole.report import evaluate

CHANGE = 0.1
ALL = ("flops", "hbm", "nvlink", "nics", "mtbf", "host", "storage")
ASKED = ("flops", "hbm", "nics", "mtbf")  # those that the question offers
ONE = dict.fromkeys(ALL, 1.0)


def days(design: Design, times: Mapping[str, float]) -> float:
    """Days to train with so many times as much of each."""
    return evaluate(design, Faster(**times)).values["days"]


@lru_cache(maxsize=256)
def tornado(design: Design) -> tuple[Bar, ...]:
    """Days to train with a tenth more and less of each thing, the widest first."""
    return tuple(levers.tornado(lambda times: days(design, times), ONE, CHANGE, between=True))


@lru_cache(maxsize=256)
def best(design: Design, names: Iterable[str] = ASKED) -> str:
    """The input of which a tenth more shortens the run most."""
    return levers.best(lambda times: days(design, times), ONE, tuple(names), CHANGE)


def lever(design: Design, name: str) -> float:
    """Percent more days for one percent more of it."""
    return next(bar.lever for bar in tornado(design) if bar.name == name)
