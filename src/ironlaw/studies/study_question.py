"""What a study can ask: one of the questions of `systems.questions`, with its name, its version and what its points are ranked by."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from ironlaw.errors import unknown
from ironlaw.systems.fields import Parameter, parameters
from ironlaw.systems.question import Result, results

Point = dict[str, Any]


@dataclass(frozen=True)
class Question:
    """`version` rises when the same parameters get another answer: older results are then not taken for new ones.

    `by` ranks points unless another result is named; of those, only points whose result `needs` is true are ranked.
    """

    name: str
    about: str
    version: int
    parameters: tuple[Parameter, ...]
    results: tuple[Result, ...]
    answer: Callable[[Mapping[str, Any]], dict[str, Any]]
    by: str
    needs: str = ""

    def parameter(self, name: str) -> Parameter:
        for one in self.parameters:
            if one.name == name:
                return one
        raise unknown(f"parameter of the question {self.name}", name, [one.name for one in self.parameters], field=name)

    def result(self, name: str) -> Result:
        """One that points can be ranked by."""
        ranked = [one for one in self.results if one.better]
        for one in ranked:
            if one.name == name:
                return one
        raise unknown(f"result of the question {self.name} to rank by", name, [one.name for one in ranked], field="by")


def studied(name: str, asked: type, about: str, by: str, needs: str, version: int = 1) -> Question:
    """A class of `systems.questions`, asked at many points. Its machine is `hardware`, as the commands' JSON has it."""
    given = results(asked)
    fields = {named(field): field for field in parameters(asked)}
    taken = tuple(replace(one, name=named(one.name)) for one in parameters(asked).values())

    def answer(point: Mapping[str, Any]) -> dict[str, Any]:
        one = asked(**{fields[key]: value for key, value in point.items()})
        return {result.name: getattr(one, result.name) for result in given}

    return Question(name, about, version, taken, given, answer, by, needs)


def named(field: str) -> str:
    return "hardware" if field == "machine" else field
