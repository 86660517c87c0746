"""Saves at two places: often nearby, rarely far away. Most failures leave the near copy whole, the others go back to the far one.

A period is `count` stretches of work: after each a near save, after the last a far one. Failures are a Poisson process, in restarts too.
With E_i the expected time from stretch i to the end of the period, E_i = a + q·E_{i+1} + (1 − q)·(p·N_i + (1 − p)·F), where q is the chance
of a stretch without a failure, N_i a restart from the near copy and F one from the far copy: linear in E_0, in closed form. Seconds.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from ironlaw.engine.cluster.failures import Level, Shares
from ironlaw.engine.device.types import check_positive
from ironlaw.errors import BadValue

HOPELESS = 25.0  # mean times between failures without a break: e^-25 of the tries
NEVER = 1e-12  # chance of ever getting through a period that counts as none


@dataclass(frozen=True, slots=True)
class Period:
    """`interval`: work between two saves. `lag`: how long after a far save began it can be counted on; what falls in it is done again."""

    count: int
    interval: float
    near: Level
    far: Level
    survives: float
    between: float
    lag: float = 0.0

    def __post_init__(self) -> None:
        if self.count < 1 or not 0.0 <= self.survives <= 1.0:
            raise BadValue(
                f"the period has {self.count!r} stretches and the share of failures is {self.survives!r}; give at least 1, and 0 to 1"
            )
        check_positive("interval", self.interval)
        check_positive("mean time between failures", self.between)

    @property
    def longest(self) -> float:
        """What must pass without a failure, at the most."""
        return max(self.interval + max(self.near.save, self.far.save), self.near.restart, self.far.restart + self.lag)


def goodput(period: Period) -> Shares:
    """The share of the time that is work which lasts, and where the rest goes."""
    if period.longest / period.between > HOPELESS:
        return Shares(0.0, 0.0, 0.0, 1.0)
    whole = _expected(period, running=1.0, restarting=1.0, catching_up=1.0)
    if math.isinf(whole):
        return Shares(0.0, 0.0, 0.0, 1.0)
    work = period.count * period.interval / whole
    writing = ((period.count - 1) * period.near.save + period.far.save) / whole
    restart = _expected(period, running=0.0, restarting=1.0, catching_up=0.0) / whole
    return Shares(work, writing, restart, 1.0 - work - writing - restart)


def waste(period: Period) -> float:
    """The share of the wall time that is wasted, to first order: δ₁/τ₁ + δ₂/τ₂ + (p·(τ₁/2 + R₁) + (1 − p)·(τ₂/2 + R₂))/M."""
    near, far, p = period.near, period.far, period.survives
    far_every = period.count * period.interval
    writing = (near.save / period.interval if period.count > 1 else 0.0) + far.save / far_every
    back = p * (period.interval / 2 + near.restart) + (1 - p) * (far_every / 2 + far.restart + period.lag)
    return writing + back / period.between


def _expected(period: Period, running: float, restarting: float, catching_up: float) -> float:
    """Expected cost of a period, a second of each kind at its price."""
    mean, p = period.between, period.survives

    def stay(seconds: float) -> float:
        return math.exp(-seconds / mean)

    near_q = stay(period.near.restart)
    near_a = restarting * mean * (1.0 - near_q)
    # from the far copy to the first stretch: starting, then doing again what the far copy did not have; both may be cut short
    far_s = period.far.restart + period.lag
    share = period.far.restart / far_s if far_s else 1.0
    price = restarting * share + catching_up * (1.0 - share)
    far_cost = price * mean * math.expm1(far_s / mean)
    again = 1.0 - (1.0 - near_q) * p  # N_i = (near_a + near_q·E_i + (1 − near_q)(1 − p)·F) / again

    def coefficients(seconds: float) -> tuple[float, float, float, float]:
        """A stretch: E_i = fixed + rate·E_{i+1} + drop·E_0; and 1 − rate, which must not cancel."""
        q, back = stay(seconds), -math.expm1(-seconds / mean)
        to_far = back * (1.0 - p) / again
        left = 1.0 - back * p * near_q / again
        fixed = running * mean * back + back * p * near_a / again + to_far * far_cost
        return fixed / left, q / left, to_far / left, back * (1.0 - p * near_q / again) / left

    alpha, _, beta, _ = coefficients(period.interval + period.far.save)  # E_i = alpha + beta·E_0
    steps = period.count - 1
    if steps:
        fixed, rate, drop, short = coefficients(period.interval + period.near.save)
        kept = math.exp(steps * math.log(rate)) if rate > 0.0 else 0.0
        many = (1.0 - kept) / short if short * steps > 1e-9 else float(steps)  # 1 + rate + rate² + …
        alpha, beta = fixed * many + kept * alpha, drop * many + kept * beta
    return alpha / (1.0 - beta) if 1.0 - beta > NEVER else math.inf


def levels(copying: float, drain: float, pause: float, start: float, drains: bool) -> tuple[Level, Level]:
    """(near, far): what a save stops the job for, and what a restart takes. `copying`: to the host's memory or back; `drain`: to the file
    system or back; `drains`: the job goes on while a far save is stored; `start`: until a job that failed begins to read."""
    snapshot = pause + copying
    return Level(snapshot, start + copying), Level(snapshot if drains else pause + drain, start + drain)


def period(near: Level, far: Level, near_every: float, far_every: float, survives: float, between: float, lag: float = 0.0) -> Period:
    """As many near saves as fit between two far ones, or the far one alone where `near_every` is no shorter: infinite without any.
    `lag`: seconds until a far save is stored after it was taken."""
    count = max(1, round(far_every / near_every)) if near_every < far_every else 1
    return Period(count, far_every / count, near, far, survives, between, lag)
