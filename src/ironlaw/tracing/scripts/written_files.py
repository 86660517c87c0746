"""What a script saves has no data in it: nothing is written over what an earlier, real run has left."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import torch

from ironlaw.tracing.libraries import replaced

SAVERS = {"safetensors.torch": ("save_file", "save_model"), "torch.distributed.checkpoint": ("save", "async_save")}


@contextmanager
def kept_from_writing() -> Iterator[list[str]]:
    """Gives the names of files that would have been written."""
    names: list[str] = []

    def left_out(_: Any, place: Any = None, *__: Any, **more: Any) -> None:
        names.append(str(place if place is not None else more.get("f", more.get("filename", "a file"))))

    with ExitStack() as stack:
        stack.enter_context(replaced(torch, "save", left_out))
        for module, functions in SAVERS.items():
            for name in functions:
                stack.enter_context(replaced(sys.modules.get(module), name, left_out))
        yield names


def unwritten(names: list[str]) -> list[str]:
    """A note of them."""
    return [f"not written: {', '.join(dict.fromkeys(names))}"] if names else []
