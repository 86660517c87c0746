"""One sitting of the review in a terminal: question, answer, confidence, key. Lines are read from standard input, so that a pipe
works as a terminal does; the end of the input is a `q`."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from string import ascii_lowercase as LETTERS
from typing import TypeVar

from ironlaw.cli.show import draw
from ironlaw.errors import BadValue
from ironlaw.recall import beliefs, grade
from ironlaw.recall.card_variants import Variant
from ironlaw.recall.confidence import PROBABILITY
from ironlaw.recall.facts import Fact
from ironlaw.recall.review_session import Session
from ironlaw.recall.schedule import Due, next_due, time_until

KEYS = "s skips, u undoes the last answer, q quits"
FACTS = "f shows the figures you may look up, "
SURE = "How sure are you? 1 to 5 means " + ", ".join(f"{100 * p:.0f}" for p in PROBABILITY.values()) + "%"
Read = TypeVar("Read")


class Quit(Exception):
    """The learner quits; every answer so far is kept."""


class Skip(Exception):
    pass


class Undo(Exception):
    pass


def sit(session: Session) -> None:
    """Cards until none is left, or until `q`."""
    try:
        while waiting := session.queue():
            card = waiting[0]
            try:
                _ask(session, card, len(waiting))
            except Skip:
                session.skip(card.template)
            except Undo:
                gone = session.undo()
                message = f"Taken back: the answer {gone.answer!r} to {gone.card}." if gone else "There is no answer to take back."
                draw.say(message, draw.DIM)
    except Quit:
        pass
    _farewell(session)


def _ask(session: Session, card: Due, left: int) -> None:
    variant = session.variant(card.template)
    topic = card.template.topic.replace("_", " ")
    draw.heading(f"{topic[0].upper()}{topic[1:]}", f"{card.template.id} · {card.reason} · {left} left")
    draw.say(variant.text)
    for letter, choice in zip(LETTERS, variant.choices, strict=False):
        draw.say(f"  {letter}  {choice.label}")
    if card.template.kind == "explain":
        return _explain(session, variant)
    draw.say(f"Type {grade.hint(variant)}.", draw.DIM)
    draw.say(f"{FACTS if variant.facts else ''}{KEYS}.", draw.DIM)
    typed, graded = _read("answer> ", lambda text: (text, grade.grade(variant, text)), variant.facts)
    confidence = _confidence()
    session.answer(variant, typed, confidence, graded)
    _key(variant, graded)
    _again(session, card.template.id)


def _explain(session: Session, variant: Variant) -> None:
    draw.say(f"Answer in a line or two, from memory; {KEYS}.", draw.DIM)
    typed = _read("answer> ", lambda text: text)
    confidence = _confidence()
    draw.say("\nA full answer makes these points:", draw.STRONG)
    for number, point in enumerate(variant.rubric, 1):
        draw.say(f"  {number}  {point}")
    needed = f"{variant.template.enough} of {len(variant.rubric)} make it right"
    draw.say(f"Which points did you make? Their numbers, all, or none; {needed}.", draw.DIM)
    graded = _read("points> ", lambda text: grade.grade_explanation(variant, grade.parse_points(text, len(variant.rubric))))
    session.answer(variant, typed, confidence, graded)
    draw.say(f"{'Right' if graded.correct else 'Not yet'}: {graded.answer}.", draw.GOOD if graded.correct else draw.BAD)
    _again(session, variant.template.id)


def _key(variant: Variant, graded: grade.Grade) -> None:
    draw.say(f"{'Right' if graded.correct else 'Wrong'}: {variant.answer}.", draw.GOOD if graded.correct else draw.BAD)
    if not graded.correct:
        draw.say(f"You said {graded.answer}.")
    draw.say(variant.working)
    if graded.misconception:
        draw.pairs([
            ("a common belief", beliefs.belief(graded.misconception)),
            ("but", beliefs.counterexample(graded.misconception).text),
        ])  # fmt: skip


def _again(session: Session, card: str) -> None:
    stands = session.state().standing[card]
    if stands.due is not None:
        draw.say(f"It comes back {time_until(stands.due - session.clock())}.", draw.DIM)


def _confidence() -> int:
    draw.say(f"{SURE}.", draw.DIM)

    def level(text: str) -> int:
        if text.strip() not in {str(level) for level in PROBABILITY}:
            raise BadValue(f"{text.strip()!r} is not a confidence; type a number from 1 (a guess) to 5 (sure)")
        return int(text)

    return _read("sure> ", level)


def _read(prompt: str, read: Callable[[str], Read], facts: Sequence[Fact] = ()) -> Read:
    """A line, until it can be read. The commands work at every prompt, `f` where there are figures to look up."""
    while True:
        text = _line(prompt)
        command = text.strip().lower()
        if command in ("q", "quit", "exit"):
            raise Quit
        if command in ("s", "skip"):
            raise Skip
        if command in ("u", "undo"):
            raise Undo
        if command in ("f", "figures") and facts:
            draw.pairs([(fact.label, fact.value) for fact in facts])
            continue
        if not command:
            draw.say(f"Type an answer; {KEYS}.", draw.DIM)
            continue
        try:
            return read(text.strip())
        except BadValue as error:
            draw.say(str(error), draw.TERMS["overhead"])


def _line(prompt: str) -> str:
    sys.stdout.write(prompt)
    sys.stdout.flush()
    text = sys.stdin.readline() if sys.stdin is not None else ""
    if not text:
        sys.stdout.write("\n")
        raise Quit
    return text.replace("\x00", "")


def _farewell(session: Session) -> None:
    state = session.state()
    right = sum(review.correct for review in session.answers.values())
    if session.answers:
        draw.heading(f"{len(session.answers)} answered, {right} right", "saved in the ledger")
    else:
        draw.heading("Nothing answered")
    left, soon = session.queue(), next_due(state.standing, state.now)
    if left:
        draw.say(f"{len(left)} left; `ironlaw review` continues with {'it' if len(left) == 1 else 'them'}.")
    elif soon is not None:
        draw.say(f"Nothing is due now; the next card comes back {time_until(soon - state.now)}.")
    draw.say("`ironlaw review --stats` shows how well calibrated you are.", draw.DIM)
