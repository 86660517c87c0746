"""Expressions of claims, keys and cards: Python over `NAMESPACE` and nothing else.

They come with the package or with a lab of one's own, and a file of data must not be able to run code all the same: `expression_tree` says
what an expression may be, `expression_limits` how large and how long it may become.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Mapping
from functools import cache
from types import CodeType
from typing import Any

from ironlaw.claims.expression_limits import Limits
from ironlaw.claims.expression_tree import guarded, tree
from ironlaw.claims.names import NAMESPACE
from ironlaw.errors import BadRegistry
from ironlaw.registry.model_files import without_files

LONGEST_QUOTE = 800  # characters of an expression in a message


def compute(expression: str, where: str, more: Mapping[str, Any] | None = None) -> Any:
    """What an expression over NAMESPACE (and `more`) says; whatever goes wrong, the reader learns where it is written."""
    try:
        code, names = _compiled(expression)
        given = more or {}
        used = {name: NAMESPACE[name] for name in names if name in NAMESPACE and name not in given}
        with without_files():
            return eval(code, {"__builtins__": {}, **Limits().names(), **used, **given})
    except Exception as error:
        raise BadRegistry(f"{where}: cannot compute {_brief(expression)}: {_reason(error)}; fix the expression there") from error


def _reason(error: Exception) -> str:
    return "it calls itself without end" if isinstance(error, RecursionError) else str(error)[:500]


def _brief(expression: str) -> str:
    return repr(expression if len(expression) <= LONGEST_QUOTE else f"{expression[:LONGEST_QUOTE]}…")


def evaluate(expression: str, where: str, more: Mapping[str, Any] | None = None) -> float:
    """The value of an expression, as a number."""
    result = compute(expression, where, more)
    try:
        return float(result)
    except (TypeError, ValueError, OverflowError) as error:
        raise BadRegistry(f"{where}: cannot compute {_brief(expression)}: {_reason(error)}; fix the expression there") from error


def figure(expression: str, where: str, case: Mapping[str, Any]) -> float:
    """The same for a claim under one of its premises, kept for as long as the names that it uses stay as they are."""
    try:
        used = tuple(NAMESPACE[name] for name in _compiled(expression)[1] if name in NAMESPACE)
    except ValueError:
        used = ()  # `evaluate` says what is wrong with it
    key = (expression, tuple(sorted(case.items())), tuple(map(id, used)))
    if key not in _figures:
        _figures[key] = evaluate(expression, where, case), used
    return _figures[key][0]


_figures: dict[tuple[Any, ...], tuple[float, tuple[Any, ...]]] = {}  # with what the ids are of: one that is gone lends its id to another


def kept(expression: str, where: str, more: Mapping[str, Any]) -> Any:
    """What `compute` says with the same `more` every time, kept for as long as the names that the expression uses stay as they are."""
    try:
        key = (expression, tuple(NAMESPACE[name] for name in _compiled(expression)[1] if name in NAMESPACE))
    except ValueError:
        return compute(expression, where, more)  # which says what is wrong with it
    if key not in _kept:
        _kept[key] = compute(expression, where, more)
    return _kept[key]


_kept: dict[tuple[Any, ...], Any] = {}


def literals(expression: str) -> list[float]:
    """The numbers that are written in an expression."""
    values = [node.value for node in ast.walk(tree(expression)) if isinstance(node, ast.Constant)]
    numbers = [value for value in values if isinstance(value, (int, float)) and not isinstance(value, bool)]
    return [float(number) for number in numbers if abs(number) <= sys.float_info.max]


def names(expression: str) -> set[str]:
    """The names of NAMESPACE that an expression uses."""
    return {name for name in _compiled(expression)[1] if name in NAMESPACE}


@cache
def _compiled(expression: str) -> tuple[CodeType, tuple[str, ...]]:
    """The code, and the names that it uses."""
    parsed = tree(expression)
    names = {node.id for node in ast.walk(parsed) if isinstance(node, ast.Name)}
    return compile(guarded(parsed), "<claim>", "eval"), tuple(sorted(names))
