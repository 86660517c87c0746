"""Which limit a server hits, by how much, and the least change that would do."""

from __future__ import annotations

from dataclasses import replace

from ironlaw import kit
from ironlaw.engine.serving.targets import least, least_rising
from ironlaw.labs.lab_13_line.act2.server import FIXED, MANY, MOSTS, ONE, POLICIES, SOME, TIMEOUT, WAITING, Case
from ironlaw.units import significant

FULL, NEVER, ENDLESS, LATE, IDLE, WORKS = "does_not_fit", "never", "line_without_end", "too_late", "waiting_for_nothing", "works"
HOUR = 3600.0
REPLICAS = 32
SOONER = 0.95  # a P99 that much lower is worth a word


def state(case: Case) -> str:
    """The first limit that a design hits, from what no dial changes to what one does; WORKS where it hits none."""
    if not case.footprint.fits:
        return FULL
    if case.alone > case.target:
        return NEVER
    if case.load >= 1:
        return ENDLESS
    if case.outcome.p99 > case.target:
        return LATE
    if case.policy in (FIXED, TIMEOUT) and case.with_policy(WAITING).outcome.p99 < SOONER * case.outcome.p99:
        return IDLE
    return WORKS


TONES = {FULL: "fail", NEVER: "fail", ENDLESS: "fail", LATE: "fail", IDLE: "warn", WORKS: "good"}
TITLES = {
    FULL: "It does not fit", NEVER: "Never: one request alone takes longer", ENDLESS: "A line without end", LATE: "Too late",
    IDLE: "Waiting for nothing", WORKS: "It works",
}  # fmt: skip


def banner(lab: kit.Lab, case: Case) -> dict[str, object]:
    name = state(case)
    return kit.banner(TONES[name], TITLES[name], kit.html(lab.fill(f"act2.{name}", **SLOTS[name](case))))


def fixes(case: Case) -> list[str]:
    """The least of each setting that meets the target with all others as they are, in words; from fewer requests while a dial moves."""
    n = SOME if case.moving else MANY

    def meets(changed: Case) -> bool:
        return changed.load < 1 and changed.footprint.fits and changed.at(changed.rate, n).p99 <= changed.target

    words = []
    batching = replace(case, policy=WAITING) if case.policy == ONE else case
    larger = [size for size in MOSTS if size > case.taken]
    search = least if case.policy in (FIXED, TIMEOUT) else least_rising  # held back for a larger batch, requests may be later
    most = search(larger, lambda size: meets(replace(batching, most=size)))
    if most:
        words.append(f"batches of up to {most}" + (" of what waits" if case.policy == ONE else ""))
    replicas = least_rising(range(case.replicas + 1, REPLICAS + 1), lambda many: meets(replace(case, replicas=many)))
    if replicas:
        words.append(f"{replicas} replicas")
    if case.policy in (FIXED, TIMEOUT) and meets(case.with_policy(WAITING)):
        words.append(f"no timeout: take {POLICIES[WAITING]}" if case.policy == TIMEOUT else f"take {POLICIES[WAITING]}")
    return words


def _or(words: list[str]) -> str:
    if not words:
        return "nothing on these dials; take another mode, another device or fewer requests"
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])}, or {words[-1]}"


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
        "waiting": significant(waiting), "wait": kit.amount(waiting / case.capacity, "s"), "cures": _or(fixes(case)),
    }  # fmt: skip


def _late(case: Case) -> dict[str, object]:
    p99 = case.outcome.p99
    return {
        "p99": kit.amount(p99, "s"), "target": kit.amount(case.target, "s"), "over": kit.times(p99 / case.target),
        "cures": _or(fixes(case)),
    }  # fmt: skip


def _idle(case: Case) -> dict[str, object]:
    return {"p99": kit.amount(case.outcome.p99, "s"), "sooner": kit.amount(case.with_policy(WAITING).at(case.rate, MANY).p99, "s")}


def _works(case: Case) -> dict[str, object]:
    return {
        "p99": kit.amount(case.outcome.p99, "s"), "target": kit.amount(case.target, "s"),
        "headroom": significant(max(case.rate, case.headroom), 2), "load": kit.amount(100 * case.load, "%"),
    }  # fmt: skip


SLOTS = {FULL: _full, NEVER: _never, ENDLESS: _endless, LATE: _late, IDLE: _idle, WORKS: _works}
