"""A template and a seed -> one question with its figures, its key and its mistakes, all computed.

A draw is repeated if a mistake could not be distinguished from the key (or from another mistake, where they are shown).
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from ironlaw.errors import BadRegistry
from ironlaw.recall import card_words
from ironlaw.recall.card_expressions import evaluate
from ironlaw.recall.card_templates import Template
from ironlaw.recall.facts import Fact, facts

TRIES = 200
Values = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Mistake:
    """What somebody with the belief answers."""

    value: float
    misconception: str


@dataclass(frozen=True, slots=True)
class Choice:
    """One of several things to choose from or to put in order, as shown."""

    id: str
    label: str
    misconception: str = ""


@dataclass(frozen=True, slots=True)
class Variant:
    """A question with its figures. `key`: a number, a choice's id, or the ids in order; empty where learners grade themselves."""

    template: Template
    seed: int
    values: Values
    text: str
    key: float | str | tuple[str, ...]
    answer: str  # the key as text
    working: str
    unit: str = ""  # of the key
    choices: tuple[Choice, ...] = ()
    mistakes: tuple[Mistake, ...] = ()
    mistaken: tuple[str, ...] = ()  # the order if sorted by the wrong thing
    rubric: tuple[str, ...] = ()
    facts: tuple[Fact, ...] = ()


class Unfit(Exception):
    """A draw that does not make a fair question."""


def variant(template: Template, seed: int) -> Variant:
    """The same seed gives the same question, as long as the registries stay as they are."""
    source = random.Random(f"{template.id}/{seed}")
    for _ in range(TRIES):
        try:
            return _variant(template, seed, source)
        except Unfit:
            continue
    raise BadRegistry(f"{template.where}: {TRIES} draws gave no fair question; fix `draw`, `when`, the tolerance or the mistakes")


def _variant(template: Template, seed: int, source: random.Random) -> Variant:
    values = draw(template, source)
    slots = {name: card_words.display(value) for name, value in values.items()}
    slots |= {name: _slot(template, entry, values) for name, entry in template.show.items()}
    text = card_words.sentence(card_words.fill(template.ask, slots, template.where))
    build = {"explain": _explanation, "order": _order, "choice": _choice, "numeric": _numeric}[template.kind]
    parts = build(template, values, slots, source)
    working = card_words.sentence(card_words.fill(template.working, {**slots, "key": parts.answer}, template.where))
    return Variant(
        template, seed, values, text, parts.key, parts.answer, working, card_words.unit_of(template.unit, values), parts.choices,
        parts.mistakes, parts.mistaken, parts.rubric, facts(template.facts, template.where, values, slots),
    )  # fmt: skip


@dataclass(frozen=True, slots=True)
class _Parts:
    """The part of a variant that depends on the kind of question."""

    key: float | str | tuple[str, ...] = ""
    answer: str = ""
    choices: tuple[Choice, ...] = ()
    mistakes: tuple[Mistake, ...] = ()
    mistaken: tuple[str, ...] = ()
    rubric: tuple[str, ...] = ()


def _explanation(template: Template, values: Values, slots: dict[str, str], source: random.Random) -> _Parts:
    return _Parts(rubric=tuple(card_words.fill(point, slots, template.where) for point in template.rubric))


def _order(template: Template, values: Values, slots: dict[str, str], source: random.Random) -> _Parts:
    key, mistaken = _orders(template, values)
    labels = {item.id: card_words.fill(item.label, slots, template.where) for item in template.items}
    choices = _shuffled([Choice(name, label) for name, label in labels.items()], source)
    return _Parts(key, " < ".join(labels[name] for name in key), choices, mistaken=mistaken)


def _choice(template: Template, values: Values, slots: dict[str, str], source: random.Random) -> _Parts:
    if not template.options:
        value, mistakes = _numbers(template, values)
        return _Parts("right", _amount(template, value, values), _computed_choices(template, value, mistakes, values, source), mistakes)
    labels = {option.id: card_words.fill(option.label, slots, template.where) for option in template.options}
    right = str(evaluate(template.key, template.where, values))
    choices = [Choice(option.id, labels[option.id], option.belief(right)) for option in template.options]
    if right not in labels:
        raise BadRegistry(f"{template.where}: the engine answers {right!r}, which is not an option; add it, or fix the key")
    return _Parts(right, labels[right], _shuffled(choices, source))


def _numeric(template: Template, values: Values, slots: dict[str, str], source: random.Random) -> _Parts:
    value, mistakes = _numbers(template, values)
    return _Parts(value, _amount(template, value, values), mistakes=mistakes)


def draw(template: Template, source: random.Random) -> Values:
    """A value for each name; Unfit where the template's `when` rejects the combination."""
    values: Values = {}
    for name, entry in template.draw.items():
        pool = evaluate(entry, template.where, values) if isinstance(entry, str) else entry
        pool = [tuple(value) if isinstance(value, list) else value for value in pool]
        if not pool:
            raise Unfit
        values[name] = source.choice(pool)
    if template.when and not evaluate(template.when, template.where, values):
        raise Unfit
    return values


def overlap(a: float, b: float, tolerance: float) -> bool:
    """Whether an answer could be within the tolerance of both."""
    return abs(a - b) <= tolerance * (abs(a) + abs(b))


def _slot(template: Template, entry: Any, values: Values) -> str:
    expression, *rest = [entry] if isinstance(entry, str) else entry
    value = evaluate(expression, template.where, values)
    if not rest:
        return card_words.display(value)
    unit, *digits = rest
    return card_words.amount(float(value), card_words.unit_of(unit, values), *digits)


def _amount(template: Template, value: float, values: Values) -> str:
    return card_words.amount(value, card_words.unit_of(template.unit, values), template.digits)


def _numbers(template: Template, values: Values) -> tuple[float, tuple[Mistake, ...]]:
    value = float(evaluate(template.key, template.where, values))
    mistakes = tuple(Mistake(float(evaluate(wrong.key, template.where, values)), wrong.misconception) for wrong in template.wrong)
    if any(overlap(value, mistake.value, template.tolerance) for mistake in mistakes):
        raise Unfit
    return value, mistakes


def _computed_choices(
    template: Template, value: float, mistakes: tuple[Mistake, ...], values: Values, source: random.Random
) -> tuple[Choice, ...]:
    choices = [Choice("right", _amount(template, value, values))]
    choices += [Choice(mistake.misconception, _amount(template, mistake.value, values), mistake.misconception) for mistake in mistakes]
    if len({choice.label for choice in choices}) != len(choices):
        raise Unfit
    return _shuffled(choices, source)


def _orders(template: Template, values: Values) -> tuple[tuple[str, ...], tuple[str, ...]]:
    ranks = {item.id: float(evaluate(item.value, template.where, values)) for item in template.items}
    key = tuple(sorted(ranks, key=ranks.__getitem__))
    if any(overlap(ranks[a], ranks[b], template.tolerance) for a, b in pairwise(key)):
        raise Unfit
    if not template.misconception:
        return key, ()
    wrong_ranks = {item.id: float(evaluate(item.mistaken, template.where, values)) for item in template.items}
    mistaken = tuple(sorted(wrong_ranks, key=wrong_ranks.__getitem__))
    if mistaken == key:
        raise Unfit
    return key, mistaken


def _shuffled(choices: list[Choice], source: random.Random) -> tuple[Choice, ...]:
    source.shuffle(choices)
    return tuple(choices)
