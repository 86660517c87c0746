"""What marimo works out anew for every page though a lab's file has not changed, worked out once.

To open one page, marimo parses the lab three times, compiles each cell four times, and looks through all installed packages for its
plugins: more than half of the server's time. A lab that is edited has another text, and is parsed again.
"""

from __future__ import annotations

import copy
import sys
from collections.abc import Callable
from dataclasses import fields
from functools import cache, lru_cache, wraps
from importlib import import_module
from typing import Any

LABS = 64  # texts of labs
CELLS = 2048
SHARED = ("mod", "variable_data")  # of a cell: large, and only read
Function = Callable[..., Any]


def compute_once() -> None:
    """From now on; a second call changes nothing. For marimo as it is imported now: what it imports later is in AHEAD."""
    for module, name, keep in (
        ("marimo._ast.parse", "parse_notebook", lru_cache(LABS)),  # its result is frozen
        ("marimo._ast.compiler", "compile_cell", cells),
        ("marimo._entrypoints.registry", "entry_points", cache),
    ):
        original = getattr(import_module(module), name)
        if not hasattr(original, "__wrapped__"):
            replace(original, keep(original))


def cells(compile_cell: Function) -> Function:
    """A cell keeps how its run went, so every page gets its own; they share the syntax tree and the byte code."""
    known: dict[tuple[Any, ...], Any] = {}

    @wraps(compile_cell)
    def compiled(code: str, cell_id: Any, source_position: Any = None, carried_imports: Any = None, **options: Any) -> Any:
        if carried_imports:
            return compile_cell(code, cell_id, source_position, carried_imports, **options)
        key = (code, cell_id, repr(source_position), *sorted(options.items()))
        if key not in known:
            while len(known) >= CELLS:
                known.pop(next(iter(known)), None)
            known[key] = compile_cell(code, cell_id, source_position, **options)
        return own(known[key])

    return compiled


def own(cell: Any) -> Any:
    values = {field.name: getattr(cell, field.name) for field in fields(cell)}
    return type(cell)(**{name: value if name in SHARED else copy.deepcopy(value) for name, value in values.items()})


def replace(original: Function, other: Function) -> None:
    """In every module of marimo that knows it by name."""
    for name, module in list(sys.modules.items()):
        if name.partition(".")[0] == "marimo":
            for place, value in list(vars(module).items()):
                if value is original:
                    setattr(module, place, other)
