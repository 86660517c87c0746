"""Act II in one sentence: which limit a rule hits, and what would help."""

from __future__ import annotations

import math
from typing import Any

from ironlaw import kit
from ironlaw.labs.lab_15_parity.act2.policy import BELOW_FLOOR, CANT_TELL, FOUR_FIFTHS, GOOD, IMPOSSIBLE, TOO_FAR, Policy
from ironlaw.labs.lab_15_parity.data import SPEECH, points
from ironlaw.registry.scored_groups import CREDIT

RATES = SPEECH[CREDIT].rates
TITLES = {
    IMPOSSIBLE: "Not all three",
    BELOW_FLOOR: "Below the floor",
    FOUR_FIFTHS: "Four fifths",
    TOO_FAR: "Too far apart",
    CANT_TELL: "Can't tell",
    GOOD: "It can be defended",
}
TONES = {CANT_TELL: "warn", GOOD: "good"}


def banner(lab: kit.Lab, policy: Policy) -> dict[str, Any]:
    kept = kit.amount(100 * policy.profit, "%")
    if policy.state == IMPOSSIBLE:
        least = "no threshold accepts so many" if math.isinf(policy.least) else f"{points(policy.least)} points"
        text = lab.fill("act2.impossible", within=f"{100 * policy.within:.0f}", floor=kit.amount(100 * policy.floor, "%"), least=least)
    elif policy.state == BELOW_FLOOR:
        text = lab.fill("act2.below_floor", kept=kept, keep=kit.amount(100 * policy.keep, "%"))
    elif policy.state == FOUR_FIFTHS:
        text = lab.fill("act2.four_fifths", ratio=kit.dress(f"{policy.selection_ratio:.2f}"), kept=kept)
    elif policy.state == TOO_FAR:
        rate = max(policy.too_far, key=lambda name: abs(policy.gaps[name].value))
        text = lab.fill(
            "act2.too_far", rate=RATES[rate].lower(), gap=points(abs(policy.gaps[rate].value)), within=f"{100 * policy.within:.0f}"
        )
    elif policy.state == CANT_TELL:
        gap = policy.gaps[policy.unsure[0]]
        slots = {"rate": RATES[policy.unsure[0]].lower(), "low": points(gap.low), "high": points(gap.high)}
        text = lab.fill("act2.cant_tell", **slots, within=f"{100 * policy.within:.0f}", more=kit.times(policy.people_needed))
    else:
        text = lab.fill("act2.good", kept=kept, ratio=kit.dress(f"{policy.selection_ratio:.2f}"))
    return kit.banner(TONES.get(policy.state, "fail"), TITLES[policy.state], kit.html(text))
