"""What the class answered: each question's first answers, how many were right, and how far off those with a figure were."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

from ironlaw.classroom.class_learner import Learner
from ironlaw.classroom.learner_work import Answer
from ironlaw.classroom.sheets import Item, LabSheet
from ironlaw.classroom.stats import fisher, point_biserial
from ironlaw.recall import learner_calibration

MOST_UNKNOWN, OTHERS = 10, "other answers"  # options that a question does not have
FEWEST_OTHERS = 3  # other answers that a learner's score has to rest on
Given = tuple[Answer, tuple[int, int]]  # an answer, and of the same learner how many answers and how many right


@dataclass(frozen=True)
class Share:
    """One option: how many chose it first."""

    choice: str
    label: str
    chosen: int
    right: bool
    misconception: str = ""


@dataclass(frozen=True)
class ItemFigures:
    """One question. `orders`: the median distance of answers with a figure from the truth, in orders of magnitude, with its sign;
    `off`: the median of its size. `rejudged`: answers whose verdict differs between today's key and the ledger."""

    item: Item
    n: int
    right: int
    options: tuple[Share, ...]
    orders: float | None
    off: float | None
    too_high: int
    too_low: int
    again: int
    rejudged: int
    separates: float | None  # correlation with the learner's share of right answers to the other questions
    interval: tuple[float, float] | None
    compared: int  # learners that this correlation rests on

    @property
    def share(self) -> float:
        return self.right / self.n


def orders(item: Item, answer: Answer) -> float | None:
    """log10(answer / truth); None where one of them is not a figure above 0, or the question is not about a figure."""
    about_a_figure = item.scale == "log" or item.kind == "number"
    return learner_calibration.orders(answer.value, item.answer) if about_a_figure else None


def item_of(sheets: dict[str, LabSheet], answer: Answer) -> Item:
    """The question as the lab has it, or what the ledger says of it."""
    return sheets[answer.lab].items.get(answer.question) or Item(answer.lab, answer.question)


def figures(learners: Sequence[Learner], sheets: dict[str, LabSheet]) -> list[ItemFigures]:
    """In the order of the labs and of their questions; those that no lab here asks come after them, by name."""
    given: dict[tuple[str, str], list[Given]] = {}
    for one in learners:
        score = len(one.work.answers), sum([answer.correct for answer in one.work.answers.values()])
        for key, answer in one.work.answers.items():
            given.setdefault(key, []).append((answer, score))
    rank = {(lab, name): (i, j) for i, (lab, sheet) in enumerate(sheets.items()) for j, name in enumerate(sheet.items)}
    place = {lab: i for i, lab in enumerate(sheets)}
    ordered = sorted(given, key=lambda key: (*rank.get(key, (place[key[0]], 10**6)), key))
    return [_figures(item_of(sheets, given[key][0][0]), given[key]) for key in ordered]


def _figures(item: Item, given: Sequence[Given]) -> ItemFigures:
    answers = [answer for answer, _ in given]
    with_distance = [(d, answer) for answer in answers if (d := orders(item, answer)) is not None]
    distances = [d for d, _ in with_distance]
    chosen: dict[str, int] = dict.fromkeys(item.choices, 0)
    for choice, many in Counter(answer.choice for answer in answers if answer.choice).items():
        chosen[choice] = many
    options = []
    for choice, many in _few(chosen, item).items():
        known = item.choices.get(choice)
        is_right = choice == item.right if item.right else any(a.correct for a in answers if a.choice == choice)
        options.append(Share(choice, known.label if known else choice, many, is_right, known.misconception if known else ""))
    rejudged = sum(answer.correct != (answer.choice == item.right) for answer in answers) if item.right else 0
    right, shares = separation(given)
    r = point_biserial(right, shares)
    return ItemFigures(
        item, len(answers), sum(answer.correct for answer in answers), tuple(options),
        median(distances) if distances else None, median(map(abs, distances)) if distances else None,
        sum(d > 0 and not a.correct for d, a in with_distance), sum(d < 0 and not a.correct for d, a in with_distance),
        sum(answer.attempts > 1 for answer in answers), rejudged,
        r, fisher(r, len(right)) if r is not None else None, len(right),
    )  # fmt: skip


def _few(chosen: dict[str, int], item: Item) -> dict[str, int]:
    """The question's own options, then answers that are none of them: the most frequent ones, and all the others together."""
    unknown = sorted((choice for choice in chosen if choice not in item.choices), key=lambda choice: (-chosen[choice], choice))
    listed = {choice: chosen[choice] for choice in (*item.choices, *unknown[:MOST_UNKNOWN])}
    rest = sum(chosen[choice] for choice in unknown[MOST_UNKNOWN:])
    return {**listed, OTHERS: rest} if rest else listed


def separation(given: Sequence[Given]) -> tuple[list[bool], list[float]]:
    """Who was right here, beside each one's share of right answers to the *other* questions, so that this one can't vouch for itself."""
    counted = [(answer.correct, answered, correct) for answer, (answered, correct) in given if answered > FEWEST_OTHERS]
    return [own for own, _, _ in counted], [(correct - own) / (answered - 1) for own, answered, correct in counted]
