"""Help in three rungs, asked for: which limit is broken and what drives it; one change that repairs it; the nearest design that meets all.

Each rung that was asked for goes into the ledger, with the dials it was asked at. Where everything holds there is nothing to ask, and
nothing is written.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from html import escape
from typing import Any

from ironlaw.errors import BadValue
from ironlaw.kit.goal import Aim
from ironlaw.kit.instrument import stand
from ironlaw.kit.prose import Markup
from ironlaw.ledger import Event
from ironlaw.widget.acts import ActCounter
from ironlaw.widget.piece import Piece

RUNGS = ("What is broken, and what drives it?", "Show me one change", "Show me a design that meets the goal")
HOLDS = "<p>Your design meets the goal. There is nothing to repair, so no help was recorded.</p>"
NONE = (
    "<p>The search found no design that meets the goal, neither near yours nor near the one this act opens with. "
    "Go back to the opening settings and change one thing at a time.</p>"
)


def hint(aim: Aim, on_asked: Callable[[], None]) -> Piece:
    acts = ActCounter()
    lab = aim.lab

    def compute(state: Mapping[str, Any]) -> dict[str, Any]:
        holds = False
        if acts.advanced(state):
            values = aim.values
            if not values:
                raise BadValue("The instrument above is not open yet; commit your choice first.")
            holds = aim.goal.broken(lab, values) is None
            if not holds:
                rung = min(_rung(state.get("rung")), 1 + _highest(hints(lab.ledger, lab.slug, aim.name)))
                lab.ledger.append(lab.slug, "hint", asked_at(aim, values, rung))
                on_asked()
        asked = hints(lab.ledger, lab.slug, aim.name)
        open_to = min(len(RUNGS), 1 + _highest(asked))
        if holds:
            return {"asked": len(asked), "open": open_to, "feedback": HOLDS}
        if not asked:
            return {"asked": 0, "open": 1}
        return {"asked": len(asked), "open": open_to, "time": asked[-1].time, "feedback": answer(aim, asked[-1].payload)}

    return Piece("hint", {"id": f"{aim.name}.hint", "rungs": list(RUNGS)}, compute)


def hints(ledger: Any, lab: str, name: str) -> list[Event]:
    return [event for event in ledger.events(lab, "hint") if event.question == name]


def _rung(value: Any) -> int:
    return value if isinstance(value, int) and 1 <= value <= len(RUNGS) else 1


def _highest(asked: list[Event]) -> int:
    """An event of an earlier version has no rung: it was the whole answer."""
    return max((_rung(event.payload.get("rung", len(RUNGS))) for event in asked), default=0)


def asked_at(aim: Aim, values: Mapping[str, Any], rung: int) -> dict[str, Any]:
    """What is written down: `turns` are what the rung proposes, `drives` the dials that it names."""
    limit = aim.goal.broken(aim.lab, values)
    search = aim.search(limit.name if limit else "")
    turns: dict[str, Any] = {}
    drives = search.movers(values) if rung == 1 else []
    if rung == 2:
        repair = search.repair(values)
        turns = _turned(values, repair.values) if repair else {}
    elif rung == 3:
        turns = _turned(values, aim.nearest(values) or values)
    return {
        "question": aim.name, "dials": dict(values), "turns": turns, "rung": rung, "drives": drives, "limit": limit.name if limit else "",
    }  # fmt: skip


def prepare(aim: Aim) -> None:
    """Every rung once for nobody, from where the dials stand: what it computes is kept where the lab keeps such."""
    with suppress(Exception):  # a learner who asks is told
        _, values, _ = stand(aim.dials, aim.values)
        for rung in range(1, len(RUNGS) + 1):
            answer(aim, asked_at(aim, values, rung))


def _turned(before: Mapping[str, Any], after: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in after.items() if value != before.get(name)}


def answer(aim: Aim, asked: Mapping[str, Any]) -> str:
    """HTML, from what was written down."""
    values, turns = asked["dials"], asked["turns"]
    limit = aim.goal.broken(aim.lab, values)
    if limit is None:
        return HOLDS
    title = f"<b>{escape(limit.title)}</b>"
    match asked.get("rung", len(RUNGS)):
        case 1:
            return f"<p>{title}</p>{aim.banner(values).get('text', '')}{_drivers(aim, asked.get('drives', []))}"
        case 2 if not turns:
            return f"<p>{title}. No single change repairs this. It takes several together; the next hint shows them.</p>"
        case 2:
            return f"<p>{title}. One change repairs it.</p>{_proposal(aim, values, turns, 'Try this change')}"
    return _proposal(aim, values, turns, "Set these dials") if turns else NONE


def _drivers(aim: Aim, drives: list[str]) -> str:
    if not drives:
        return "<p>No single dial repairs this.</p>"
    labels = [aim.label(name) for name in drives]
    *others, last = [f"“{escape(label)}”" for label in labels]
    if not others:
        return f"<p>One dial drives it, {last}.</p>"
    return f"<p>These dials drive it: {', '.join(others)} and {last}.</p>"


def _proposal(aim: Aim, values: Mapping[str, Any], turns: Mapping[str, Any], button: str) -> str:
    """The turns, what comes of them, and a button that makes them."""
    after = {**values, **turns}
    rows = "".join(f"<li>{escape(aim.words(after, name))}</li>" for name in turns)
    left = aim.goal.broken(aim.lab, after)
    then = "Then every limit holds." if left is None else f"That leaves another limit. <b>{escape(left.title)}</b>."
    return f"<ul>{rows}</ul><p>{then}</p>{aim.banner(after).get('text', '')}<p>{setting(aim.name, after, button)}</p>"


def setting(instrument: str, values: Mapping[str, Any], label: str) -> Markup:
    """A button that sets every dial: what it says is then on the screen, wherever the dials stood."""
    plain = {name: value for name, value in values.items() if not isinstance(value, (list, tuple))}
    dials = "&amp;".join(f"{escape(name)}={escape(_text(value))}" for name, value in plain.items())
    return Markup(f'<button type="button" class="il-set" data-set="{escape(instrument)}" data-dials="{dials}">{escape(label)}</button>')


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return f"{value:.12g}" if isinstance(value, float) else str(value)
