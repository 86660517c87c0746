"""A call to capture: what, with which arguments; and arguments given as text."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import dataclass, field
from textwrap import shorten
from typing import Any

from ironlaw.errors import BadValue, unknown
from ironlaw.formats import FORMATS, spelled

INPUT_FORMATS = ("fp64", "fp32", "fp16", "bf16", "int64", "int32", "int16", "int8", "uint8", "fp8", "bool", "complex64", "complex128")
MOST_ELEMENTS = 10**15  # of an input
LONGEST_MESSAGE = 400  # characters of an error in the user's code
MOST_AXES = 64  # that PyTorch gives a tensor


@dataclass
class Target:
    """A call: what, with which arguments."""

    name: str
    call: Any
    args: tuple[Any, ...] = ()
    kwargs: dict[str, Any] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)  # what was done differently from what the user asked for


def tensor(text: str) -> Any:
    """`8x3x224x224` or `8x128:int64` -> an empty tensor."""
    import torch

    sizes, _, given = text.partition(":")
    fmt = spelled(given)
    if fmt and fmt not in INPUT_FORMATS:
        raise unknown(f"number format of the input {text!r}", given, INPUT_FORMATS)
    try:
        shape = [int(size) for size in sizes.split("x")]
        if min(shape) < 1 or len(shape) > MOST_AXES:
            raise ValueError
    except ValueError:
        raise BadValue(f"the input {text!r} is not a valid shape; write sizes with x between, such as 8x3x224x224 or 8x128:int64") from None
    if not fmt:
        return empty(shape, torch.get_default_dtype())
    return empty(shape, FORMATS[fmt].in_torch(torch) if fmt in FORMATS else getattr(torch, fmt))


def empty(shape: Sequence[int], dtype: Any) -> Any:
    """A tensor without values; BadValue where no memory could ever hold it."""
    import torch

    if math.prod(shape) > MOST_ELEMENTS:
        raise BadValue(f"an input of {'x'.join(map(str, shape))} has more elements than any memory holds; give smaller sizes")
    return torch.empty(tuple(shape), dtype=dtype, device="meta")


def changed(value: Any, change: Callable[[Any], Any], depth: int = 4) -> Any:
    """The same with every tensor changed, inside lists, dictionaries and objects (a cache of keys and values, say) too."""
    import torch

    if isinstance(value, torch.Tensor):
        return change(value)
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*(changed(item, change, depth) for item in value))
    if isinstance(value, (list, tuple)):
        return type(value)(changed(item, change, depth) for item in value)
    if type(value) is dict:
        return {key: changed(item, change, depth) for key, item in value.items()}
    if depth == 0 or isinstance(value, (torch.nn.Module, type)) or not hasattr(value, "__dict__") or callable(value):
        return value
    other = copy(value)
    for key, held in vars(value).items():
        setattr(other, key, changed(held, change, depth - 1))
    return other


def tensors_in(value: Any) -> list[Any]:
    seen: list[Any] = []
    changed(value, lambda leaf: seen.append(leaf) or leaf)  # type: ignore[func-returns-value]
    return seen


def described(error: BaseException) -> str:
    """An error's kind and its message, if its own __str__ works."""
    try:
        return f"{type(error).__name__}: {error}"
    except Exception:
        return type(error).__name__


def in_one_line(message: str) -> str:
    """A message of several lines as one: what matters is often below the first. A long one is cut at a word."""
    return shorten(message, LONGEST_MESSAGE, placeholder=" …") if message.strip() else ""
