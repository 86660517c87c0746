"""questions.toml -> questions whose answers the engine computes.

    [act1]                      # the name is permanent: the ledger keeps answers under it
    key = 'hardware("h100_sxm").peak("fp16") / hardware("cortex_m7").peak("fp32")'
    scale = "log"               # numbers: the option nearest on a log axis is right; without it, the one that is equal
    options = [
      { id = "hundred", value = 1e2, misconception = "gap_is_tuning" },   # option ids are permanent too
      …
    ]

`key` is Python over the claims registry's namespace (the engine and the registries, nothing else), with `leading` on top.
An option without a label is labelled by its value. Every option but the right one names a misconception; which one is right
depends on the registry, so each names the belief that would lead to it (`misconception`), and the check asks for it.

    scale = "linear"            # the option nearest on a linear axis is right; half-way between two, the lower one
    context = "h100_sxm"        # what it is about, where that is one [[context]]: after the commit the instrument stands there
    reads = "ledger"            # the key sees the learner's own record, too: kit/learner_keys.py
"""

from __future__ import annotations

import ast
import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ironlaw.errors import BadRegistry, BadValue, unknown
from ironlaw.kit.prose import power_of_ten
from ironlaw.ledger import Event
from ironlaw.registry.loader import read

if TYPE_CHECKING:
    from ironlaw.engine.device.prediction import Prediction

CHOICES = 4  # of a prediction
LEDGER = "ledger"
KINDS = ("prediction", "decision", "reflection", "blank", "number")
COMMITTED = ("prediction", "decision")  # sealed with a confidence; a decision is one that no act begins with
FEWEST = {"blank": 2, "number": 0}  # options; a blank of a sentence may have fewer than four, a number has none
EQUAL = "equal"


def leading(prediction: Prediction, within: float) -> str:
    """The largest of the three terms; "equal" where the next is closer than `within` (a share of the largest)."""
    first, second = sorted((prediction.data_s, prediction.compute_s, prediction.overhead_s), reverse=True)[:2]
    return EQUAL if second >= (1.0 - within) * first else str(prediction.bound)


@dataclass(frozen=True, slots=True)
class Option:
    id: str
    value: float | str
    label: str  # Markdown
    misconception: str = ""


@dataclass(frozen=True, slots=True)
class Question:
    """One question. Its answer is computed anew each time: change a figure of the registry and the key follows."""

    name: str
    kind: str
    key: str
    options: tuple[Option, ...]
    scale: str = ""
    where: str = ""
    tolerance: float = 0.0  # of a number: how near counts, as a share of the answer
    unit: str = ""
    personal: bool = False
    context: str = ""  # the one that it is about, where it is about one: the lab goes there when it is committed
    learner: Callable[[], Mapping[str, Any]] | None = field(default=None, compare=False, repr=False)  # what a key about the learner can see

    @property
    def answer(self) -> float | str:
        if self.personal and self.learner is None:
            raise BadValue(f"{self.where} [{self.name}]: the answer is each learner's own; open the lab with a ledger", self.name)
        answer: float | str = evaluate(self.key, f"{self.where} [{self.name}]", self.learner() if self.learner else None)
        return answer

    @property
    def right(self) -> Option:
        answer = self.answer
        if self.scale == "log":
            return min(self.options, key=lambda o: abs(math.log10(float(o.value)) - math.log10(float(answer))))
        if self.scale == "linear":
            return min(self.options, key=lambda o: (abs(float(o.value) - float(answer)), float(o.value)))
        matches = [o for o in self.options if o.value == answer]
        if len(matches) != 1:
            raise BadRegistry(f"{self.where} [{self.name}]: the engine answers {answer!r}, which {len(matches)} options have; one must")
        return matches[0]

    def near(self, value: float) -> bool:
        """Whether an entered number is right, within the tolerance."""
        answer = float(self.answer)
        return abs(value - answer) <= self.tolerance * abs(answer)

    def answers(self, events: Iterable[Event]) -> list[Event]:
        """The answers that chose one of these options. An import, or a lab as it once was, may have others."""
        known = {option.id for option in self.options}
        return [event for event in events if str(event.payload.get("choice")) in known]

    def option(self, name: str) -> Option:
        for option in self.options:
            if option.id == name:
                return option
        raise unknown(f"option of {self.name}", name, [o.id for o in self.options])

    def at(self, index: Any) -> tuple[int, Option]:
        """The option at a position; the browser sends positions."""
        if isinstance(index, bool) or not isinstance(index, int) or not 0 <= index < len(self.options):
            raise BadValue(f"{index!r} is not an option; choose one of the {len(self.options)}")
        return index, self.options[index]

    def place(self, name: str) -> int:
        return self.options.index(self.option(name))


