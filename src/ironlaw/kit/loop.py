"""Steps that ask and are answered one after the other: the next is asked once the one before is answered, and the engine's answer to a
step is computed only then."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ironlaw.errors import BadValue
from ironlaw.widget.piece import Piece

Values = Mapping[str, str]


@dataclass(frozen=True)
class Told:
    """The engine's answer to a step: what is right (None where any answer may stand), and why, as HTML."""

    right: int | None
    says: str


@dataclass(frozen=True)
class Step:
    """`told(values, given)` answers it; `given` are the answers up to this one, as places among the options."""

    title: str
    ask: str
    options: Sequence[str]
    told: Callable[[Values, Sequence[int]], Told]


def loop(menus: Sequence[Mapping[str, Any]], steps: Sequence[Step], after: Callable[[Values, Sequence[int]], str]) -> Piece:
    """`menus`: id, label, options ((value, label) each); another choice begins anew. `after` is HTML once every step is answered."""

    def compute(state: Mapping[str, Any]) -> dict[str, Any]:
        values = {menu["id"]: _pick(menu, state.get(menu["id"])) for menu in menus}
        given = state.get("answers")
        if not isinstance(given, (list, tuple)) or len(given) > len(steps):
            raise BadValue("answer the steps one after the other")
        for step, place in zip(steps, given, strict=False):
            if isinstance(place, bool) or not isinstance(place, int) or not 0 <= place < len(step.options):
                raise BadValue(f"{place!r} is not an answer to {step.title!r}; choose one of the {len(step.options)}")
        shown = [_shown(step, values, given[: i + 1]) for i, step in enumerate(steps[: len(given)])]
        if len(given) < len(steps):
            waits = steps[len(given)]
            shown.append({"title": waits.title, "ask": waits.ask, "options": list(waits.options), "given": None})
        return {"steps": shown, "of": len(steps), "after": after(values, given) if len(given) == len(steps) else ""}

    begin = {menu["id"]: menu["options"][0][0] for menu in menus}
    return Piece("loop", {"id": "loop", "menus": list(menus)}, compute, {**begin, "answers": []})


def _shown(step: Step, values: Values, given: Sequence[int]) -> dict[str, Any]:
    told = step.told(values, given)
    right = None if told.right is None else told.right == given[-1]
    return {"title": step.title, "ask": step.ask, "options": list(step.options), "given": given[-1], "right": right, "says": told.says}


def _pick(menu: Mapping[str, Any], value: Any) -> str:
    if value not in [option for option, _ in menu["options"]]:
        raise BadValue(f"{value!r} is no {menu['label'].lower()} here; choose one of the menu")
    return str(value)
