"""How near three rates can come to each other in two groups at once, by any pair of thresholds that flags enough of both; and how good a
score must be for one of them."""

from __future__ import annotations

import math
from functools import lru_cache

from ironlaw.engine.parity.curves import Group
from ironlaw.engine.serving.tails import normal_quantile
from ironlaw.errors import BadValue


@lru_cache(maxsize=128)
def least_gap(one: Group, other: Group, floor: float = 0.0) -> float:
    """The smallest possible largest gap of FPR, FNR and PPV. `floor`: the share of each group that is flagged at least; without one,
    flagging hardly anybody brings all three together. inf where no threshold flags so many."""
    if not 0.0 <= floor < 1.0:
        raise BadValue(f"the floor is {floor!r}; give a share from 0 to below 1")
    sides = [[(t.fpr, t.fnr, t.ppv) for t in group.tables if t.selected >= max(floor, 1e-12)] for group in (one, other)]
    least = math.inf
    for fpr, fnr, ppv in sides[0]:
        for fpr_b, fnr_b, ppv_b in sides[1]:
            if abs(fpr - fpr_b) < least and abs(fnr - fnr_b) < least:
                least = min(least, max(abs(fpr - fpr_b), abs(fnr - fnr_b), abs(ppv - ppv_b)))
    return least


def separation_needed(base: float, ppv: float, floor: float) -> float:
    """How far apart the scores of true cases and of the others, two bell curves of variance 1, must lie for the threshold that flags
    this share of the group to have this PPV; inf where no score can, or only a perfect one."""
    for name, value in (("base rate", base), ("PPV", ppv), ("floor", floor)):
        if not 0.0 < value <= 1.0:
            raise BadValue(f"a {name} of {value!r}; give a share above 0, at most 1")
    if ppv <= base:
        return 0.0  # as chance has it
    hits, wrong = ppv * floor / base, (1.0 - ppv) * floor
    if hits >= 1.0 or wrong <= 0.0:
        return math.inf
    return normal_quantile(hits) - normal_quantile(wrong / (1.0 - base))
