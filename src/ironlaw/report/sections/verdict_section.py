"""The first screen: why it is slow, what to do, whether compiling pays, whether another machine helps; all machines on one axis."""

from __future__ import annotations

import math
import re
from dataclasses import replace

from ironlaw.engine.advice.action import Action
from ironlaw.engine.advice.advise import Advice
from ironlaw.engine.advice.slower import why_slower
from ironlaw.engine.device.predict import Prediction, predict
from ironlaw.pictures.stack import stack
from ironlaw.report import accuracy
from ironlaw.report.analysis import Analysis, paybacks
from ironlaw.report.markup import paragraph, prose, text
from ironlaw.report.model_variants import comparable
from ironlaw.report.sections import breakeven_section
from ironlaw.report.sections.summary import shares
from ironlaw.units import significant
from ironlaw.widget.figure import Figure
from ironlaw.widget.quantities import format_quantity

ROWS = 8  # that a picture of one screen holds
PICTURE = "machines"
NARROW = "\u202f"  # does not break
UNIT = re.compile(r"(?<=\d) (?=(?:[kMGTP]i?|[mµn])?[Bs]\b)")  # before a unit
EQUAL = 0.01
LITTLE = 1.1  # a gain that is not worth another machine
SAME_HOST = " All use the same host."


def section(analysis: Analysis, place: str) -> str:
    """`place`: where the picture goes."""
    advice = analysis.verdict
    said = paragraph(UNIT.sub(NARROW, advice.finding), "lede") + actions(advice)
    answers = [("Does compiling pay?", compiles(analysis)), ("Would another machine help?", elsewhere(advice))]
    slower = [f"{action.title} {_gain(action)}, because {why_slower(action)}" for action in advice.slower]
    slower += [
        f"probably {' and '.join(f'{action.title} {_gain(action)}' for action in actions)}, because {why}"
        for actions, why in advice.probably_slower
    ]
    if slower:
        answers.append(("What makes it slower?", "; ".join(slower) + "."))
    said += '<dl class="answers">' + "".join(f"<dt>{text(asked)}</dt><dd>{prose(words)}</dd>" for asked, words in answers) + "</dl>"
    return f'<div class="first"><div class="said">{said}</div><div class="seen">{place}</div></div>'


def actions(advice: Advice) -> str:
    if advice.reason:
        return paragraph(f"What to do: {advice.reason}.")
    out = "".join(_item(action) for action in advice.actions)
    steps = len(advice.steps)
    note = "Each gain is on top of the one before." if steps > 1 else ""
    if steps > 1:
        note += f" Together {significant(advice.together)}×."
    note += " The range in brackets should hold in four runs out of five."
    return f'<h3 class="todo">What to do{text(advice.when)}</h3><ol class="actions">{out}</ol>' + paragraph(note.strip(), "il-quiet")


def _item(action: Action) -> str:
    before, after = (format_quantity(seconds, "s") for seconds in (action.gain.before, action.gain.after))
    each = " for the same number of items" if "batch" in action.changes else ""
    kind = "" if action.after.calibrated else f", both {action.after.basis}"
    times = f"{before} → {after}{each}{kind}"
    how = f"<code>{text(action.how)}</code>. " if action.how else ""
    head = f'<b class="gain">{text(_ratio(action))}</b> <b>{text(action.title)}</b>'
    return (
        f'<li><p>{head} <span class="il-quiet">{text(_span(action))}, {text(times)}</span></p>'
        f'<p class="il-quiet">{how}Costs: {text(UNIT.sub(NARROW, "; ".join(action.costs)))}.</p></li>'
    )


def _ratio(action: Action) -> str:
    return f"{significant(action.gain.ratio, 2)}×"


def _span(action: Action) -> str:
    low, high = action.gain.interval or (math.nan, math.nan)
    return f"({significant(low)}{NARROW}–{NARROW}{significant(high)})"


def _gain(action: Action) -> str:
    return f"{_ratio(action)} {_span(action)}"


def compiles(analysis: Analysis) -> str:
    """For the first machine, by its best mode."""
    pays = [pay for pay in paybacks(analysis) if pay.machine is analysis.machines[0]]
    if not pays:
        return "An eager and a compiled prediction of one machine would say: see --mode."
    best = max(pays, key=lambda pay: pay.saved)
    return f"{breakeven_section.verdict(best, analysis.per_day).capitalize()}."


def elsewhere(advice: Advice) -> str:
    if not advice.elsewhere:
        return "No other machine was tried: name several with --on."
    said = []
    for action in advice.elsewhere:
        price = f" at ${significant(action.prices[1])} per hour" if action.prices[1] is not None else ""
        speed = "is as fast" if abs(action.gain.ratio - 1) < EQUAL else f"is {_gain(action)} as fast"
        said.append(f"{action.after.hardware.name} {speed}{price}")
    gains = [action.gain for action in advice.elsewhere]
    ends = [gain.interval[1] for gain in gains if gain.interval]
    word = "Yes" if any(gain.sure for gain in gains) else "No" if ends and max(ends) < LITTLE else "Perhaps"
    return f"{word}. Run as it is now, with the same host ({advice.elsewhere[0].after.basis} times): {'; '.join(said)}."


def picture(analysis: Analysis) -> Figure:
    """Every machine and mode on one axis and on the same grounds; of many machines, each in its fastest mode."""
    shown, mixed = alike(analysis)
    rows = shown if len(shown) <= ROWS else fastest(shown)
    several = len({p.hardware.slug for p in rows}) > 1
    bars = {_name(p, several): shares(p) for p in rows}
    title = "Where a call's time goes" + (", every machine in its fastest mode" if len(rows) < len(shown) else "")
    note = (
        f"{accuracy.LIKE_WITH_LIKE[mixed]}{SAME_HOST if mixed == 'transferred' else ''}"
        if mixed
        else ""
        if several
        else rows[0].hardware.name
    )
    return stack(bars, "s", title, label="time", note=note, id=PICTURE)


def leaves_out(analysis: Analysis) -> bool:
    """Whether the picture has no room for some of the times, or shows other ones, on common grounds."""
    return len(analysis.predictions) > ROWS or len({p.basis for p in analysis.predictions}) > 1


def alike(analysis: Analysis) -> tuple[tuple[Prediction, ...], str]:
    """As `comparable`, but with one host for all where times are transferred: the one that launches in the sentence above the picture."""
    shown, mixed = comparable(analysis.predictions, analysis.graph)
    if mixed != "transferred":
        return shown, mixed
    host = analysis.predictions[0].host
    return tuple(predict(analysis.graph, p.hardware, replace(p.plan, host=host)) for p in shown), mixed


def fastest(predictions: tuple[Prediction, ...]) -> tuple[Prediction, ...]:
    best: dict[str, Prediction] = {}
    for p in predictions:
        if p.hardware.slug not in best or p.seconds < best[p.hardware.slug].seconds:
            best[p.hardware.slug] = p
    return tuple(best.values())


def _name(p: Prediction, several: bool) -> str:
    return f"{p.hardware.slug} {p.plan.mode}" if several else p.plan.mode
