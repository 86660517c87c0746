"""Act II in one sentence: which limit a rule hits, and what would help."""

from __future__ import annotations

import math

from ironlaw import kit
from ironlaw.labs.lab_15_parity.act2.policy import FIFTHS, Policy
from ironlaw.labs.lab_15_parity.data import SPEECH, points
from ironlaw.registry.scored_groups import CREDIT
from ironlaw.systems.limits import fail, good, warn

RATES = SPEECH[CREDIT].rates


def _kept(policy: Policy) -> dict[str, object]:
    return {"kept": kit.amount(100 * policy.profit, "%")}


def _selected(policy: Policy) -> dict[str, object]:
    return _kept(policy) | {"ratio": kit.dress(f"{policy.selection_ratio:.2f}")}


def _within(policy: Policy) -> dict[str, object]:
    return {"within": f"{100 * policy.within:.0f}"}


def _impossible(policy: Policy) -> dict[str, object]:
    least = "no threshold accepts so many" if math.isinf(policy.least) else f"{points(policy.least)} points"
    return _within(policy) | {"floor": kit.amount(100 * policy.floor, "%"), "least": least}


def _below_floor(policy: Policy) -> dict[str, object]:
    return _kept(policy) | {"keep": kit.amount(100 * policy.keep, "%")}


def _too_far(policy: Policy) -> dict[str, object]:
    rate = max(policy.too_far, key=lambda name: abs(policy.gaps[name].value))
    return _within(policy) | {"rate": RATES[rate].lower(), "gap": points(abs(policy.gaps[rate].value))}


def _cant_tell(policy: Policy) -> dict[str, object]:
    rate = policy.unsure[0]
    gap = policy.gaps[rate]
    ends = {"low": points(gap.low), "high": points(gap.high)}
    return _within(policy) | {"rate": RATES[rate].lower(), **ends, "more": kit.times(policy.people_needed)}


LIMITS = (
    fail("impossible", "Not all three", lambda policy: policy.least > policy.within, _impossible),
    fail("below_floor", "Below the floor", lambda policy: policy.profit < policy.keep, _below_floor),
    fail("four_fifths", "Four fifths", lambda policy: policy.selection_ratio < FIFTHS, _selected),
    fail("too_far", "Too far apart", lambda policy: bool(policy.too_far), _too_far),
    warn("cant_tell", "Can't tell", lambda policy: bool(policy.unsure), _cant_tell),
    good("good", "It can be defended", _selected),
)
