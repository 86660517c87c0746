"""Which constraints a system breaks, by how much, the single dial that cures each, and a way out where none does."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from html import escape
from typing import Any

from ironlaw import kit
from ironlaw.labs.lab_v2_17_synthesis.act2.dialled import design_of, setting, turn
from ironlaw.labs.lab_v2_17_synthesis.act2.readings import NAMES, limit, reading
from ironlaw.systems.whole import Design, broken, evaluate, margins
from ironlaw.systems.whole.whole_search import fix, nearest

INDIVISIBLE, TOGETHER, WORKS = "indivisible", "infeasible_together", "works"
TITLES = {INDIVISIBLE: "It does not divide", TOGETHER: "No single dial does it", WORKS: "Everything holds"}


def state(design: Design) -> str:
    """WORKS, INDIVISIBLE, TOGETHER where some constraint has no single fix, else the name of the one that is broken most."""
    report = evaluate(design)
    if report.refusal:
        return INDIVISIBLE
    hit = broken(report)
    if not hit:
        return WORKS
    if any(fix(design, name) is None for name in hit):
        return TOGETHER
    rooms = margins(report)
    return min(hit, key=lambda name: rooms[name])


def title(design: Design) -> str:
    name = state(design)
    return TITLES.get(name) or f"{NAMES[name]}: {reading(name, evaluate(design).values[name])}, and the limit is {limit(name)}"


def banner(lab: kit.Lab, design: Design, moving: bool = False) -> dict[str, Any]:
    """While a dial is turned nothing is searched for."""
    report = evaluate(design)
    if report.refusal:
        return kit.banner("fail", TITLES[INDIVISIBLE], kit.html(lab.fill("act2.indivisible", why=report.refusal)))
    hit = broken(report)
    if not hit:
        tight = min(margins(report).items(), key=lambda each: each[1])[0]
        words = lab.fill("act2.works", tight=NAMES[tight], value=reading(tight, report.values[tight]), limit=limit(tight))
        return kit.banner("good", TITLES[WORKS], kit.html(words))
    if moving:
        return kit.banner("fail", f"{len(hit)} broken", kit.html(lab.fill("act2.moving", names=", ".join(NAMES[name] for name in hit))))
    together = state(design) == TOGETHER
    text = lab.fill("act2.infeasible_together" if together else "act2.broken", count=str(len(hit)))
    lines = "".join(f"<p>{_line(design, name)}</p>" for name in hit)
    return kit.banner("fail", title(design), f"{kit.html(text)}{lines}")


def _line(design: Design, name: str) -> str:
    report, cure = evaluate(design), fix(design, name)
    what = f"<b>{NAMES[name]}</b>: {escape(reading(name, report.values[name]))}, limit {escape(limit(name))}"
    return f"{what}. {kit.inline(setting(dict([cure]), turn(*cure)))}" if cure else f"{what}. No single dial."


def advise(lab: kit.Lab, values: Mapping[str, Any]) -> kit.Advice:
    """The nearest design that meets all constraints, as turns of the dials."""
    design = design_of(values)
    if not broken(evaluate(design)) and not evaluate(design).refusal:
        return kit.Advice(lab.fill("act2.hint_none"))
    way = nearest(design)
    if way is None:
        return kit.Advice(lab.fill("act2.hint_lost"))
    before, after = asdict(design), asdict(way)
    turns = {dial: value for dial, value in after.items() if value != before[dial]}
    listed = kit.html("\n".join(f"- {turn(dial, value)}" for dial, value in turns.items()))
    button = kit.html(setting(turns, "Turn them"))
    return kit.Advice(lab.fill("act2.hint_turns", count=str(len(turns)), list=kit.Markup(listed), button=kit.Markup(button)), turns)
