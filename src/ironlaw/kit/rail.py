"""The thin rail: two acts of seven parts, where you are, and a way to jump."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from html import escape

from ironlaw.kit.step import PARTS, anchor

BEFORE_LOCK, AFTER_LOCK = ("message", "lock"), ("instrument", "reveal", "claims", "reflect", "peek")


@dataclass(frozen=True, slots=True)
class Act:
    """How far an act has come."""

    title: str
    open: bool = True
    predicted: bool = False
    answered: bool = False


def rail(acts: Mapping[str, Act]) -> str:
    """Ids of acts -> a navigation; a part that is still locked says so in words, not by its colour alone."""
    return f'<nav class="il-rail" aria-label="Progress">{"".join(_act(name, act) for name, act in acts.items())}</nav>'


def _act(name: str, act: Act) -> str:
    items = []
    current = now(act)
    for part, label in PARTS:
        state = status(act, part)
        marker = ' aria-current="step"' if part == current else ""
        link = f'<a href="#{anchor(name, part)}"{marker}>' if state != "locked" else '<a aria-disabled="true">'
        mark = {"done": "✓", "locked": "·"}.get(state, "")
        hidden = f'<span class="il-hidden"> ({state})</span>' if state in ("done", "locked") else ""
        classes = f"il-{state}" + (" il-now" if part == current else "")
        items.append(f'<li class="{classes}">{link}<span class="il-mark" aria-hidden="true">{mark}</span>{label}{hidden}</a></li>')
    return f'<div class="il-act"><span class="il-act-name">{escape(act.title.partition(":")[0])}</span><ol>{"".join(items)}</ol></div>'


def status(act: Act, part: str) -> str:
    """done, ready or locked."""
    if not act.open or (part in AFTER_LOCK and not act.predicted):
        return "locked"
    if part in BEFORE_LOCK:
        return "done" if act.predicted else "ready"
    return "done" if act.answered else "ready"


def now(act: Act) -> str:
    """The part that waits for the learner; none where the act is closed or complete."""
    if not act.open or act.answered:
        return ""
    return "reflect" if act.predicted else "lock"
