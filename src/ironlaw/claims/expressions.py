"""Expressions of claims, keys and cards: Python over `NAMESPACE` and nothing else.

No builtins, no names or attributes with a leading underscore, no way from a value to the frame or the function that made it. They come with
the package, and a file of data must not be able to run code all the same.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping
from functools import cache
from types import CodeType
from typing import Any

from ironlaw.claims.names import NAMESPACE
from ironlaw.errors import BadRegistry

INNER = ("gi_", "f_", "cr_", "ag_", "tb_", "co_", "func_")  # attributes that lead from a value to the code behind it
WRITES = ("format", "format_map")  # a text's own way to attributes
REFUSED = (ast.NamedExpr, ast.Await, ast.Yield, ast.YieldFrom)


def compute(expression: str, where: str, more: Mapping[str, Any] | None = None) -> Any:
    """What an expression over NAMESPACE (and `more`) says; whatever goes wrong, the reader learns where it is written."""
    try:
        code, names = _compiled(expression)
        given = more or {}
        used = {name: NAMESPACE[name] for name in names if name in NAMESPACE and name not in given}
        return eval(code, {"__builtins__": {}, **used, **given})
    except Exception as error:
        raise BadRegistry(f"{where}: cannot compute {expression!r}: {error}; fix the expression there") from error


def evaluate(expression: str, where: str, more: Mapping[str, Any] | None = None) -> float:
    """The same as a number."""
    result = compute(expression, where, more)
    try:
        return float(result)
    except (TypeError, ValueError) as error:
        raise BadRegistry(f"{where}: cannot compute {expression!r}: {error}; fix the expression there") from error


def figure(expression: str, where: str, case: Mapping[str, Any]) -> float:
    """The same for a claim under one of its premises, kept for as long as the names that it uses stay as they are."""
    try:
        used = tuple(id(NAMESPACE[name]) for name in _compiled(expression)[1] if name in NAMESPACE)
    except (SyntaxError, ValueError):
        used = ()  # `evaluate` says what is wrong with it
    key = (expression, tuple(sorted(case.items())), used)
    if key not in _figures:
        _figures[key] = evaluate(expression, where, case)
    return _figures[key]


_figures: dict[tuple[Any, ...], float] = {}


def kept(expression: str, where: str, more: Mapping[str, Any]) -> Any:
    """What `compute` says with the same `more` every time, kept for as long as the names that the expression uses stay as they are."""
    try:
        key = (expression, tuple(NAMESPACE[name] for name in _compiled(expression)[1] if name in NAMESPACE))
    except (SyntaxError, ValueError):
        return compute(expression, where, more)  # which says what is wrong with it
    if key not in _kept:
        _kept[key] = compute(expression, where, more)
    return _kept[key]


_kept: dict[tuple[Any, ...], Any] = {}


def literals(expression: str) -> list[float]:
    """The numbers that are written in an expression."""
    tree = ast.parse(f"({expression.strip()})", mode="eval")
    values = [node.value for node in ast.walk(tree) if isinstance(node, ast.Constant)]
    return [float(value) for value in values if isinstance(value, (int, float)) and not isinstance(value, bool)]


def names(expression: str) -> set[str]:
    """The names of NAMESPACE that an expression uses."""
    return {name for name in _compiled(expression)[1] if name in NAMESPACE}


@cache
def _compiled(expression: str) -> tuple[CodeType, tuple[str, ...]]:
    """The code, and the names that it uses."""
    tree = ast.parse(f"({expression.strip()})", mode="eval")
    names = set()
    for node in ast.walk(tree):
        if isinstance(node, REFUSED):
            raise ValueError(f"{type(node).__name__} is not allowed in an expression")
        if isinstance(node, ast.Attribute) and (node.attr.startswith(INNER) or node.attr in WRITES):
            raise ValueError(f"the attribute {node.attr!r} is not allowed in an expression")
        name = node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else ""
        if name.startswith("_"):
            raise ValueError(f"{name!r} has a leading underscore")
        if isinstance(node, ast.Name):
            names.add(node.id)
    return compile(tree, "<claim>", "eval"), tuple(sorted(names))
