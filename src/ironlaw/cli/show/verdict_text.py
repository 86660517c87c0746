"""The verdict on top of `ironlaw analyze`: where the time goes, and what to do about it."""

from __future__ import annotations

from ironlaw.cli.show import draw
from ironlaw.engine.advice.advise import Advice, headline
from ironlaw.units import significant


def report(advice: Advice) -> None:
    draw.heading(
        "verdict", "what to change, in order; each gain is on top of the one before, and its range should hold in four runs out of five"
    )
    draw.say(advice.finding)
    for number, action in enumerate(advice.actions, 1):
        draw.say(f"{number}. {headline(action)}", draw.STRONG)
        draw.say("; ".join(filter(None, (action.how, "costs: " + ", ".join(action.costs)))), draw.DIM, indent=3)
    if len(advice.steps) > 1:
        draw.say(f"together {significant(advice.together)}× as fast", draw.STRONG, indent=3)
    if advice.reason:
        draw.say(advice.reason, draw.DIM)
    for action in advice.slower:
        draw.say(f"slower: {headline(action)}", draw.BAD)
