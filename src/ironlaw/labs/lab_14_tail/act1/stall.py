"""Act I as it happens: everybody who asks around the first stall, and the tester."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ironlaw import kit
from ironlaw.labs.lab_14_tail.act1.case import case_of
from ironlaw.pictures.moving.crowd import crowd
from ironlaw.widget.motion import Motion

LATE = 2  # services: who takes longer has waited


def motion(lab: kit.Lab, values: Mapping[str, Any]) -> list[Motion]:
    case = case_of(lab, values)
    if not case.saw_a_stall or case.load >= 1 or case.users.sent[-1] < case.stalls.first + case.stall:
        return []  # nobody waits, or everybody forever, or what is counted ends before
    start, following = case.stalls.first, case.stalls.first + case.period
    users, tester = (
        [(at, took) for at, took in zip(test.sent, test.seconds, strict=False) if at < following] for test in (case.users, case.polite)
    )
    return [crowd(users, tester, (start, start + case.stall), LATE * case.service)]
