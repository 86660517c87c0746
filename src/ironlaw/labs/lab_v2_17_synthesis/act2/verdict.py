"""Which constraints a system breaks, and by how much."""

from __future__ import annotations

from html import escape
from typing import Any

from ironlaw import kit
from ironlaw.labs.lab_v2_17_synthesis.act2.readings import NAMES, limit, read
from ironlaw.systems.whole import Design, broken, evaluate, margins

INDIVISIBLE, WORKS = "The layout doesn't divide", "All limits hold"


def banner(lab: kit.Lab, design: Design) -> dict[str, Any]:
    report = evaluate(design)
    if report.refusal:
        return kit.banner("fail", INDIVISIBLE, kit.html(lab.fill("act2.indivisible", why=report.refusal)))
    hit, rooms = broken(report), margins(report)
    tight = min(rooms, key=lambda name: rooms[name])
    value, most = read(report, tight), limit(tight)
    if not hit:
        return kit.banner("good", WORKS, kit.html(lab.fill("act2.works", tight=NAMES[tight], value=value, limit=most)))
    lines = "".join(f"<p><b>{NAMES[name]}</b>: {escape(read(report, name))}, limit {escape(limit(name))}.</p>" for name in hit)
    if len(hit) > 1:  # the receipt names the first of them
        return kit.banner("fail", lab.fill("act2.broken", count=str(len(hit)), all=str(len(NAMES))), lines)
    return kit.banner("fail", f"Limit broken: {NAMES[tight]}", lines)
