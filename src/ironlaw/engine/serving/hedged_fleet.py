"""Hedging in a fleet of very many shards, without a draw: where the copies of all others arrive evenly and at random, each shard is a line
of its own, and the two shards that hold a request know nothing of each other.

Without calling back, a shard sees ρ(1 + c) for c copies per request, and c is the share that is late at that load: the least solution is
where a fleet settles that was never disturbed. What a pause does to it is for a run (`hedging_run`).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import pairwise

from ironlaw.engine.device.types import check_positive
from ironlaw.engine.serving.laws import Law
from ironlaw.engine.serving.queues import Tail, Wait
from ironlaw.errors import BadValue

ROUNDS = 2_000  # of a search for a load that makes itself
NEAR = 1e-8
STEPS = 500  # of a line of times
FAR = 8.0  # mean times of a call beyond the delay at which that line ends: no two are as late


@dataclass(frozen=True)
class HedgedFleet(Law):
    """The first answer, in units of the mean service. `calls`: how long a call takes that nobody calls back. `granted`: of the late, how
    many get a copy. Where the line grows without end nothing is ever answered, and every quantile is infinite."""

    load: float
    delay: float
    budget: float | None
    granted: float
    busy: float
    calls: Tail = field(repr=False, compare=False)

    @property
    def copies(self) -> float:
        """Copies per request."""
        return self.granted * self.calls(self.delay)

    @property
    def fails(self) -> float:
        return 0.0 if self.busy < 1 else 1.0

    def tail(self, t: float) -> float:
        """The chance that both copies are late, or the only one."""
        alone = self.calls(t)
        return alone if t < self.delay else alone * (1 - self.granted * (1 - self.calls(t - self.delay)))


def hedged_fleet(load: float, delay: float, budget: float | None, line: Callable[[float, float], Wait]) -> HedgedFleet:
    """Copies after `delay` services, at most `budget` per request, never called back; `line`: of one shard, such as `mm1`."""
    _check(load, delay, budget)
    most = 1.0 if budget is None else min(1.0, budget)
    copies = 0.0
    for _ in range(ROUNDS):
        busy = load * (1 + copies)
        if busy >= 1:
            return HedgedFleet(load, delay, budget, 1.0, 1.0, lambda t: 1.0)
        calls = line(busy, 1.0).tail
        late = calls(delay)
        more = min(late, most)
        if more - copies <= NEAR * more:
            break
        copies = more
    return HedgedFleet(load, delay, budget, more / late if late else 1.0, busy, calls)


@lru_cache(maxsize=32)
def cancelling_fleet(load: float, delay: float, steps: int = STEPS) -> HedgedFleet:
    """Every late request gets a copy, and whichever loses stops at once; exponential service.

    A call that would begin after v occupies its shard until it ends or the other one answers, so what waits at a shard has the density
    f(v) = (1 − ρ) · a(v) · exp(∫a − v), where a(v) counts who still wants an answer then: a request before its delay, a request whose copy
    is not answered, a copy whose request is not. Those are the calls' own times, so the law is put in until it comes out.
    """
    _check(load, delay, None)
    end = delay + FAR / (1 - load)
    late = round(steps * delay / end)  # steps to the delay, which lies on one
    step = delay / late if late else end / steps
    over = [math.exp(-(1 - load) * step * i) for i in range(steps + 1)]  # of a call, as without copies
    for _ in range(ROUNDS):
        last, over = over, _calls(load, over, late, step)
        if max(abs(a - b) for a, b in zip(last, over, strict=True)) < NEAR:
            break

    def calls(t: float) -> float:
        i, part = divmod(max(t, 0.0) / step, 1.0)
        return over[int(i)] + part * (over[int(i) + 1] - over[int(i)]) if i < steps else over[-1]

    return HedgedFleet(load, delay, None, 1.0, load, calls)


def _calls(load: float, others: list[float], late: int, step: float) -> list[float]:
    """P(call > t) on the line, where the calls of the other shards are as `others` says; `late`: steps to the delay."""
    after = others[late:] + [0.0] * late  # a copy's request takes longer than this
    before = [1.0] * late + others[: len(others) - late]  # nobody has answered a request by then
    wanted = [load * (a + b) for a, b in zip(before, after, strict=True)]
    waits, summed = [wanted[0]], 0.0
    for i, (last, now) in enumerate(pairwise(wanted), 1):
        summed += step * (last + now) / 2
        waits.append(now * math.exp(summed - step * i))
    pieces = [step * (a + b) / 2 for a, b in pairwise(waits)]
    idle = 1 / (1 + math.fsum(pieces))
    waiting = math.fsum(pieces)
    fade = math.exp(-step)
    new = 1 - (1 - fade) / step  # of a wait that ends between two points, by which of them it is nearer to: still in service at the second
    old = 1 - fade - new
    serving, calls = 1.0, [1.0]
    for piece, (last, now) in zip(pieces, pairwise(waits), strict=True):
        waiting -= piece
        serving = serving * fade + last * old + now * new
        calls.append(idle * (max(waiting, 0.0) + serving))
    return calls


def _check(load: float, delay: float, budget: float | None) -> None:
    check_positive("the delay before a copy", delay, zero=True)
    if budget is not None:
        check_positive("budget", budget, zero=True)
    if not 0 < load < 1:
        raise BadValue(
            f"the fleet's utilisation is {load!r}; give a share between 0 and 1, because at 1 the queue grows even without copies"
        )
