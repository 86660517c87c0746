"""The verdict on top of `ironlaw analyze`: where the time goes, and what to do about it."""

from __future__ import annotations

from ironlaw.cli.show import draw
from ironlaw.engine.advice.advise import Advice, headline
from ironlaw.engine.advice.slower import why_slower
from ironlaw.units import significant


def report(advice: Advice) -> None:
    draw.say()
    draw.say(advice.finding)
    if advice.actions:
        draw.heading(
            f"what to change{advice.when}, in order",
            "each gain is on top of the one before; its range should hold in four runs out of five",
        )
    for number, action in enumerate(advice.actions, 1):
        draw.say(f"{number}. {headline(action)}", draw.STRONG)
        draw.say("; ".join(filter(None, (action.how, "costs: " + ", ".join(action.costs)))), draw.DIM, indent=3)
    if len(advice.steps) > 1:
        whole = len(advice.steps) == len(advice.actions)  # the rest is another machine, or more of them
        which = "All" if whole else f"Changes 1 to {len(advice.steps)}"
        draw.say(f"{which} together: {significant(advice.together)}× as fast.", draw.STRONG)
    if advice.reason:
        draw.say(advice.reason, draw.DIM)
    for action in advice.slower:
        draw.say(f"It would be slower with {headline(action)}, because {why_slower(action)}.", draw.BAD)
    for actions, why in advice.probably_slower:
        titles = " and ".join(f"{action.title} ({significant(action.gain.ratio)}×)" for action in actions)
        draw.say(f"It would probably be slower with {titles}, because {why}.", draw.DIM)
