"""Formulas of a design: arithmetic over names, and nothing else; no Python gets in."""

from __future__ import annotations

import ast
import math
import operator
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any

from ironlaw.engine.cluster.failures import optimum, wall
from ironlaw.engine.privacy.accountants import epsilon
from ironlaw.errors import BadValue, unknown

LONGEST = 2_000
OPERATORS: dict[type[ast.AST], Callable[..., float]] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: operator.truediv, ast.Pow: math.pow,
    ast.USub: operator.neg, ast.UAdd: operator.pos,
}  # fmt: skip
FUNCTIONS: dict[str, Callable[..., float]] = {
    "max": max, "min": min, "sqrt": math.sqrt, "exp": math.exp, "log": math.log, "ceil": math.ceil, "abs": abs,
    "goodput": lambda interval, save, restart, between: 1 / wall(interval, save, restart, between),
    "best_interval": optimum, "privacy": lru_cache(maxsize=1024)(epsilon),
}  # fmt: skip


def compiled(name: str, text: Any) -> ast.expr:
    """The formula's tree; refused where it is anything but arithmetic."""
    if isinstance(text, (int, float)) and not isinstance(text, bool):
        return ast.Constant(_finite(name, text))
    if not isinstance(text, str) or len(text) > LONGEST:
        raise BadValue(f'{name} is {text!r:.80}; write a formula as text, such as "work / rate"', name)
    try:
        tree = ast.parse(text.strip(), mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise BadValue(f"{name} = {text!r:.80} is not a formula; write arithmetic over names, such as work / rate", name) from None
    for node in ast.walk(tree):
        _check(name, node)
    return tree


def _finite(name: str, number: float) -> float:
    try:
        if math.isfinite(number):
            return float(number)
    except OverflowError:  # a whole number with hundreds of digits
        pass
    raise BadValue(f"{name} is {number!r:.80}; give a finite number, or a formula", name)


def _check(name: str, node: ast.AST) -> None:
    if isinstance(node, ast.Call):
        if not isinstance(node.func, ast.Name) or node.keywords:
            raise BadValue(f"{name} calls something that is not a function; known functions: {', '.join(FUNCTIONS)}", name)
        if node.func.id not in FUNCTIONS:
            raise unknown(f"function in {name}", node.func.id, FUNCTIONS, field=name)
    elif isinstance(node, ast.Constant):
        if isinstance(node.value, bool) or not isinstance(node.value, (int, float)):
            raise BadValue(f"{name} has {node.value!r} in it; only numbers, names and arithmetic are read", name)
    elif not isinstance(node, (ast.Name, ast.Load, ast.BinOp, ast.UnaryOp, *OPERATORS)):
        raise BadValue(f"{name} has {type(node).__name__} in it; only numbers, names, + - * / ** and functions are read", name)


def names(tree: ast.expr) -> set[str]:
    """What it reads, functions apart."""
    called = {id(node.func) for node in ast.walk(tree) if isinstance(node, ast.Call)}
    return {node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and id(node) not in called}


def evaluate(name: str, tree: ast.expr, values: Mapping[str, float]) -> float:
    """The number; a division by zero or a power that has none is refused by name."""
    try:
        value = float(_value(tree, values))
        if not math.isfinite(value):
            raise OverflowError("it is too large")
        return value
    except RecursionError:
        raise BadValue(f"{name} is nested too deeply; split it into several formulas", name) from None
    except (ZeroDivisionError, OverflowError, ValueError, TypeError) as error:
        if isinstance(error, BadValue):
            raise BadValue(f"{name}: {error}", name) from None
        raise BadValue(f"{name} can't be computed with these inputs ({error}); change one", name) from None


def _value(node: ast.expr, values: Mapping[str, float]) -> float:
    if isinstance(node, ast.Constant):
        return float(node.value)  # type: ignore[arg-type]
    if isinstance(node, ast.Name):
        return values[node.id]
    if isinstance(node, ast.UnaryOp):
        return OPERATORS[type(node.op)](_value(node.operand, values))
    if isinstance(node, ast.BinOp):
        return OPERATORS[type(node.op)](_value(node.left, values), _value(node.right, values))
    assert isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
    return FUNCTIONS[node.func.id](*(_value(one, values) for one in node.args))
