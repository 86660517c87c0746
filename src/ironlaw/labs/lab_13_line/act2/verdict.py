"""Which limit a server hits, by how much, and the least change that would do."""

from __future__ import annotations

from ironlaw import kit
from ironlaw.labs.lab_13_line.act2.server import FIXED, TIMEOUT, WAITING, Case
from ironlaw.systems.limits import fail, good, warn
from ironlaw.units import significant

HOUR = 3600.0
SOONER = 0.95  # a P99 that much lower is worth a word


def _full(case: Case) -> dict[str, object]:
    return {
        "most": case.taken, "required": kit.amount(float(case.footprint.total), "B"),
        "available": kit.dress(kit.capacity(float(case.footprint.usable))),
    }  # fmt: skip


def _never(case: Case) -> dict[str, object]:
    return {"alone": kit.amount(case.alone, "s"), "target": kit.amount(case.target, "s")}


def _endless(case: Case) -> dict[str, object]:
    waiting = case.growth * HOUR
    return {
        "rate": significant(case.rate), "capacity": significant(case.capacity), "growth": significant(case.growth),
        "waiting": significant(waiting), "wait": kit.amount(waiting / case.capacity, "s"),
    }  # fmt: skip


def _late(case: Case) -> dict[str, object]:
    p99 = case.outcome.p99
    return {
        "p99": kit.amount(p99, "s", case.digits), "target": kit.amount(case.target, "s"), "over": kit.times(p99 / case.target, case.digits),
    }  # fmt: skip


def _idle(case: Case) -> dict[str, object]:
    sooner = case.with_policy(WAITING)
    return {"p99": kit.amount(case.outcome.p99, "s", case.digits), "sooner": kit.amount(sooner.outcome.p99, "s", sooner.digits)}


def _works(case: Case) -> dict[str, object]:
    return {
        "p99": kit.amount(case.outcome.p99, "s", case.digits), "target": kit.amount(case.target, "s"),
        "headroom": significant(max(case.rate, case.headroom), 2), "load": kit.amount(100 * case.load, "%"),
    }  # fmt: skip


def _held_back(case: Case) -> bool:
    return case.policy in (FIXED, TIMEOUT) and case.with_policy(WAITING).outcome.p99 < SOONER * case.outcome.p99


# from what no dial changes to what one does
LIMITS = (
    fail("does_not_fit", "It does not fit", lambda case: not case.footprint.fits, _full),
    fail("never", "Even one request alone is too slow", lambda case: case.alone > case.target, _never),
    fail("line_without_end", "The queue never stops growing", lambda case: case.load >= 1, _endless),
    fail("too_late", "Too slow", lambda case: case.outcome.p99 > case.target, _late),
    warn("waiting_for_nothing", "Waiting for nothing", _held_back, _idle),
    good("works", "It works", _works),
)
