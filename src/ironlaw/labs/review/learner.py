"""What the record says about the learner: calibration, Brier score, and the beliefs held with what refutes them."""

from __future__ import annotations

from collections.abc import Callable
from html import escape
from typing import Any

from ironlaw import kit
from ironlaw.errors import IronlawError
from ironlaw.kit.prose import NARROW, UNIT
from ironlaw.labs.review.conceptmap import title
from ironlaw.labs.review.review import Review
from ironlaw.pictures.calibration_picture import calibration as picture
from ironlaw.recall import beliefs, confidence
from ironlaw.recall.card_templates import templates
from ironlaw.recall.schedule import SURE
from ironlaw.widget.glossary_words import mark_text


def dials(lab: Review) -> Callable[[Any], list[Any]]:
    over = kit.choice("over", "Answers", [("all", "all of them"), ("cards", "cards"), ("labs", "labs' predictions")])
    return lambda values: [over]


def view(lab: Review, values: Any) -> kit.View:
    """The calibration plot over the review's answers, the labs' first predictions, or both."""
    answers = {"all": lab.state.answers, "cards": lab.state.reviews, "labs": lab.state.predictions}[values["over"]]
    rows, score = confidence.table(answers), confidence.brier(answers)
    right = sum(answer.correct for answer in answers)
    cards = [kit.card("Answers", len(answers), note=f"{right} right")]
    if score is not None:
        cards.append(kit.card("Brier score", score, tone=tone(score), note="lower is better"))
    return kit.View(figures=[picture(rows)], cards=cards, note=kit.html(lab.words["you.brier"]))


def tone(score: float) -> str:
    """Good where it is under half of what saying one half to everything gives, bad where it is worse than that."""
    return "good" if score < confidence.EVEN_ODDS / 2 else "middling" if score < confidence.EVEN_ODDS else "bad"


def held_beliefs(lab: Review) -> Any:
    """The beliefs held, each with its counter-example, computed now."""
    beliefs_held = lab.state.held_beliefs
    if not beliefs_held:
        return lab.html("beliefs-held", kit.html(lab.words["beliefs.none"]))
    return lab.html("beliefs-held", "".join(map(_belief, beliefs_held)))


def _belief(one: beliefs.HeldBelief) -> str:
    example = beliefs.counterexample(one.belief)
    source = f"Evidence: {example.source}" if example.source else "Computed by the engine now"
    where = " and ".join(_where(name) for name in one.where)
    times = {1: "once", 2: "twice"}.get(one.times, f"{one.times} times")
    history = (
        f"Chosen {times} with a confidence of {SURE} or more, {escape(where)}. Answer a card about it correctly, and it leaves this list."
    )
    return (
        f'<div class="il-banner il-warn"><strong>“{escape(one.says)}”</strong>'
        f"<div><p><b>But:</b> {UNIT.sub(NARROW, mark_text(example.text))}</p><p>{escape(source)}. {history}</p></div></div>"
    )


def _where(name: str) -> str:
    if name in templates():
        return f"on the card “{templates()[name].name}”"
    try:
        return f"in the lab “{title(name)}”"
    except (OSError, IronlawError):  # a ledger may come from where there are other labs
        return f"in {name.replace('_', ' ')}"
