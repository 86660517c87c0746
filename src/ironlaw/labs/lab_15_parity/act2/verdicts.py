"""Act II in one sentence: which limit a rule hits, and by how much."""

from __future__ import annotations

from ironlaw import kit
from ironlaw.labs.lab_15_parity.act2.policy import Policy
from ironlaw.labs.lab_15_parity.data import points
from ironlaw.systems.limits import fail, good, warn

MANY = 1000.0  # times the people: nobody counts further


def _percent(share: float) -> kit.Markup:
    return kit.amount(100 * share, "%")


def _kept(policy: Policy) -> dict[str, object]:
    return {"kept": _percent(policy.profit)}


def _allowed(policy: Policy) -> dict[str, object]:
    return {"within": f"{100 * policy.within:.0f}"}


def _too_few(policy: Policy) -> dict[str, object]:
    i = policy.least_accepted
    selected = _percent(policy.decision.tables[i].selected)
    return {"group": policy.groups[i].name, "selected": selected, "floor": _percent(policy.floor)}


def _names(policy: Policy) -> dict[str, object]:
    most, least = policy.luckiest
    return {"most": policy.groups[most].name, "least": policy.groups[least].name}


def _apart(policy: Policy) -> dict[str, object]:
    most, least = policy.luckiest
    return _names(policy) | {
        "tpr_most": _percent(policy.decision.tables[most].tpr), "tpr_least": _percent(policy.decision.tables[least].tpr),
        "gap": points(policy.chances.value),
    }  # fmt: skip


def _cant_tell(policy: Policy) -> dict[str, object]:
    ends = {"low": points(policy.chances.low), "high": points(policy.chances.high)}
    needed = policy.people_needed
    more = kit.times(needed) if needed < MANY else f"more than {kit.times(MANY)}"
    return _names(policy) | _allowed(policy) | ends | {"more": more}


LIMITS = (
    fail("too_few", "A group is left out", lambda policy: policy.decision.tables[policy.least_accepted].selected < policy.floor, _too_few),
    fail("too_far", "The gap is too large", lambda policy: policy.is_too_far, lambda policy: _apart(policy) | _allowed(policy)),
    fail(
        "below_floor",
        "Too little profit",
        lambda policy: policy.profit < policy.keep,
        lambda policy: _kept(policy) | {"keep": _percent(policy.keep)},
    ),
    warn("cant_tell", "Too few people to tell", lambda policy: policy.is_unsure, _cant_tell),
    good("good", "The board can defend it", lambda policy: _kept(policy) | _apart(policy)),
)
