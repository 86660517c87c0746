"""A template and a seed -> one question with its figures, its key and its mistakes, all computed.

Draws whose mistakes could not be told from the key (or from each other, where they are shown) are drawn again.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from ironlaw.errors import BadRegistry
from ironlaw.recall import words
from ironlaw.recall.expressions import evaluate
from ironlaw.recall.templates import Template

TRIES = 200
Drawn = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Mistake:
    """What somebody with the belief answers."""

    value: float
    misconception: str


@dataclass(frozen=True, slots=True)
class Choice:
    """One of several things to choose or to put in order, as they are shown."""

    id: str
    label: str
    misconception: str = ""


@dataclass(frozen=True, slots=True)
class Variant:
    """A question with its figures. `key`: a number, a choice's id, or the ids in order; empty where the learner grades."""

    template: Template
    seed: int
    drawn: Drawn
    text: str
    key: float | str | tuple[str, ...]
    answer: str  # the key to read
    working: str
    choices: tuple[Choice, ...] = ()
    mistakes: tuple[Mistake, ...] = ()
    mistaken: tuple[str, ...] = ()  # the order of who sorts by the wrong thing
    rubric: tuple[str, ...] = ()


class Unfit(Exception):
    """A draw that makes no fair question."""


def variant(template: Template, seed: int) -> Variant:
    """The same seed gives the same question, as long as the registries stay as they are."""
    source = random.Random(f"{template.id}/{seed}")
    for _ in range(TRIES):
        try:
            return _variant(template, seed, source)
        except Unfit:
            continue
    raise BadRegistry(f"{template.where}: {TRIES} draws and no fair question; mend `draw`, `when`, the tolerance or the mistakes")


def _variant(template: Template, seed: int, source: random.Random) -> Variant:
    drawn = draw(template, source)
    slots = {name: words.shown(value) for name, value in drawn.items()}
    slots |= {name: _slot(template, given, drawn) for name, given in template.show.items()}
    text = words.sentence(words.fill(template.ask, slots, template.where))
    made = {"explain": _explained, "order": _ordered, "choice": _chosen, "numeric": _numeric}[template.kind]
    parts = made(template, drawn, slots, source)
    working = words.sentence(words.fill(template.working, {**slots, "key": parts.answer}, template.where))
    return Variant(
        template, seed, drawn, text, parts.key, parts.answer, working, parts.choices, parts.mistakes, parts.mistaken, parts.rubric
    )


@dataclass(frozen=True, slots=True)
class _Parts:
    """What depends on the kind of question."""

    key: float | str | tuple[str, ...] = ""
    answer: str = ""
    choices: tuple[Choice, ...] = ()
    mistakes: tuple[Mistake, ...] = ()
    mistaken: tuple[str, ...] = ()
    rubric: tuple[str, ...] = ()


def _explained(template: Template, drawn: Drawn, slots: dict[str, str], source: random.Random) -> _Parts:
    return _Parts(rubric=tuple(words.fill(point, slots, template.where) for point in template.rubric))


def _ordered(template: Template, drawn: Drawn, slots: dict[str, str], source: random.Random) -> _Parts:
    key, mistaken = _orders(template, drawn)
    labels = {item.id: words.fill(item.label, slots, template.where) for item in template.items}
    choices = _shuffled([Choice(name, label) for name, label in labels.items()], source)
    return _Parts(key, " < ".join(labels[name] for name in key), choices, mistaken=mistaken)


def _chosen(template: Template, drawn: Drawn, slots: dict[str, str], source: random.Random) -> _Parts:
    if not template.options:
        value, mistakes = _numbers(template, drawn)
        return _Parts("right", _amount(template, value), _computed(template, value, mistakes, source), mistakes)
    labels = {option.id: words.fill(option.label, slots, template.where) for option in template.options}
    choices = [Choice(option.id, labels[option.id], option.misconception) for option in template.options]
    right = str(evaluate(template.key, template.where, drawn))
    if right not in labels:
        raise BadRegistry(f"{template.where}: the engine answers {right!r}, which no option has; add it, or mend the key")
    return _Parts(right, labels[right], _shuffled(choices, source))


def _numeric(template: Template, drawn: Drawn, slots: dict[str, str], source: random.Random) -> _Parts:
    value, mistakes = _numbers(template, drawn)
    return _Parts(value, _amount(template, value), mistakes=mistakes)


def draw(template: Template, source: random.Random) -> Drawn:
    """A value for each name; Unfit where the template does not want them together."""
    drawn: Drawn = {}
    for name, given in template.draw.items():
        pool = evaluate(given, template.where, drawn) if isinstance(given, str) else given
        pool = [tuple(value) if isinstance(value, list) else value for value in pool]
        if not pool:
            raise Unfit
        drawn[name] = source.choice(pool)
    if template.when and not evaluate(template.when, template.where, drawn):
        raise Unfit
    return drawn


def overlap(a: float, b: float, tolerance: float) -> bool:
    """Whether an answer could be within the tolerance of both."""
    return abs(a - b) <= tolerance * (abs(a) + abs(b))


def _slot(template: Template, given: Any, drawn: Drawn) -> str:
    expression, *rest = [given] if isinstance(given, str) else given
    value = evaluate(expression, template.where, drawn)
    return words.amount(float(value), *rest) if rest else words.shown(value)


def _amount(template: Template, value: float) -> str:
    return words.amount(value, template.unit, template.digits)


def _numbers(template: Template, drawn: Drawn) -> tuple[float, tuple[Mistake, ...]]:
    value = float(evaluate(template.key, template.where, drawn))
    mistakes = tuple(Mistake(float(evaluate(wrong.key, template.where, drawn)), wrong.misconception) for wrong in template.wrong)
    if any(overlap(value, mistake.value, template.tolerance) for mistake in mistakes):
        raise Unfit
    return value, mistakes


def _computed(template: Template, value: float, mistakes: tuple[Mistake, ...], source: random.Random) -> tuple[Choice, ...]:
    made = [Choice("right", _amount(template, value))]
    made += [Choice(mistake.misconception, _amount(template, mistake.value), mistake.misconception) for mistake in mistakes]
    if len({choice.label for choice in made}) != len(made):
        raise Unfit
    return _shuffled(made, source)


def _orders(template: Template, drawn: Drawn) -> tuple[tuple[str, ...], tuple[str, ...]]:
    values = {item.id: float(evaluate(item.value, template.where, drawn)) for item in template.items}
    key = tuple(sorted(values, key=values.__getitem__))
    if any(overlap(values[a], values[b], template.tolerance) for a, b in pairwise(key)):
        raise Unfit
    if not template.misconception:
        return key, ()
    guessed = {item.id: float(evaluate(item.mistaken, template.where, drawn)) for item in template.items}
    mistaken = tuple(sorted(guessed, key=guessed.__getitem__))
    if mistaken == key:
        raise Unfit
    return key, mistaken


def _shuffled(choices: list[Choice], source: random.Random) -> tuple[Choice, ...]:
    source.shuffle(choices)
    return tuple(choices)
