"""Questions answered step by step: each step is asked once the one before is answered, and the engine's verdict on a step is computed
only then."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ironlaw.errors import BadValue
from ironlaw.widget.piece import Piece

Values = Mapping[str, str]


@dataclass(frozen=True)
class Verdict:
    """The engine's verdict on a step: the right option (None where any answer is accepted), and why, as HTML."""

    right: int | None
    says: str


@dataclass(frozen=True)
class Step:
    """`judge(values, answers)` gives the verdict; `answers` are those up to this one, as places among the options."""

    title: str
    ask: str
    options: Sequence[str]
    judge: Callable[[Values, Sequence[int]], Verdict]


def loop(menus: Sequence[Mapping[str, Any]], steps: Sequence[Step], after: Callable[[Values, Sequence[int]], str]) -> Piece:
    """`menus`: id, label, options ((value, label) each); another choice starts over. `after` is HTML once every step is answered."""

    def compute(state: Mapping[str, Any]) -> dict[str, Any]:
        values = {menu["id"]: _pick(menu, state.get(menu["id"])) for menu in menus}
        answers = state.get("answers")
        if not isinstance(answers, (list, tuple)) or len(answers) > len(steps):
            raise BadValue("answer the steps one after the other")
        for step, place in zip(steps, answers, strict=False):
            if isinstance(place, bool) or not isinstance(place, int) or not 0 <= place < len(step.options):
                raise BadValue(f"{place!r} is not an answer to {step.title!r}; choose one of the {len(step.options)}")
        views = [_view(step, values, answers[: i + 1]) for i, step in enumerate(steps[: len(answers)])]
        if len(answers) < len(steps):
            step = steps[len(answers)]
            views.append({"title": step.title, "ask": step.ask, "options": list(step.options), "given": None})
        return {"steps": views, "of": len(steps), "after": after(values, answers) if len(answers) == len(steps) else ""}

    begin = {menu["id"]: menu["options"][0][0] for menu in menus}
    return Piece("loop", {"id": "loop", "menus": list(menus)}, compute, {**begin, "answers": []})


def _view(step: Step, values: Values, answers: Sequence[int]) -> dict[str, Any]:
    verdict = step.judge(values, answers)
    right = None if verdict.right is None else verdict.right == answers[-1]
    return {"title": step.title, "ask": step.ask, "options": list(step.options), "given": answers[-1], "right": right, "says": verdict.says}


def _pick(menu: Mapping[str, Any], value: Any) -> str:
    if value not in [option for option, _ in menu["options"]]:
        raise BadValue(f"{value!r} is not a valid {menu['label'].lower()}; choose one from the menu")
    return str(value)
