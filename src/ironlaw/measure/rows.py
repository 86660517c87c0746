"""Rows of evidence as measuring drafts them, a function for each kind; `registry/evidence/FORMAT.md` has the fields.

A draft is filled in as times come in: the host's clock first, the profiler last. When it is complete `typed` makes a `Row` of it, which
checks every field. Rows are drafted here and nowhere else in the room. Times are what was measured: `wall_s`, `busy_s` and their like.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from ironlaw.backends.rows import Row

Draft = dict[str, Any]
Times = Mapping[str, Any]
NONE: Times = {}


def op_row(op: str, params: Mapping[str, Any], times: Times = NONE, **more: Any) -> Draft:
    """One operator at one shape."""
    return {"kind": "op", "op": op, "params": dict(params), **more, **times}


def launch_row(op: str, times: Times, **more: Any) -> Draft:
    """What a call costs the host."""
    return {"kind": "launch", "op": op, **more, **times}


def function_row(name: str, params: Mapping[str, Any], mode: str, times: Times = NONE, **more: Any) -> Draft:
    """A few ops together."""
    return {"kind": "function", "name": name, "params": dict(params), "mode": mode, **more, **times}


def model_row(mode: str, times: Times = NONE, **more: Any) -> Draft:
    """A whole model."""
    return {"kind": "model", "mode": mode, **more, **times}


def case_row(name: str, label: str, params: Mapping[str, Any], times: Times) -> Draft:
    """One case of an experiment that is neither an op nor a chain of them; `label` is what a page calls it."""
    return {"kind": "case", "name": name, "label": label, "params": dict(params), **times}


def figure_row(name: str, label: str, value: float, low: float, high: float, unit: str, samples: int, **params: Any) -> Draft:
    """What an experiment counted or drew, where that is not a time: a figure with its 95% interval."""
    return {"kind": "figure", "name": name, "label": label, "value": value, "low": low, "high": high, "unit": unit, "samples": samples,
            "params": params}  # fmt: skip


def error_row(op: str, why: str) -> Draft:
    """What could not be measured."""
    return {"kind": "error", "op": op, "error": why}


def typed(drafts: Iterable[Draft]) -> list[Row]:
    """Complete rows, checked."""
    return [Row.from_json(draft, f"the {draft['kind']} row of {draft.get('op') or draft.get('name') or 'a model'}") for draft in drafts]


def rounded(seconds: float) -> float:
    """The value to six digits, as rows hold times."""
    return float(f"{seconds:.6g}")
