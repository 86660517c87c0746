"""Which module an op belongs to: the dotted path of the innermost one that is running."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


@contextmanager
def module_paths(module: Any, path: list[str]) -> Iterator[None]:
    """Keeps `path[-1]` at the path of the running module."""
    from torch.nn.modules.module import register_module_forward_hook, register_module_forward_pre_hook

    names = {id(child): name for name, child in module.named_modules()}

    def enter(child: Any, inputs: Any) -> None:
        path.append(names.get(id(child), path[-1] if path else ""))

    def leave(child: Any, inputs: Any, output: Any) -> None:
        path.pop()

    handles = [register_module_forward_pre_hook(enter), register_module_forward_hook(leave, always_call=True)]
    try:
        yield
    finally:
        for handle in handles:
            handle.remove()
