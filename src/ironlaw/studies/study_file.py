"""A study file in TOML -> a Study, every name and value checked before anything is computed.

[study]
question = "predict"                      # see `ironlaw study --questions`
search = "random"                         # or "grid", the default
points = 10                               # of a random search
seed = 1

[over]
model = "llama3_8b"                       # one value,
hardware = ["h100_sxm", "h200_sxm"]       # a list,
batch = { from = 1, to = 64, times = 2 }  # or a range: step, times or count; without one, a random search takes any value in it
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from random import Random
from typing import Any

from ironlaw.errors import BadValue, UnknownName, unknown
from ironlaw.files import read_toml
from ironlaw.studies.axis import Axis, axis
from ironlaw.studies.study_question import Point, Question
from ironlaw.studies.study_questions import QUESTIONS, question
from ironlaw.systems.fields import REQUIRED

SEARCHES = ("grid", "random")
MOST = 100_000  # points, unless more are allowed
DRAWS = 100  # of a random search, for each point that it asks for: beyond, too few differ


@dataclass(frozen=True)
class Study:
    """`axes`: one for each parameter of the question, in its order, so that neighbours share a model and a machine."""

    question: Question
    search: str
    axes: tuple[Axis, ...]
    points: int
    seed: int = 0

    def __iter__(self) -> Iterator[Point]:
        names = [one.parameter.name for one in self.axes]
        if self.search == "grid":
            for values in product(*(one.values for one in self.axes)):
                yield dict(zip(names, values, strict=True))
            return
        random, seen = Random(self.seed), set[tuple[Any, ...]]()
        for _ in range(DRAWS * self.points):
            values = tuple(one.draw(random) for one in self.axes)
            if values not in seen:
                seen.add(values)
                yield dict(zip(names, values, strict=True))
                if len(seen) == self.points:
                    return
        raise BadValue(f"{DRAWS * self.points:,} draws gave only {len(seen):,} different points; ask for fewer, or widen a range", "points")


def read_study(place: Path, most: int = MOST) -> Study:
    data = read_toml(
        place, f"a study, or look at a folder's results with --show {place}", "`ironlaw study --questions` shows what to write into one"
    )
    try:
        return study(data, most)
    except (BadValue, UnknownName) as error:
        raise type(error)(f"{place.name}: {error}", error.field) from None


def study(data: Mapping[str, Any], most: int = MOST) -> Study:
    """A study from the tables of a study file."""
    head, over = _table(data, "study"), _table(data, "over")
    for name in data:
        if name not in ("study", "over"):
            raise unknown("table of a study file", name, ("study", "over"))
    for name in head:
        if name not in ("question", "search", "points", "seed"):
            raise unknown("key of [study]", name, ("question", "search", "points", "seed"), field=name)
    if "question" not in head:
        raise BadValue(f"[study] has no question; add `question = …`: {', '.join(QUESTIONS)}", "question")
    asked = question(head["question"])
    search = head.get("search", "grid")
    if search not in SEARCHES:
        raise unknown("search", search, SEARCHES, field="search")
    for name in over:
        asked.parameter(name)
    axes = tuple(_axis(asked, name.name, over) for name in asked.parameters)
    return _sized(asked, search, axes, head, most)


def _table(data: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    if not isinstance(data.get(name), Mapping):
        raise BadValue(f"there is no table [{name}]; add one, with {'`question = …`' if name == 'study' else '`model = […]` and the like'}")
    return data[name]  # type: ignore[no-any-return]


def _axis(asked: Question, name: str, over: Mapping[str, Any]) -> Axis:
    parameter = asked.parameter(name)
    if name in over:
        return axis(parameter, over[name])
    if parameter.default is REQUIRED:
        raise BadValue(f"the question {asked.name} needs {name} ({parameter.about}); add `{name} = …` to [over]", name)
    return Axis(parameter, (parameter.default,))


def _sized(asked: Question, search: str, axes: tuple[Axis, ...], head: Mapping[str, Any], most: int) -> Study:
    """How many points there are, refused where that is too many or too few."""
    seed, size = head.get("seed", 0), math.prod(one.size for one in axes)
    if isinstance(seed, bool) or not isinstance(seed, int):
        raise BadValue(f"seed is {seed!r}; write a whole number", "seed")
    if search == "grid":
        if "points" in head:
            raise BadValue('points are for search = "random"; a grid has as many as its lists make. Leave one of them out', "points")
        for one in (one for one in axes if one.open):
            name = one.parameter.name
            raise BadValue(f'the range of {name} does not say how it steps; add step, times or count, or take search = "random"', name)
        count = int(size)
    else:
        count = head.get("points", 0)
        if isinstance(count, bool) or not isinstance(count, int) or count < 1:
            raise BadValue(f"a random search has points = {count!r}; say how many to draw, such as 200", "points")
        if count > size:
            raise BadValue(f'only {int(size):,} points differ, and points = {count:,}; ask for fewer, or take search = "grid"', "points")
    if count > most:
        raise BadValue(
            f"this makes {count:,} points, more than {most:,}; shorten a list, draw some with"
            f' search = "random" and points = 1000, or allow them with --most {count}',
            "points",
        )
    return Study(asked, search, axes, count, seed)
