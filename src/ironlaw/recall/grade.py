"""Grading: right or wrong, and which belief a wrong answer shows. Answers are graded as they were typed."""

from __future__ import annotations

import re
from dataclasses import dataclass
from string import ascii_lowercase as LETTERS

from ironlaw.errors import BadValue
from ironlaw.recall import card_answers, card_words
from ironlaw.recall.card_variants import Variant
from ironlaw.units import significant


@dataclass(frozen=True, slots=True)
class Grade:
    """`misconception` names the belief behind a wrong answer, if it is one that the template computes."""

    correct: bool
    misconception: str | None = None
    answer: str = ""  # as it was understood


def hint(variant: Variant) -> str:
    """What to type."""
    kind, count = variant.template.kind, len(variant.choices)
    if kind == "numeric":
        return f"{card_words.expected_input(variant.unit)}; {margin(variant)}"
    if kind == "choice":
        return "a or b" if count == 2 else f"a letter from a to {LETTERS[count - 1]}"
    if kind == "order":
        apart = margin(variant)
        return f"all {count} letters, smallest first, such as {' '.join(LETTERS[:count])}" + (f". {apart.rstrip('.')}" if apart else "")
    return "a line or two in your own words; then grade yourself against the points"


def margin(variant: Variant) -> str:
    """The tolerance, in words: how near counts as right, or how far apart the things to put in order are."""
    template = variant.template
    if template.kind == "numeric":
        return f"within {significant(100 * template.tolerance)}% counts as right"
    if template.kind == "order" and template.tolerance:
        # two figures that a tolerance t keeps apart differ by more than (1 + t)/(1 - t)
        gap = (1 + template.tolerance) / (1 - template.tolerance) - 1
        return f"No two are within {significant(100 * gap, 1)}% of each other."
    return ""


def grade(variant: Variant, typed: str) -> Grade:
    """BadValue says what to type. Explanations are graded by `grade_explanation`."""
    kind = variant.template.kind
    if kind == "numeric":
        grades = [_number(variant, value) for value in card_answers.read(typed, variant.unit)]
        return next((one for one in grades if one.correct), grades[0])
    if kind == "choice":
        chosen = variant.choices[_place(variant, typed.strip().lower())]
        right = chosen.id == variant.key
        return Grade(right, None if right else chosen.misconception or None, chosen.label)
    if kind == "order":
        return _order(variant, typed)
    raise BadValue("an explanation is graded against its points; say which of them you made")


def grade_explanation(variant: Variant, points: set[int]) -> Grade:
    """`points`: those of the rubric, counted from 1, that the learner found in their answer."""
    count = len(variant.rubric)
    if not all(1 <= point <= count for point in points):
        raise BadValue(f"the points are numbered from 1 to {count}; name those that you made")
    return Grade(len(points) >= variant.template.enough, None, f"{len(points)} of {count} points")


def parse_points(typed: str, count: int) -> set[int]:
    """`"1 3"`, `"all"` or `"none"` -> the points."""
    text = typed.strip().lower()
    if text in ("all", "none", "0"):
        return set(range(1, count + 1)) if text == "all" else set()
    numbers = re.split(r"[\s,;]+", text)
    if not all(number.isdecimal() and 1 <= int(number) <= count for number in numbers):
        raise BadValue(f"type the numbers of the points that you made, from 1 to {count}, or all, or none")
    return {int(number) for number in numbers}


def _number(variant: Variant, value: float) -> Grade:
    tolerance, key = variant.template.tolerance, float(variant.key)  # type: ignore[arg-type]
    answer = card_words.amount(value, variant.unit, variant.template.digits)
    if abs(value - key) <= tolerance * abs(key):
        return Grade(True, None, answer)
    near = [m for m in variant.mistakes if abs(value - m.value) <= tolerance * abs(m.value)]
    near.sort(key=lambda mistake: abs(value - mistake.value))
    return Grade(False, near[0].misconception if near else None, answer)


def _order(variant: Variant, typed: str) -> Grade:
    letters = [letter for letter in re.split(r"[\s,<>]*", typed.strip().lower()) if letter]
    if sorted(letters) != list(LETTERS[: len(variant.choices)]):
        raise BadValue(f"{typed.strip()!r} is not an order; type {hint(variant)}")
    chosen = [variant.choices[LETTERS.index(letter)] for letter in letters]
    ids = tuple(choice.id for choice in chosen)
    belief = variant.template.misconception if ids == variant.mistaken and ids != variant.key else None
    return Grade(ids == variant.key, belief, " < ".join(choice.label for choice in chosen))


def _place(variant: Variant, letter: str) -> int:
    if len(letter) != 1 or letter not in LETTERS[: len(variant.choices)]:
        raise BadValue(f"{letter!r} is not an option; type {hint(variant)}")
    return LETTERS.index(letter)
