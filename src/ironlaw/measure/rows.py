"""Rows of evidence as measuring writes them, a function for each kind; `registry/evidence/FORMAT.md` has the fields.

Rows are made here and nowhere else in the room. Times are what was measured of one: `wall_s`, `busy_s` and their like.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

Row = dict[str, Any]
Times = Mapping[str, Any]
NONE: Times = {}


def op_row(op: str, params: Mapping[str, Any], times: Times = NONE, **more: Any) -> Row:
    """One operator at one shape."""
    return {"kind": "op", "op": op, "params": dict(params), **more, **times}


def launch_row(op: str, times: Times, **more: Any) -> Row:
    """What a call costs the host."""
    return {"kind": "launch", "op": op, **more, **times}


def function_row(name: str, params: Mapping[str, Any], mode: str, times: Times = NONE, **more: Any) -> Row:
    """A few ops together."""
    return {"kind": "function", "name": name, "params": dict(params), "mode": mode, **more, **times}


def model_row(mode: str, times: Times = NONE, **more: Any) -> Row:
    """A whole model."""
    return {"kind": "model", "mode": mode, **more, **times}


def error_row(op: str, why: str) -> Row:
    """What could not be measured."""
    return {"kind": "error", "op": op, "error": why}


def rounded(seconds: float) -> float:
    """To six digits, as rows hold times."""
    return float(f"{seconds:.6g}")
