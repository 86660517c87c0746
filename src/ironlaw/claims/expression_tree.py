"""An expression as a tree that is safe to run: arithmetic, comparisons, calls, lists and small functions, and nothing else of Python.

Every node is on the list below or is refused. Names and attributes have no leading underscore, so that there is no way from a value to the
code behind it. What could become too large or too long goes by way of `expression_limits`.
"""

from __future__ import annotations

import ast
from typing import Any

LONGEST = 4_000  # characters
DEEPEST = 100  # brackets inside each other
ALLOWED = (
    ast.Expression, ast.Constant, ast.Name, ast.Load, ast.Store, ast.Attribute, ast.Subscript, ast.Slice, ast.Call, ast.keyword,
    ast.Starred,     ast.BinOp, ast.Add, ast.Sub, ast.Mult, ast.Div, ast.FloorDiv, ast.Mod, ast.Pow,
    ast.UnaryOp, ast.USub, ast.UAdd, ast.Not,
    ast.BoolOp, ast.And, ast.Or, ast.Compare, ast.Eq, ast.NotEq, ast.Lt, ast.LtE, ast.Gt, ast.GtE, ast.In, ast.NotIn, ast.Is, ast.IsNot,
    ast.IfExp, ast.Tuple, ast.List, ast.Dict, ast.Set, ast.Lambda, ast.arguments, ast.arg,
    ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp, ast.comprehension,
)  # fmt: skip
INNER = ("gi_", "f_", "cr_", "ag_", "tb_", "co_", "func_")  # attributes that lead from a value to the code behind it
WRITES = ("format", "format_map", "mro")  # a text's own way to attributes


def tree(expression: str) -> ast.Expression:
    """The checked tree, as it is written. ValueError where it is not an expression of the kind above."""
    text = expression.strip()
    if len(text) > LONGEST:
        raise ValueError(f"it has {len(text):,} characters, and an expression has at most {LONGEST:,}")
    try:
        parsed = ast.parse(f"({text})", mode="eval")
        _check(parsed, 0)
    except (SyntaxError, RecursionError, MemoryError) as error:
        raise ValueError(f"it is not an expression ({getattr(error, 'msg', None) or 'it is nested too deep'})") from None
    return parsed


def _check(node: ast.AST, depth: int) -> None:
    if depth > DEEPEST:
        raise ValueError(f"it is nested more than {DEEPEST} deep")
    if not isinstance(node, ALLOWED):
        raise ValueError(f"{type(node).__name__} is not allowed in an expression")
    if isinstance(node, ast.Constant) and not isinstance(node.value, (int, float, str, type(None))):
        raise ValueError(f"{node.value!r:.40} is not allowed in an expression; use numbers and texts")
    if isinstance(node, ast.comprehension) and node.is_async:
        raise ValueError("async is not allowed in an expression")
    if isinstance(node, ast.Attribute) and (node.attr.startswith(INNER) or node.attr in WRITES):
        raise ValueError(f"the attribute {node.attr!r} is not allowed in an expression")
    if (name := _name(node)).startswith("_"):
        raise ValueError(f"{name!r} has a leading underscore")
    for inner in ast.iter_child_nodes(node):
        _check(inner, depth + 1)


def _name(node: ast.AST) -> str:
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute):
        return node.attr
    return (node.arg or "") if isinstance(node, (ast.arg, ast.keyword)) else ""


def guarded(parsed: ast.Expression) -> ast.Expression:
    """The same, with limits in the place of what could be abused."""
    out: ast.Expression = ast.fix_missing_locations(_Guarded().visit(parsed))
    return out


class _Guarded(ast.NodeTransformer):
    """The names that it writes begin with an underscore, so that no expression can give them another meaning."""

    def visit_BinOp(self, node: ast.BinOp) -> ast.AST:
        self.generic_visit(node)
        names: dict[type[ast.operator], str] = {ast.Pow: "_power", ast.Mult: "_times", ast.Add: "_plus", ast.Mod: "_rest"}
        name = names.get(type(node.op))
        return _call(name, [node.left, node.right]) if name else node

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        self.generic_visit(node)
        return _call("_dot", [node.value, ast.Constant(node.attr)])

    def visit_Call(self, node: ast.Call) -> ast.AST:
        self.generic_visit(node)
        return _call("_call", [node.func, *node.args], node.keywords)

    def visit_comprehension(self, node: ast.comprehension) -> ast.AST:
        self.generic_visit(node)
        node.iter = _call("_each", [node.iter])
        return node

    def visit_Lambda(self, node: ast.Lambda) -> ast.AST:
        self.generic_visit(node)
        node.body = ast.IfExp(_call("_turn", []), node.body, ast.Constant(None))
        return node


def _call(name: str, args: list[Any], named: list[ast.keyword] | None = None) -> ast.Call:
    return ast.Call(ast.Name(name, ast.Load()), args, named or [])
