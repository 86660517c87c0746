"""The thin rail: the places of a lab, where you are, what is done, and a way to jump. The page's script moves "here" with the scroll."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

MARKS = {"done": "✓", "now": "", "locked": "", "open": "+"}
SAID = {"done": " (done)", "now": " (next)", "locked": " (locked)", "open": ""}


@dataclass(frozen=True, slots=True)
class Step:
    anchor: str
    label: str
    state: str  # done, now, locked, or open: nobody has to go there


@dataclass(frozen=True, slots=True)
class Act:
    title: str
    steps: tuple[Step, ...]


def rail(acts: Sequence[Act]) -> str:
    """A place that is still locked says so in words, not by its colour alone. `data-now`: the place that waits for the learner."""
    now = next((step.anchor for act in acts for step in act.steps if step.state == "now"), "")
    parts = "".join(_act(act, now) for act in acts)
    return f'<nav class="il-rail" aria-label="Progress" data-now="{now}">{parts}</nav>'


def _act(act: Act, now: str) -> str:
    items = "".join(_step(step, number) for number, step in enumerate(act.steps, 1))
    here = " il-here" if any(step.anchor == now for step in act.steps) else ""
    name = f'<span class="il-act-name">{escape(act.title)}</span>' if act.title else ""
    return f'<div class="il-act{here}">{name}<ol>{items}</ol></div>'


def _step(step: Step, number: int) -> str:
    link = '<a aria-disabled="true">' if step.state == "locked" else f'<a href="#{step.anchor}">'
    mark = f'<span class="il-mark" aria-hidden="true">{MARKS[step.state] or number}</span>'
    label = f'<span class="il-label">{escape(step.label)}</span><span class="il-hidden">{SAID[step.state]}</span>'
    return f'<li class="il-{step.state}" data-place="{step.anchor}">{link}{mark}{label}</a></li>'
