"""The list that the files of this folder add their models to."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

MODELS: dict[str, "Model"] = {}


@dataclass(frozen=True)
class Model:
    """`build(small)` gives the module or function, its inputs, and a loss of what it returns (None: it is never trained)."""

    name: str
    kind: str
    build: Callable[[bool], tuple[Any, tuple[Any, ...], Callable[[Any], Any] | None]]
    half: bool  # False: an operator of it has no half-precision version
    compiles: bool = True  # False: its loops would take minutes to compile


def model(kind, half=True, compiles=True):
    """Add the builder below to the list, under its own name."""

    def add(build):
        if build.__name__ in MODELS:
            raise ValueError(f"two models are called {build.__name__}")
        MODELS[build.__name__] = Model(build.__name__, kind, build, half, compiles)
        return build

    return add
