"""The kinds of piece: the one table. The widget draws a kind with the function `<kind>Piece` of its JavaScript.

Each kind says what its state is before anybody has touched it; counters such as `commit` rise with every deliberate act.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

State = dict[str, Any]
Spec = Mapping[str, Any]


def _dials(spec: Spec) -> State:
    return {"dials": {dial["id"]: dial.get("value") for dial in spec.get("dials", ())}}


def _option(spec: Spec) -> State:
    options = spec.get("options", ())
    return {"value": spec.get("value", options[0]["value"] if options else None)}


def _number(spec: Spec) -> State:
    return {"value": spec.get("value"), "commit": 0}


def _lock(spec: Spec) -> State:
    return {"choice": None, "confidence": None, "commit": 0, "again": 0, **{part: None for part in ("estimate", "sketch") if part in spec}}


def _answer(spec: Spec) -> State:
    return {"choice": None, "answer": 0}


def _act(spec: Spec) -> State:
    return {"act": 0}


def _look(spec: Spec) -> State:
    return {"look": 0}


def _answers(spec: Spec) -> State:
    return {"answers": []}


KINDS: dict[str, Callable[[Spec], State]] = {
    "instrument": _dials, "lock": _lock, "reflect": _answer, "toggle": _option, "number": _number, "flashcard": _act, "checklist": _act,
    "writing": _act, "map": _act, "walk": _answers, "loop": _answers, "spectrum": _act, "experiment": _act,
    "next": _act, "save": _act, "decide": _act, "hint": _act, "follow": _look,
}  # fmt: skip
