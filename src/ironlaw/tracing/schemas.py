"""What an ATen op's schema says, looked up once for each op, and the tensors in a call's arguments."""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple

from torch import Tensor


class Schema(NamedTuple):
    name: str  # aten::add_ -> "add"
    view: bool  # hands back the same memory under another shape
    inplace: bool
    arguments: tuple[str, ...]
    defaults: dict[str, Any]
    written: tuple[tuple[int, str], ...]  # arguments that are written to, by place and name


@cache
def schema(func: Any) -> Schema:
    declared = func._schema
    name = declared.name.partition("::")[2]
    arguments = tuple(a.name for a in declared.arguments)
    written = tuple((i, a.name) for i, a in enumerate(declared.arguments) if a.alias_info is not None and a.alias_info.is_write)
    view = bool(declared.returns) and all(r.alias_info is not None and not r.alias_info.is_write for r in declared.returns)
    plain = name if name.startswith("__") else name.rstrip("_")
    return Schema(plain, view, bool(written), arguments, {a.name: a.default_value for a in declared.arguments}, written)


def given(args: Any, kwargs: Any) -> list[Tensor]:
    """All tensors in the arguments of a call, in order."""
    leaves: list[Tensor] = []
    for item in args:
        if isinstance(item, Tensor):
            leaves.append(item)
        elif isinstance(item, (list, tuple, dict)):
            leaves += tensors(item)
    return leaves + tensors(kwargs) if kwargs else leaves


def tensors(tree: Any) -> list[Tensor]:
    """All tensors in arguments or results, in order. They nest in lists, tuples and dictionaries and in nothing else."""
    if isinstance(tree, Tensor):
        return [tree]
    leaves: list[Tensor] = []
    if isinstance(tree, dict):
        tree = tree.values()
    elif not isinstance(tree, (list, tuple)):
        return leaves
    for item in tree:
        if isinstance(item, Tensor):
            leaves.append(item)
        elif isinstance(item, (list, tuple, dict)):
            leaves += tensors(item)
    return leaves
