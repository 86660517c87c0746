"""A lab's notebook without marimo: its cells as the file has them, in an order in which each finds what it needs.

A cell is a function under `@app.cell`. Its parameters are what it takes from other cells, the names it returns are what it defines, and
its last expression is what it shows.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from ironlaw.errors import BadValue


@dataclass(frozen=True)
class Cell:
    name: str
    needs: tuple[str, ...]
    defines: tuple[str, ...]
    body: Callable[..., tuple[Any, tuple[Any, ...]]]

    def run(self, names: Mapping[str, Any]) -> tuple[Any, dict[str, Any]]:
        """What it shows, and what it defines."""
        shown, values = self.body(*(names[name] for name in self.needs))
        return shown, dict(zip(self.defines, values, strict=True))


def read(path: Path) -> tuple[Cell, ...]:
    """The cells in the order of the page."""
    return _read(path, path.stat().st_mtime_ns)


@lru_cache(maxsize=64)
def _read(path: Path, changed: int) -> tuple[Cell, ...]:
    """Compiled once for all pages of a lab; a file that has changed since is another."""
    functions = [node for node in ast.parse(path.read_text("utf-8"), path.name).body if _is_cell(node)]
    if not functions:
        raise BadValue(f"{path} has no cell; write functions under `@app.cell`")
    return tuple(_cell(node, path) for node in functions if isinstance(node, ast.FunctionDef))


def in_order(cells: Sequence[Cell], where: str) -> Iterator[Cell]:
    """Each after those that define what it needs, otherwise as they stand."""
    known: set[str] = set()
    waiting = list(cells)
    while waiting:
        cell = next((each for each in waiting if known.issuperset(each.needs)), None)
        if cell is None:
            lacking = {cell.name: sorted(set(cell.needs) - known) for cell in waiting}
            raise BadValue(f"{where}: nothing defines what these cells need, or they need each other: {lacking}")
        waiting.remove(cell)
        known.update(cell.defines)
        yield cell


def _is_cell(node: ast.stmt) -> bool:
    marks = node.decorator_list if isinstance(node, ast.FunctionDef) else []
    called = [mark.func if isinstance(mark, ast.Call) else mark for mark in marks]
    return any(isinstance(mark, ast.Attribute) and mark.attr == "cell" for mark in called)


def _cell(node: ast.FunctionDef, path: Path) -> Cell:
    """Compiled as a function that returns what is shown and the values of what is defined."""
    defines: list[ast.expr] = []
    if isinstance(node.body[-1], ast.Return):
        value = node.body.pop().value  # type: ignore[attr-defined]
        defines = list(value.elts) if isinstance(value, ast.Tuple) else [value] if value else []
    if not all(isinstance(name, ast.Name) for name in defines):
        raise BadValue(f"{path}, cell {node.name}: it returns something else than names; return what it defines, as `return (a, b)`")
    shown: ast.expr = ast.Constant(None)
    if node.body and isinstance(node.body[-1], ast.Expr):
        shown = node.body.pop().value  # type: ignore[attr-defined]
    answer = ast.Return(ast.Tuple([shown, ast.Tuple(defines, ast.Load())], ast.Load()))
    node.body, node.decorator_list = [*node.body, answer], []
    module = ast.fix_missing_locations(ast.Module([node], []))
    place: dict[str, Any] = {"__name__": path.stem}
    exec(compile(module, str(path), "exec"), place)
    names = tuple(name.id for name in defines if isinstance(name, ast.Name))
    return Cell(node.name, tuple(each.arg for each in node.args.args), names, place[node.name])
