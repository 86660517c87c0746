"""Act II's task: what a design is held to, and the dials that it may use."""

from __future__ import annotations

from ironlaw import kit
from ironlaw.labs.lab_15_parity.act2.instrument import policy_of
from ironlaw.labs.lab_15_parity.act2.policy import Policy
from ironlaw.labs.lab_15_parity.act2.verdicts import LIMITS

GOAL = kit.Goal(policy_of, LIMITS, ("rule", "window"))


def task(lab: kit.Lab) -> dict[str, object]:
    return {"within": f"{100 * Policy.within:.0f}", "keep": kit.amount(100 * Policy.keep, "%")}
