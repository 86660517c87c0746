"""Act I in one sentence: two rays, one ray, the left edge, or a precision that no threshold has."""

from __future__ import annotations

import math
from typing import Any

from ironlaw import kit
from ironlaw.engine.parity.curves import Group
from ironlaw.engine.parity.forced import separation_needed
from ironlaw.labs.lab_15_parity.data import MADE_UP, made_up

FLOOR = 0.05  # of a group: a precision that only fewer people would have is no use
FURTHEST, STEP = 6.0, 0.1  # of made-up scores, how far apart


def reach(group: Group) -> float:
    """The best precision that a threshold has which still flags a twentieth of the group."""
    return max(table.ppv for table in group.tables if table.selected >= FLOOR)


def banner(lab: kit.Lab, pair: tuple[Group, Group], held: float) -> dict[str, Any]:
    short = [group for group in pair if reach(group) < held - 1e-4]
    slots: dict[str, object] = {"held": kit.amount(100 * held, "%"), "floor": kit.amount(100 * FLOOR, "%")}
    if short:
        worst = min(short, key=reach)
        most = kit.dress(f"{math.floor(1000 * reach(worst)) / 10:.1f} %")
        text = lab.fill("act1.off_curve", **slots, group=worst.name, most=most) + " " + lab.words["act1.better"] + _needed(lab, worst, held)
        return kit.banner("fail", "Not on the curve", kit.html(text))
    if abs(pair[0].base - pair[1].base) < 1e-9:
        return kit.banner("good", "One ray", kit.html(lab.fill("act1.one_ray", base=kit.amount(100 * pair[0].base, "%"))))
    if held >= 1.0:
        return kit.banner("good", "Perfect flags", kit.html(lab.fill("act1.perfect")))
    return kit.banner("warn", "Two rays, one corner", kit.html(lab.fill("act1.two_rays", held=slots["held"])))


def _needed(lab: kit.Lab, group: Group, held: float) -> str:
    """How much better: only of made-up scores is the dial known that would do it."""
    apart = separation_needed(group.base, held, FLOOR)
    if lab.current_context.slug != MADE_UP or apart > FURTHEST - STEP:
        return ""
    first = STEP * math.ceil(apart / STEP)  # the curves here are cut into steps, which may take one more
    at = next((x for x in (first, first + STEP) if reach(made_up(group.base, group.base, round(x, 1))[0]) >= held - 1e-4), None)
    return " " + lab.fill("act1.apart", apart=kit.dress(f"{at:.1f}")) if at else ""