@dataclass(frozen=True, slots=True)
class Sheet:
    """All of a questions.toml."""

    lab: Mapping[str, Any]  # [lab]: number, minutes, next
    premises: Mapping[str, str]  # [given]: premises of the story, slots for words.md
    contexts: tuple[Mapping[str, Any], ...]  # [[context]]
    questions: Mapping[str, Question]


def load(path: Path) -> Sheet:
    """Read anew when the file has changed: a page asks twice for it whenever it is opened, and parsing takes most of that."""
    return _parsed(path, path.read_bytes())


@lru_cache(maxsize=64)
def _parsed(path: Path, content: bytes) -> Sheet:
    data, where = read(path), f"{path.parent.name}/{path.name}"
    tables = {name: table for name, table in data.items() if name not in ("lab", "given", "context")}
    questions = {name: _question(where, name, table) for name, table in tables.items()}
    premises = {name: f"{value:,}" if type(value) is int else str(value) for name, value in data.get("given", {}).items()}
    known = [str(entry.get("device") or entry.get("data")) for entry in data.get("context", ())]
    for name, question in questions.items():
        if question.context and question.context not in known:
            raise unknown(f"context of {where} [{name}]", question.context, known)
    return Sheet(data.get("lab", {}), premises, tuple(data.get("context", ())), questions)


def _question(where: str, name: str, table: Any) -> Question:
    at = f"{where} [{name}]"
    if not isinstance(table, Mapping) or not str(table.get("key", "")).strip():
        raise BadRegistry(f"{at} has no key; add `key = '…'`, an expression over the engine that computes the answer")
    if table.get("kind") not in KINDS:
        raise BadRegistry(f"{at}: kind is {table.get('kind')!r}; choose one of {', '.join(KINDS)}")
    options = []
    for entry in table.get("options", ()):
        for key in ("id", "value"):
            if key not in entry:
                raise BadRegistry(f"{at}: an option has no {key}; add it (ids are permanent, so choose one that can stay)")
        value = entry["value"]
        label = entry.get("label") or (power_of_ten(value) if isinstance(value, (int, float)) else str(value))
        options.append(Option(entry["id"], value, label, entry.get("misconception", "")))
    fewest, most = FEWEST.get(table["kind"], CHOICES), 0 if table["kind"] == "number" else CHOICES
    if not fewest <= len(options) <= most or len({o.id for o in options}) != len(options):
        rule = {"blank": "a blank has two to four", "number": "a number has none"}.get(table["kind"], "a question has four")
        raise BadRegistry(f"{at}: {len(options)} options; {rule}, each with an id of its own")
    if table.get("reads", LEDGER) != LEDGER:
        raise BadRegistry(f"{at}: reads is {table['reads']!r}; a key may read the {LEDGER!r}, or nothing but engine and registries")
    more = (float(table.get("tolerance", 0.0)), str(table.get("unit", "")), "reads" in table, str(table.get("context", "")))
    return Question(name, table["kind"], str(table["key"]), tuple(options), str(table.get("scale", "")), where, *more)


def evaluate(expression: str, where: str, more: Mapping[str, Any] | None = None) -> Any:
    """What the engine says: the claims registry's evaluator, for answers that may be names as well as numbers."""
    from ironlaw.claims.expressions import compute, kept

    if more is None:  # the same for every learner: a page asks for it dozens of times
        return kept(expression, where, {"leading": leading})
    return compute(expression, where, {"leading": leading, **more})


@cache
def is_hard_coded(expression: str) -> bool:
    """Whether a key calls nothing, and so is hard-coded rather than computed."""
    from ironlaw.claims.expression_tree import tree

    try:
        return not any(isinstance(node, ast.Call) for node in ast.walk(tree(expression)))
    except ValueError:
        return False  # `evaluate` says what is wrong, and where
