"""Act I in one sentence: two rays, one ray, the left edge, or a precision that no threshold has."""

from __future__ import annotations

import math
from typing import Any

from ironlaw import kit
from ironlaw.engine.parity.curves import Group
from ironlaw.engine.parity.forced import separation_needed
from ironlaw.labs.lab_15_parity.act1.setting import FLOOR, FURTHEST, STEP, Setting, reach
from ironlaw.labs.lab_15_parity.data import MADE_UP, made_up
from ironlaw.systems.limits import Limit, fail, hit, warn


def _held(setting: Setting) -> dict[str, object]:
    return {"held": kit.amount(100 * setting.held, "%")}


def _off_curve(setting: Setting) -> dict[str, object]:
    worst = min(setting.short, key=reach)
    most = kit.dress(f"{math.floor(1000 * reach(worst)) / 10:.1f}%")
    return _held(setting) | {"floor": kit.amount(100 * FLOOR, "%"), "group": worst.name, "most": most}


def _same_base(setting: Setting) -> bool:
    return abs(setting.pair[0].base - setting.pair[1].base) < 1e-9


LIMITS = (
    fail("off_curve", "No threshold does that", lambda setting: bool(setting.short), _off_curve),
    Limit("one_ray", "good", "Equal base rates", _same_base, lambda setting: {"base": kit.amount(100 * setting.pair[0].base, "%")}),
    Limit("perfect", "good", "A perfect flag", lambda setting: setting.held >= 1.0),
    warn("two_rays", "Not all three can be equal", slots=_held),
)


def banner(lab: kit.Lab, setting: Setting) -> dict[str, Any]:
    limit = hit(LIMITS, setting)
    text = lab.fill(f"act1.{limit.name}", **limit.slots(setting))
    if limit.tone == "fail":
        text += " " + lab.words["act1.better"] + _needed(lab, min(setting.short, key=reach), setting.held)
    return kit.banner(limit.tone, limit.title, kit.html(text))


def _needed(lab: kit.Lab, group: Group, held: float) -> str:
    """How much better: only of made-up scores is the dial known that would do it."""
    apart = separation_needed(group.base, held, FLOOR)
    if lab.current_context.slug != MADE_UP or apart > FURTHEST - STEP:
        return ""
    first = STEP * math.ceil(apart / STEP)  # the curves here are cut into steps, which may take one more
    at = next((x for x in (first, first + STEP) if reach(made_up(group.base, group.base, round(x, 1))[0]) >= held - 1e-4), None)
    return " " + lab.fill("act1.apart", apart=kit.dress(f"{at:.1f}")) if at else ""
