"""What gives a question's answer away by its form: an option far longer than another, or a reason that only some of them have."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator

from ironlaw.kit.question_sheet import Question
from ironlaw.kit.question_texts import plain

SHORT = 12  # characters up to which an option's length tells nothing
LONGEST = 1.6  # times as long as the shortest option
RANKS = 4
LIMIT = 7.815  # of chi-square with RANKS - 1 degrees of freedom: options written at random exceed it in one course of twenty


def lengths(question: Question) -> list[int]:
    return [len(plain(option.label)) for option in question.options]


def tells(question: Question) -> Iterator[str]:
    """Every fault in the options' form, in a sentence. The key is not computed."""
    if not question.options:
        return
    sizes = lengths(question)
    if max(sizes) > max(SHORT, LONGEST * min(sizes)):
        longest, shortest = (question.options[sizes.index(size)].id for size in (max(sizes), min(sizes)))
        yield (
            f"option {longest!r} has {max(sizes)} characters and {shortest!r} {min(sizes)};"
            f" the longest may be {LONGEST} times the shortest, so that none stands out"
        )
    colons = [option.id for option in question.options if ":" in option.label]
    if colons and len(colons) < len(question.options):
        yield f"only {', '.join(colons)} of its options has a colon, and so a reason; give every option one, or none"


def rank_counts(questions: Iterable[Question]) -> list[float]:
    """How often the right option is the shortest, the second, … of four; options of one length share their ranks."""
    counts = [0.0] * RANKS
    for question in questions:
        sizes, own = lengths(question), len(plain(question.right.label))
        shorter, alike = sum(size < own for size in sizes), sizes.count(own)
        for rank in range(shorter, shorter + alike):
            counts[rank] += 1 / alike
    return counts


def unevenness(counts: Iterable[float]) -> float:
    """Pearson's chi-square of the counts against equal ones; to compare with LIMIT."""
    counts = list(counts)
    mean = math.fsum(counts) / len(counts)
    return math.fsum((count - mean) ** 2 / mean for count in counts)
