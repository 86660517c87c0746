"""What a maker fills weights with, remembered while it runs on the meta device, where nothing is stored: a bias that starts at −4.6 keeps
a detector silent, and one at zero lets every box through."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode

ATTRIBUTE = "_ironlaw_start"
DEFAULTS = {"normal_": (0.0, 1.0), "uniform_": (0.0, 1.0)}
KEYWORDS = {"normal_": ("mean", "std"), "uniform_": ("from", "to")}
FILLS = {"fill_", "zero_", *DEFAULTS}


@dataclass(frozen=True)
class Start:
    """`constant` of one number, `normal` of a mean and a spread, `uniform` of two ends."""

    law: str
    numbers: tuple[float, ...]

    def values(self, normal: Tensor) -> Tensor:
        """The law's values, from normal ones of a mean of 0 and a spread of 1."""
        if self.law == "constant":
            return torch.full_like(normal, self.numbers[0])
        first, second = self.numbers
        if self.law == "normal":
            return normal * second + first
        return first + (second - first) * torch.special.ndtr(normal)

    def size(self) -> float:
        """The root of the mean square."""
        first, second = self.numbers[0], self.numbers[-1]
        if self.law == "uniform":
            return math.sqrt((first * first + first * second + second * second) / 3)
        return math.hypot(first, second) if self.law == "normal" else abs(first)


class Remember(TorchDispatchMode):
    """How each storage was last filled as a whole; what else is written to it makes that unknown."""

    def __init__(self) -> None:
        super().__init__()
        self.starts: dict[int, Start | None] = {}
        self.kept: list[Any] = []  # a storage that is freed would give its address to another

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        out = func(*args, **(kwargs or {}))
        schema = func._schema
        if schema.name.endswith("_") and args and isinstance(args[0], Tensor) and args[0].device.type == "meta":
            self.note(schema.name.removeprefix("aten::"), args[0], args[1:], kwargs or {})
        elif schema.name in ("aten::zeros", "aten::ones", "aten::full") and isinstance(out, Tensor) and out.device.type == "meta":
            given = {"aten::zeros": 0.0, "aten::ones": 1.0}.get(schema.name, args[1] if len(args) > 1 else None)
            self.keep(out, Start("constant", (float(given),)) if isinstance(given, (int, float)) else None)
        return out

    def note(self, name: str, tensor: Tensor, numbers: Any, keywords: dict[str, Any]) -> None:
        whole = tensor.numel() * tensor.element_size() == tensor.untyped_storage().nbytes()
        plain = [n for n in numbers if isinstance(n, (int, float))]
        if name not in FILLS or not whole:
            self.keep(tensor, None)
        elif name in ("fill_", "zero_"):
            given = [0.0] if name == "zero_" else plain
            self.keep(tensor, Start("constant", (float(given[0]),)) if given else None)
        else:
            given = [*plain, *DEFAULTS[name][len(plain) :]]
            given = [float(keywords.get(key, number)) for key, number in zip(KEYWORDS[name], given, strict=True)]
            self.keep(tensor, Start(name.rstrip("_"), tuple(given)))

    def keep(self, tensor: Tensor, start: Start | None) -> None:
        storage = tensor.untyped_storage()
        self.kept.append(storage)
        self.starts[storage._cdata] = start


@contextmanager
def remembered() -> Iterator[Remember]:
    """While a model is made on the meta device; `mark` it afterwards."""
    with Remember() as seen:
        yield seen


def mark(module: Any, seen: Remember | None) -> None:
    """Weights know how they were filled, in other number formats too."""
    if seen is None or not isinstance(module, torch.nn.Module):
        return
    fill = getattr(module, "initialize_weights", None)  # transformers leaves its own out on the meta device
    if callable(fill):
        with seen, suppress(Exception):
            fill()
    for weight in module.parameters():
        start = seen.starts.get(weight.untyped_storage()._cdata)
        if start is not None:
            setattr(weight, ATTRIBUTE, start)


def start_of(tensor: Any) -> Start | None:
    return getattr(tensor, ATTRIBUTE, None)
