"""Misconceptions: the belief, whether it is held, and the counter-example that refutes it, computed.

The beliefs are those of labs/misconceptions.toml. counterexamples/*.toml has a table for each:

    [fusion_saves_flops]
    refuted = 'fuse(chain("mul", "relu")).graph.work.flops == chain("mul", "relu").work.flops'   # true: the belief fails here
    show.bytes = ['chain("mul", "relu").bytes', "B"]                                             # as in a question's template
    says = "… {{ bytes }} …"
    source = "h200_sxm/models"          # where it rests on evidence (expressions see `row`); otherwise the engine computes it
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from functools import cache
from pathlib import Path
from typing import Any

from ironlaw.errors import BadRegistry, unknown
from ironlaw.recall import card_words
from ironlaw.recall.card_expressions import evaluate, is_hardcoded
from ironlaw.recall.card_templates import templates
from ironlaw.recall.confidence import Prediction
from ironlaw.recall.record import Review
from ironlaw.recall.schedule import SURE
from ironlaw.registry.loader import read

HERE = Path(__file__).parent
LABS = HERE.parent / "labs"  # its data only: the rooms above are not imported
FIELDS = ("refuted", "show", "says", "source")


@dataclass(frozen=True)
class CounterExample:
    """A case in which the belief fails. The figures in `text` are computed when it is read."""

    belief: str
    says: str
    refuted: str
    where: str
    show: Mapping[str, Any] = field(default_factory=dict)
    source: str = ""

    @property
    def holds(self) -> bool:
        """Whether the case refutes the belief with today's registries."""
        return bool(evaluate(self.refuted, self.where))

    @property
    def text(self) -> str:
        slots = {}
        for name, entry in self.show.items():
            expression, *rest = [entry] if isinstance(entry, str) else entry
            value = evaluate(expression, self.where)
            slots[name] = card_words.amount(float(value), *rest) if rest else card_words.display(value)
        return card_words.fill(self.says, slots, self.where)


@dataclass(frozen=True, slots=True)
class HeldBelief:
    """A belief that was chosen with confidence and not given up since."""

    belief: str
    says: str
    times: int
    last: datetime
    where: tuple[str, ...]  # cards and labs


@cache
def beliefs() -> Mapping[str, str]:
    """id -> the belief, as someone who holds it would put it."""
    return {name: str(text) for name, text in read(LABS / "misconceptions.toml").items()}


def belief(name: str) -> str:
    if name not in beliefs():
        raise unknown("misconception", name, beliefs(), "a line in labs/misconceptions.toml")
    return beliefs()[name]


@cache
def counterexamples() -> Mapping[str, CounterExample]:
    examples: dict[str, CounterExample] = {}
    for path in sorted((HERE / "counterexamples").glob("*.toml")):
        for name, table in read(path).items():
            examples[name] = _example(f"{path.name} [{name}]", name, table)
    return examples


def counterexample(name: str) -> CounterExample:
    if name not in counterexamples():
        raise unknown("counter-example", name, counterexamples(), f"[{name}] in a file of recall/counterexamples/")
    return counterexamples()[name]


def held_beliefs(reviews: Iterable[Review], predictions: Iterable[Prediction] = ()) -> list[HeldBelief]:
    """Beliefs chosen with a confidence of 4 or 5, the most frequent first. A later right answer on a card that offers the belief
    clears it; later is later in the ledger, whatever the clock said."""
    chosen: dict[str, list[tuple[int, datetime, str]]] = {}
    cleared: dict[str, int] = {}
    for review in reviews:
        if review.misconception and not review.correct and review.confidence >= SURE:
            chosen.setdefault(review.misconception, []).append((review.place, review.at, review.card))
        if review.correct and review.card in templates():
            for name in templates()[review.card].misconceptions:
                cleared[name] = max(review.place, cleared.get(name, -1))
    for prediction in predictions:
        name = chosen_belief(prediction.lab, prediction.question, prediction.choice)
        if name and not prediction.correct and prediction.confidence >= SURE:
            chosen.setdefault(name, []).append((prediction.place, datetime.fromisoformat(prediction.time), prediction.lab))
    held = []
    for name, times in chosen.items():
        place, last, _ = max(times, key=lambda time: time[0])
        if name in beliefs() and cleared.get(name, -1) < place:
            held.append(HeldBelief(name, beliefs()[name], len(times), last, tuple(dict.fromkeys(where for *_, where in times))))
    return sorted(held, key=lambda one: (-one.times, one.belief))


@cache
def chosen_belief(lab: str, question: str, choice: str) -> str:
    """The belief behind an option of a lab's question; empty where the lab or the option no longer exists."""
    path = LABS / lab / "questions.toml"
    if not re.fullmatch(r"[A-Za-z0-9_]{1,100}", lab) or not path.is_file():  # a name from an import may not be the name of a folder
        return ""
    table = read(path).get(question, {})
    return next((str(option.get("misconception", "")) for option in table.get("options", ()) if option.get("id") == choice), "")


def _example(where: str, name: str, table: Any) -> CounterExample:
    for key in ("refuted", "says"):
        if not isinstance(table, Mapping) or not str(table.get(key, "")).strip():
            raise BadRegistry(f"{where} has no {key}; add `{key} = …` there")
    for key in table:
        if key not in FIELDS:
            raise BadRegistry(f"{where}: unknown key {key!r}; known: {', '.join(FIELDS)}")
    if is_hardcoded(table["refuted"]):
        raise BadRegistry(f"{where}: {table['refuted']!r} is hard-coded; compute it from the engine, or from a row of the evidence")
    return CounterExample(name, table["says"], table["refuted"], where, table.get("show", {}), table.get("source", ""))
