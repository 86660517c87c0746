"""Who is in the cache at a moment, and the blocks that each holds then."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Sequence
from itertools import accumulate

from ironlaw.engine.serving.llm.cache import blocks
from ironlaw.engine.serving.llm.outcome import Moment, Stay


class Clock:
    """How many steps of decoding have begun at a moment."""

    def __init__(self, moments: Sequence[Moment]) -> None:
        self.moments = [m for m in moments if m.batch]
        self.starts = [m.at for m in self.moments]
        self.before = [0, *accumulate(m.steps for m in self.moments)]

    def steps(self, at: float) -> int:
        i = bisect_right(self.starts, at + 1e-12) - 1
        if i < 0:
            return 0
        moment = self.moments[i]
        into = (at - moment.at) / moment.seconds if moment.seconds else 1.0
        return self.before[i] + min(moment.steps, 1 + math.floor(into * moment.steps + 1e-9))


def inside(stays: Sequence[Stay], moments: Sequence[Moment], at: float, block: int, reserves: bool) -> list[tuple[Stay, int, int]]:
    """(stay, blocks that it holds, tokens of them in use) for whoever is in the cache, the longest there first.

    `reserves`: room for the whole answer was taken at once.
    """
    clock = Clock(moments)
    now = clock.steps(at)
    present = []
    for stay in stays:
        if not stay.begin <= at < stay.end:
            continue
        if at < stay.decode:
            present.append((stay, stay.held, min(stay.tokens, stay.held * block)))
            continue
        tokens = stay.tokens + max(0, now - clock.steps(stay.decode - 1e-9))
        present.append((stay, stay.held if reserves else max(stay.held, blocks(tokens, block)), tokens))
    return present
