"""Which limit a server hits, by how much, and the least change that would do."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from ironlaw import kit
from ironlaw.engine.serving.targets import least, least_rising
from ironlaw.labs.lab_13_line.act2.server import FIXED, LONG, MANY, MOSTS, ONE, REPLICAS, SOME, TIMEOUT, WAITING, Case
from ironlaw.labs.policies import POLICIES
from ironlaw.systems.limits import either, fail, good, warn
from ironlaw.units import significant

HOUR = 3600.0
Change = Callable[[int], Case]
SOONER = 0.95  # a P99 that much lower is worth a word


def fixes(case: Case) -> dict[str, Case]:
    """Words -> the least of each setting that meets the target with all others as they are; from fewer requests while a dial moves."""
    quick, sure = (SOME, SOME) if case.moving else (MANY, LONG)

    def meets(changed: Case, n: int = sure) -> bool:
        return changed.load < 1 and changed.footprint.fits and changed.at(changed.rate, n).p99 <= changed.target

    def found(search: Callable[[Sequence[int], Callable[[int], bool]], int | None], options: Sequence[int], change: Change) -> int | None:
        """Searched with short runs, and held against the long one that the learner would then see."""
        value = search(options, lambda one: meets(change(one), quick))
        return least([one for one in options if value and one >= value], lambda one: meets(change(one)))

    ways: dict[str, Case] = {}
    batching = replace(case, policy=WAITING) if case.policy == ONE else case
    larger = [size for size in MOSTS if size > case.taken]
    search = least if case.policy in (FIXED, TIMEOUT) else least_rising  # held back for a larger batch, requests may be later
    most = found(search, larger, lambda size: replace(batching, most=size))
    if most:
        ways[f"batches of up to {most}" + (" of what waits" if case.policy == ONE else "")] = replace(batching, most=most)
    replicas = found(least_rising, range(case.replicas + 1, REPLICAS + 1), lambda many: replace(case, replicas=many))
    if replicas:
        ways[f"{replicas} replicas"] = replace(case, replicas=replicas)
    if case.policy in (FIXED, TIMEOUT) and meets(case.with_policy(WAITING)):
        taken = f"take {POLICIES[WAITING]}"
        ways[f"no timeout: {taken}" if case.policy == TIMEOUT else taken] = case.with_policy(WAITING)
    return ways


def _any_of(case: Case) -> str:
    return either(list(fixes(case)), "nothing on these dials; take another mode, another device or fewer requests")


def _full(case: Case) -> dict[str, object]:
    fits = [size for size in MOSTS if replace(case, most=size).footprint.fits]
    cure = f"a batch of at most {fits[-1]}" if fits else "a device with more memory"
    return {
        "most": case.taken, "required": kit.amount(float(case.footprint.total), "B"),
        "available": kit.dress(kit.capacity(float(case.footprint.usable))), "cure": cure,
    }  # fmt: skip


def _never(case: Case) -> dict[str, object]:
    return {"alone": kit.amount(case.alone, "s"), "target": kit.amount(case.target, "s")}


def _endless(case: Case) -> dict[str, object]:
    waiting = case.growth * HOUR
    return {
        "rate": significant(case.rate), "capacity": significant(case.capacity), "growth": significant(case.growth),
        "waiting": significant(waiting), "wait": kit.amount(waiting / case.capacity, "s"), "cures": _any_of(case),
    }  # fmt: skip


def _late(case: Case) -> dict[str, object]:
    p99 = case.outcome.p99
    return {
        "p99": kit.amount(p99, "s", case.digits), "target": kit.amount(case.target, "s"), "over": kit.times(p99 / case.target, case.digits),
        "cures": _any_of(case),
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
    fail("never", "Never: one request alone takes longer", lambda case: case.alone > case.target, _never),
    fail("line_without_end", "A line without end", lambda case: case.load >= 1, _endless),
    fail("too_late", "Too late", lambda case: case.outcome.p99 > case.target, _late),
    warn("waiting_for_nothing", "Waiting for nothing", _held_back, _idle),
    good("works", "It works", _works),
)
