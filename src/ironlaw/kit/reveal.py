"""The reveal: how far off a prediction was, in words; the instrument draws the same distance and gives the reason beside it.

A number is judged on a log axis: a factor, and its orders of magnitude.
"""

from __future__ import annotations

from ironlaw.kit.prose import dress, html
from ironlaw.pictures.reveal_picture import Distance
from ironlaw.units import significant

__all__ = ["Distance", "off", "points", "reason", "reveal"]
AGAIN = "Right, with the answer in sight. Your first prediction is the one that counts."
NEAR = 1.1  # a factor: as near as an option of a log axis comes by rounding
FEW = 2.0  # a factor below which orders of magnitude say nothing
SAME = 5e-4  # a share: two figures of three digits read the same
EXACT = "exactly right"


def off(distance: Distance) -> str:
    """`too high by a factor of 1,010, or 3 orders of magnitude`; inline HTML."""
    if distance.factor - 1 < SAME:
        return EXACT if distance.factor == 1 else "right to three digits"
    if distance.factor < NEAR:
        return f"right to within {dress(f'{significant(100 * (distance.factor - 1), 2)}%')}"
    way = f"too {'high' if distance.orders > 0 else 'low'} by a factor of {dress(significant(distance.factor))}"
    orders = significant(abs(distance.orders), 2)
    return way if distance.factor < FEW else f"{way}, or {dress(orders)} {'order' if orders == '1' else 'orders'} of magnitude"


def points(guess: float, truth: float) -> str:
    """Two percentages: `too high by 16.7 percentage points`; inline HTML. Within one they count as the same."""
    apart = abs(guess - truth)
    if guess == truth:
        return EXACT
    if apart < 1:
        return f"right to within {dress(significant(apart, 1))} percentage points"
    return f"too {'high' if guess > truth else 'low'} by {dress(significant(apart))} percentage points"


def headed(truth: str) -> str:
    """It begins like the options it stands beside, with a capital."""
    return truth[:1].upper() + truth[1:] if truth[:1].isascii() else truth


WORDS = {"decision": ("You chose", "Well spent.")}  # kind of a question -> how an answer is named, and called right
PREDICTION = ("You said", "Your prediction holds.")


def reason(guess: str, meaning: str, right: bool, kind: str = "prediction", again: bool = False) -> str:
    """What stands above the picture that has the mark: the answer, and why that one is right or wrong. `meaning` is Markdown."""
    said, holds = WORDS.get(kind, PREDICTION)
    if not right and meaning.startswith(f"{said} "):  # it names the answer itself
        return html(meaning)
    head = (AGAIN if again else holds) if right else f"{said}: {guess.rstrip('.')}."
    return f'<p class="il-verdict">{head}</p>{html(meaning)}'


def reveal(guess: str, truth: str, distance: str, meaning: str, right: bool, kind: str = "prediction", again: bool = False) -> str:
    """`guess`, `truth` and `distance` are inline HTML, `meaning` Markdown: what follows from the truth. `kind`: of the question;
    `again`: it was chosen with the answer in sight."""
    said, holds = WORDS.get(kind, PREDICTION)
    verdict = f'<p class="il-verdict"><strong>{AGAIN if again else holds}</strong></p>' if right else ""  # else the distance says it
    rows = "".join(
        f'<tr class="il-{key}"><th scope="row">{label}</th><td><strong>{value}</strong></td></tr>'
        for key, label, value in (
            ("prediction", said, guess),
            ("truth", "The engine computes", headed(truth)),
            ("distance", "You were", distance),
        )
        if value
    )
    state = "right" if right else "wrong"
    return f'<div class="il-reveal il-{state}">{verdict}<table class="il-table"><tbody>{rows}</tbody></table>{html(meaning)}</div>'
