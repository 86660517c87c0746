"""On what a verdict depends: the smallest set of premises whose values tell the readings that agree from those that don't."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

from ironlaw.claims import premise_words
from ironlaw.claims.premise_words import label
from ironlaw.claims.reading import FILE, Reading

NOT_RECORDED = "not recorded"
NO_SUCH = "–"  # the value of a parameter that the model does not have
MOST_LISTED = 5  # places where a claim holds
MOST_NAMED = 2  # other premises that would do

Verdicts = Sequence[tuple[Reading, bool]]


@dataclass(frozen=True, slots=True)
class Premise:
    """`on`: the premises that decide, by name. `holds`: where. `also`: other sets that tell the readings apart as well.

    `unrecorded`: premise -> in how many of the readings it is missing.
    """

    on: tuple[str, ...]
    holds: str
    also: tuple[tuple[str, ...], ...] = ()
    unrecorded: Mapping[str, int] | None = None

    def sentence(self, count: int, held: str = "") -> str:
        """`Depends on the sequence length and the causal mask. It holds for S ≥ 4,096, causal = 1 (3 of 17 readings).`

        `held`: in how many of the `count` readings, in words.
        """
        words = f"Depends on {listed(label(key) for key in self.on)}. It holds for {self.holds}{f' ({held})' if held else ''}."
        for key, missing in (self.unrecorded or {}).items():
            words += f" {label(key).capitalize()} is {NOT_RECORDED} in {missing} of {count} readings."
        if self.also:
            others = " or ".join(listed(label(key) for key in keys) for keys in self.also[:MOST_NAMED])
            words += f" The readings can't tell this apart from {others}."
        return words


def listed(names: Iterable[str]) -> str:
    *most, last = list(names)
    return f"{', '.join(most)} and {last}" if most else last


def find(judged: Verdicts) -> Premise:
    """The premise behind readings that disagree."""
    judged = list(zip(_completed([reading for reading, _ in judged]), (holds for _, holds in judged), strict=True))
    keys = _varying([reading for reading, _ in judged])
    sets = _smallest(judged, keys) or _smallest(judged, [*keys, FILE]) or [(FILE,)]
    ranked = sorted(sets, key=lambda keys: (_missing(judged, keys), sum(map(_order, keys)), len(_runs(judged, keys))))
    best, fewest = ranked[0], len(_runs(judged, ranked[0]))
    also = tuple(keys for keys in ranked[1:] if len(_runs(judged, keys)) <= fewest + 1)
    unrecorded = {key: missing for key in best if (missing := _missing(judged, (key,)))}
    return Premise(best, _where(judged, best), also, unrecorded)


def value_text(key: str, value: Any) -> str:
    """`S = 4,096`, `NVIDIA H200`, `16,384×8,192`, `causal mask not recorded`."""
    name = premise_words.name(key)
    if value is None:
        return f"{name or label(key).removeprefix('the ')} {NOT_RECORDED}"
    text = premise_words.value(key, value)
    return f"{name} = {text}" if name else text


def _completed(readings: Sequence[Reading]) -> list[Reading]:
    """A parameter that a model does not have was not forgotten: a convolution network has no sequence."""
    keys = {key for reading in readings for key in reading.premises}
    has = {(reading.get("model"), key) for reading in readings for key in reading.premises}
    return [
        replace(reading, premises={**reading.premises, **{key: NO_SUCH for key in keys if (reading.get("model"), key) not in has}})
        if reading.get("model")
        else reading
        for reading in readings
    ]


def _varying(readings: Sequence[Reading]) -> list[str]:
    keys = dict.fromkeys(key for reading in readings for key in reading.premises)
    return [key for key in keys if len({reading.get(key) for reading in readings}) > 1]


def _smallest(judged: Verdicts, keys: Sequence[str]) -> list[tuple[str, ...]]:
    for size in range(1, len(keys) + 1):
        sets = [chosen for chosen in combinations(keys, size) if _separates(judged, chosen)]
        if sets:
            return sets
    return []


def _separates(judged: Verdicts, keys: Sequence[str]) -> bool:
    seen: dict[tuple[Any, ...], bool] = {}
    return all(seen.setdefault(tuple(reading.get(key) for key in keys), holds) == holds for reading, holds in judged)


def _missing(judged: Verdicts, keys: Sequence[str]) -> int:
    return sum(reading.get(key) is None for reading, _ in judged for key in keys)


def _order(key: str) -> int:
    """What was run, and on what, comes before details and before how it was timed."""
    return {FILE: 3, "clock": 1, "classes": 1}.get(key, 0)


@dataclass(frozen=True, slots=True)
class _Run:
    """Neighbouring values of an ordered premise with one verdict, all else equal. `low`, `high`: None where nothing lies beyond."""

    fixed: tuple[tuple[str, Any], ...]
    key: str
    low: Any
    high: Any
    holds: bool

    @property
    def text(self) -> str:
        span = self.alone if self.key and not self.fixed else self.span
        if not span and len(self.fixed) == 1 and _is_number(self.fixed[0][1]) and self.fixed[0][0] not in premise_words.VALUES:
            return premise_words.value(*self.fixed[0])  # the sentence has just named it
        return ", ".join([*([span] if span else []), *(value_text(key, value) for key, value in self.fixed if value != NO_SUCH)])

    @property
    def ends(self) -> tuple[str, str]:
        low, high = (premise_words.value(self.key, end) if end is not None else "" for end in (self.low, self.high))
        return low, high

    @property
    def alone(self) -> str:
        """Where the sentence has just named the premise: `4,096 or more`."""
        low, high = self.ends
        if low and high:
            return low if low == high else f"{low} to {high}"
        if low:
            return f"{low} or more"
        return f"{high} or less" if high and self.high != 0 and not self._fewest else high

    @property
    def _fewest(self) -> bool:
        """Whether this is the smallest value of a count, below which there is none."""
        return self.high == 1 and label(self.key).startswith("the number of")

    @property
    def span(self) -> str:
        if not self.key or (self.low is None and self.high is None):
            return ""
        name = premise_words.name(self.key) or label(self.key).removeprefix("the ")
        low, high = self.ends
        if low and high:
            return f"{name} = {low}" if low == high else f"{name} {low} to {high}"
        return f"{name} ≥ {low}" if low else f"{name} ≤ {high}"


def _runs(judged: Verdicts, keys: Sequence[str]) -> list[_Run]:
    """The fewest pieces that describe the verdicts, over the choice of the premise that is put in order."""
    ordered = [key for key in keys if _is_ordered({size(reading.get(key)) for reading, _ in judged} - {None, NO_SUCH})]
    return min((_runs_along(judged, keys, key) for key in (*ordered, "")), key=len)


def _runs_along(judged: Verdicts, keys: Sequence[str], along: str) -> list[_Run]:
    groups: dict[tuple[tuple[str, Any], ...], dict[Any, bool]] = {}
    for reading, holds in judged:
        value = reading.get(along) if along else None
        # a value that was not recorded has no place in the order
        fixed = tuple((key, reading.get(key)) for key in keys if key != along or value in (None, NO_SUCH))
        groups.setdefault(fixed, {})[None if value == NO_SUCH else value] = holds
    runs = []
    for fixed, verdicts in groups.items():
        values = sorted(verdicts, key=lambda value: size(value) if value is not None else 0)
        start = 0
        for i in range(1, len(values) + 1):
            if i == len(values) or verdicts[values[i]] != verdicts[values[start]]:
                low, high = values[start] if start else None, values[i - 1] if i < len(values) else None
                runs.append(_Run(fixed, along if values[start] is not None else "", low, high, verdicts[values[start]]))
                start = i
    return runs


def _where(judged: Verdicts, keys: Sequence[str]) -> str:
    runs = _runs(judged, keys)
    holding, failing = (list(dict.fromkeys(run.text for run in runs if run.holds == holds)) for holds in (True, False))
    if len(failing) <= MOST_LISTED < len(holding):
        return f"all but {'; '.join(failing)}"
    more = f"; and {len(holding) - MOST_LISTED} more" if len(holding) > MOST_LISTED else ""
    return "; ".join(holding[:MOST_LISTED]) + more


def size(value: Any) -> Any:
    """What puts values in order: a shape by its elements."""
    return math.prod(value) if isinstance(value, tuple) and all(_is_number(item) for item in value) else value


def _is_ordered(values: set[Any]) -> bool:
    """Numbers, and not only a switch that is on or off."""
    return all(_is_number(value) for value in values) and not values <= {0, 1}


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)
