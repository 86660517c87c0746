"""What Act II says about a design: four ways to fail, what holds, and notes."""

from __future__ import annotations

from typing import Any

from ironlaw import kit
from ironlaw.engine.serving.hedging import largest_budget
from ironlaw.kit.context import the
from ironlaw.labs.lab_13_line.act2.server import POLICIES
from ironlaw.labs.lab_14_tail import work
from ironlaw.labs.lab_14_tail.act2 import fleet
from ironlaw.labs.lab_14_tail.act2.fleet import MOVING, OFF, PAUSED, PAUSED_MOVING, SHARDS, Fleet
from ironlaw.units import significant

STUCK, UNKNOWN, LATE, WASTED, WORKS = "stuck", "unknown", "late", "wasted", "works"
FAILURES = (STUCK, UNKNOWN, LATE)
TITLES = {
    STUCK: "It can get stuck", UNKNOWN: "Not known", LATE: "Pages are too late", WASTED: "Paid for nothing", WORKS: "Pages are in time",
}  # fmt: skip
TONES = {STUCK: "fail", UNKNOWN: "fail", LATE: "fail", WASTED: "warn", WORKS: "good"}
LITTLE = 0.05  # of the page's P99: hedging that gains less is not worth its copies
LEVELS = {"faster": 5.0, "same": 5.0, "slower": 5.25, "stuck": 100.0}  # late requests that each answer expects, in percent


def state(set_at: Fleet) -> str:
    if fleet.is_stuck(set_at):
        return STUCK
    if not set_at.known:
        return UNKNOWN
    if not set_at.in_time:
        return LATE
    return WASTED if set_at.hedge != OFF and set_at.gain < LITTLE else WORKS


def banner(lab: kit.Lab, set_at: Fleet) -> dict[str, Any]:
    now = state(set_at)
    says = {STUCK: _stuck, UNKNOWN: _unknown, LATE: _late, WASTED: _wasted, WORKS: _works}[now]
    return kit.banner(TONES[now], TITLES[now], kit.html(says(lab, set_at)))


def _ms(value: float) -> str:
    return kit.amount(value, "s")


def _stuck(lab: kit.Lab, set_at: Fleet) -> str:
    most = 1.0 if set_at.limit is None else min(1.0, set_at.limit)
    slots = {"worst": kit.amount(100 * set_at.rho * (1 + most), "%"), "budget": kit.amount(100 * largest_budget(set_at.rho), "%")}
    text = lab.fill("act2.stuck", **slots)
    if set_at.moving:
        return text
    pause = fleet.tipping_pause(set_at)
    if pause is None:
        return text + " " + lab.fill("act2.stuck_none", longest=_ms(fleet.PAUSES[-1]))
    return text + " " + (lab.fill("act2.stuck_pause", pause=_ms(pause)) if pause else lab.fill("act2.stuck_itself"))


def _unknown(lab: kit.Lab, set_at: Fleet) -> str:
    return lab.fill(
        "act2.unknown", percentile=f"P{significant(100 * set_at.leaf_quantile, 6)}", n=f"{set_at.n:,}", needed=f"{set_at.needed:,}"
    )


def _late(lab: kit.Lab, set_at: Fleet) -> str:
    slots = {
        "p99": _ms(set_at.page_p99), "target": _ms(set_at.target), "over": kit.times(set_at.page_p99 / set_at.target),
        "percentile": f"P{significant(100 * set_at.leaf_quantile, 6)}", "leaf": _ms(set_at.leaf_p99),
    }  # fmt: skip
    return lab.fill("act2.late", **slots)


def _wasted(lab: kit.Lab, set_at: Fleet) -> str:
    return lab.fill("act2.wasted", p99=_ms(set_at.page_p99), plain=_ms(set_at.plain_p99), extra=kit.amount(100 * set_at.run.extra, "%"))


def _works(lab: kit.Lab, set_at: Fleet) -> str:
    text = lab.fill("act2.works", p99=_ms(set_at.page_p99), target=_ms(set_at.target), room=_ms(set_at.target - set_at.page_p99))
    if set_at.hedge == OFF:
        return text
    return text + " " + lab.fill("act2.gains", plain=_ms(set_at.plain_p99), extra=kit.amount(100 * set_at.run.extra, "%"))


def prediction(lab: kit.Lab) -> tuple[str, float | None]:
    """What the learner said, for the picture over time, and the share of late requests that it expects."""
    option = lab.choice("act2")
    return (lab.words[f"act2.place.{option.id}"], LEVELS[option.id]) if option else ("", None)


def notes(lab: kit.Lab, set_at: Fleet, lab_13: dict[str, Any] | None) -> str:
    paragraphs = []
    if set_at.moving:
        paragraphs.append(lab.fill("act2.moving", moving=f"{MOVING:,}"))
    paused, paused_shards = PAUSED_MOVING if set_at.moving else PAUSED
    slots = {"n": f"{set_at.counted:,}", "shards": f"{SHARDS}", "paused": f"{paused:,}", "paused_shards": f"{paused_shards}"}
    paragraphs.append(lab.fill("act2.simulated", **slots))
    if set_at.hedge != OFF:
        paragraphs.append(lab.fill("act2.delay", quantile=f"P{significant(100 * set_at.quantile, 4)}", delay=_ms(set_at.delay)))
    paragraphs.append(lab.fill("act2.work", device=the(lab.current_context), image=_ms(work.seconds(lab)), now=_ms(set_at.service)))
    paragraphs.append(_start(lab, lab_13))
    return kit.html("\n\n".join(paragraphs))


def _start(lab: kit.Lab, lab_13: dict[str, Any] | None) -> str:
    if lab_13 is None:
        return lab.fill("act2.no_lab_13")
    slots = {
        "rate": significant(float(lab_13.get("rate") or 0)), "load": kit.amount(100 * lab_13["load"], "%"),
        "policy": POLICIES.get(str(lab_13.get("policy")), "a policy of its own"),
    }  # fmt: skip
    return lab.fill("act2.from_lab_13", **slots)
