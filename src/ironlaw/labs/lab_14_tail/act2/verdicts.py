"""What Act II says about a design: four ways to fail, what holds, and notes."""

from __future__ import annotations

from typing import Any

from ironlaw import kit
from ironlaw.kit.context import the
from ironlaw.labs.lab_14_tail import work
from ironlaw.labs.lab_14_tail.act2 import fleet
from ironlaw.labs.lab_14_tail.act2.fleet import MOVING, OFF, PAUSED, PAUSED_MOVING, SHARDS, Fleet
from ironlaw.systems.limits import fail, good, hit, warn
from ironlaw.units import significant

LITTLE = 0.05  # of the page's P99: hedging that gains less is not worth its copies
LEVELS = {"faster": 5.0, "same": 5.0, "slower": 5.25, "stuck": 100.0}  # late requests that each answer expects, in percent


def _s(value: float) -> str:
    return kit.amount(value, "s")


def _percentile(set_at: Fleet) -> str:
    return f"P{significant(100 * set_at.leaf_quantile, 6)}"


def _stuck(set_at: Fleet) -> dict[str, object]:
    most = 1.0 if set_at.limit is None else min(1.0, set_at.limit)
    return {"worst": kit.amount(100 * set_at.rho * (1 + most), "%")}


def _unknown(set_at: Fleet) -> dict[str, object]:
    return {"percentile": _percentile(set_at), "n": f"{set_at.n:,}", "needed": f"{set_at.needed:,}"}


def _late(set_at: Fleet) -> dict[str, object]:
    return {
        "p99": _s(set_at.page_p99), "target": _s(set_at.target), "over": kit.times(set_at.page_p99 / set_at.target),
        "percentile": _percentile(set_at), "leaf": _s(set_at.leaf_p99),
    }  # fmt: skip


def _gains(set_at: Fleet) -> dict[str, object]:
    return {"plain": _s(set_at.plain_p99), "extra": kit.amount(100 * set_at.copies, "%")}


def _works(set_at: Fleet) -> dict[str, object]:
    return {"p99": _s(set_at.page_p99), "target": _s(set_at.target), "room": _s(set_at.target - set_at.page_p99)}


LIMITS = (
    fail("stuck", "It can get stuck", fleet.is_stuck, _stuck),
    fail("unknown", "Too few requests to know", lambda set_at: not set_at.known, _unknown),
    fail("late", "Pages are too slow", lambda set_at: not set_at.in_time, _late),
    warn(
        "wasted",
        "Paid for nothing",
        lambda set_at: set_at.hedge != OFF and set_at.gain < LITTLE,
        lambda set_at: {"p99": _s(set_at.page_p99), **_gains(set_at)},
    ),
    good("works", "Pages are in time", _works),
)


def banner(lab: kit.Lab, set_at: Fleet) -> dict[str, Any]:
    limit = hit(LIMITS, set_at)
    said = [lab.fill(f"act2.{limit.name}", **limit.slots(set_at))]
    if limit.name == "stuck" and not set_at.moving:
        said.append(_tips(lab, set_at))
    if limit.name == "works" and set_at.hedge != OFF:
        said.append(lab.fill("act2.gains", **_gains(set_at)))
    return kit.banner(limit.tone, limit.title, kit.html(" ".join(said)))


def _tips(lab: kit.Lab, set_at: Fleet) -> str:
    """Whether the simulated run got there."""
    if not set_at.tipped:
        return lab.fill("act2.stuck_none", longest=_s(set_at.pause))
    return lab.fill("act2.stuck_pause", pause=_s(set_at.pause)) if set_at.pause else lab.fill("act2.stuck_itself")


def prediction(lab: kit.Lab) -> tuple[str, float | None]:
    """What the learner said, for the picture over time, and the share of late requests that it expects."""
    option = lab.choice("act2")
    return (lab.words[f"act2.place.{option.id}"], LEVELS[option.id]) if option else ("", None)


def notes(lab: kit.Lab, set_at: Fleet) -> str:
    paragraphs = []
    if set_at.moving:
        paragraphs.append(lab.fill("act2.moving", moving=f"{MOVING:,}"))
    paused, paused_shards = PAUSED_MOVING if set_at.moving else PAUSED
    paragraphs.append(lab.fill("act2.simulated", paused=f"{paused:,}", paused_shards=f"{paused_shards}"))
    if set_at.law is None:
        paragraphs.append(lab.fill("act2.simulated_day", n=f"{set_at.counted:,}", shards=f"{SHARDS}"))
    elif set_at.hedge != OFF:
        paragraphs.append(lab.fill("act2.large_fleet"))
    if set_at.hedge != OFF:
        paragraphs.append(lab.fill("act2.delay", quantile=f"P{significant(100 * set_at.quantile, 4)}", delay=_s(set_at.delay)))
    paragraphs.append(lab.fill("act2.work", device=the(lab.current_context), image=_s(work.seconds(lab)), now=_s(set_at.service)))
    return kit.html("\n\n".join(paragraphs))
