"""An ATen call as rules see it, and what becomes of it.

A rule gets the call (its tensors in and out, its arguments by name) and gives an OpDraft, or several.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any


@dataclass
class Call:
    """One ATen call: tensors as the engine sees them, and every argument by its name in the schema."""

    name: str  # aten::add_ -> "add"
    inputs: list[Any]  # engine Tensors, in order
    outputs: list[Any]
    arguments: dict[str, Any]  # with the real (fake) tensors in it
    tensor: Callable[[Any], Any]  # fake tensor -> engine Tensor
    inplace: bool = False


@dataclass
class OpDraft:
    """What becomes an engine op."""

    kind: str
    inputs: list[Any]
    outputs: list[Any]
    attrs: dict[str, Any] = field(default_factory=dict)


Rule = Callable[[Call], "OpDraft | list[OpDraft]"]


def registrar(rules: dict[str, Rule]) -> Callable[..., Callable[[Rule], Rule]]:
    """A decorator that enters the function below it into a file's own table, under the names of ATen ops."""

    def rule(*names: str) -> Callable[[Rule], Rule]:
        def enter(function: Rule) -> Rule:
            rules.update(dict.fromkeys(names, function))
            return function

        return enter

    return rule


def reshaped(tensor: Any, *shape: int) -> Any:
    return type(tensor)(tensor.name, tuple(shape), tensor.dtype, tensor.role)
