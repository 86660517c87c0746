"""What the class answered: each question's first answers, how many were right, and how far off those with a figure were."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

from ironlaw.classroom.class_answers import Learner
from ironlaw.classroom.learner_work import Answer
from ironlaw.classroom.sheets import Item, LabSheet
from ironlaw.classroom.stats import fisher, point_biserial
from ironlaw.recall import learner_calibration

MOST_UNKNOWN, OTHERS = 10, "other answers"  # options that a question does not have
FEWEST_OTHERS = 3  # other answers that a learner's score has to rest on


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
    keys = {key: item_of(sheets, answer) for one in learners for key, answer in one.answers.items()}
    rank = {(lab, name): (i, j) for i, (lab, sheet) in enumerate(sheets.items()) for j, name in enumerate(sheet.items)}
    place = {lab: i for i, lab in enumerate(sheets)}
    ordered = sorted(keys, key=lambda key: (*rank.get(key, (place[key[0]], 10**6)), key))
    scores = [(len(one.answers), sum(answer.correct for answer in one.answers.values())) for one in learners]
    return [_figures(key, keys[key], learners, scores) for key in ordered]


def _figures(key: tuple[str, str], item: Item, learners: Sequence[Learner], scores: Sequence[tuple[int, int]]) -> ItemFigures:
    """`scores`: of each learner, how many answers and how many right."""
    answers = [(one, one.answers[key]) for one in learners if key in one.answers]
    distances = [d for _, answer in answers if (d := orders(item, answer)) is not None]
    chosen: dict[str, int] = dict.fromkeys(item.choices, 0)
    for _, answer in answers:
        if answer.choice:
            chosen[answer.choice] = chosen.get(answer.choice, 0) + 1
    options = []
    for choice, many in _few(chosen, item).items():
        known = item.choices.get(choice)
        is_right = choice == item.right if item.right else any(a.correct for _, a in answers if a.choice == choice)
        options.append(Share(choice, known.label if known else choice, many, is_right, known.misconception if known else ""))
    rejudged = sum(answer.correct != (answer.choice == item.right) for _, answer in answers) if item.right else 0
    right, shares = separation(key, learners, scores)
    r = point_biserial(right, shares)
    return ItemFigures(
        item, len(answers), sum(answer.correct for _, answer in answers), tuple(options),
        median(distances) if distances else None, median(map(abs, distances)) if distances else None,
        sum(d > 0 and not a.correct for d, a in _with_distance(item, answers)),
        sum(d < 0 and not a.correct for d, a in _with_distance(item, answers)),
        sum(answer.attempts > 1 for _, answer in answers), rejudged,
        r, fisher(r, len(right)) if r is not None else None, len(right),
    )  # fmt: skip


def _few(chosen: dict[str, int], item: Item) -> dict[str, int]:
    """The question's own options, and those that it does not have: the most frequent, then all others as one."""
    unknown = sorted((choice for choice in chosen if choice not in item.choices), key=lambda choice: (-chosen[choice], choice))
    listed = {choice: chosen[choice] for choice in (*item.choices, *unknown[:MOST_UNKNOWN])}
    rest = sum(chosen[choice] for choice in unknown[MOST_UNKNOWN:])
    return {**listed, OTHERS: rest} if rest else listed


def _with_distance(item: Item, answers: Sequence[tuple[Learner, Answer]]) -> list[tuple[float, Answer]]:
    return [(distance, answer) for _, answer in answers if (distance := orders(item, answer)) is not None]


def separation(key: tuple[str, str], learners: Sequence[Learner], scores: Sequence[tuple[int, int]]) -> tuple[list[bool], list[float]]:
    """Who was right here, and each one's share of right answers to the other questions: this one may not vouch for itself."""
    right, shares = [], []
    for one, (answered, correct) in zip(learners, scores, strict=True):
        if key in one.answers and answered > FEWEST_OTHERS:
            own = one.answers[key].correct
            right.append(own)
            shares.append((correct - own) / (answered - 1))
    return right, shares
