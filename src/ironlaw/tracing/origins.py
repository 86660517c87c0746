"""Where an op of a captured model comes from: the line of the user's code, and the phase of a training step."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

from ironlaw.engine.device.types import Op
from ironlaw.tracing.graph_breaks import MODEL, Place, Way

FORWARD, BACKWARD, OPTIMISER = "forward", "backward", "optimiser"


class Phases:
    """Which phase of a training step is running."""

    def __init__(self) -> None:
        self.seen: list[str] = []  # for each op
        self.steps = 0  # of optimisers that are running: one may call another

    def note(self) -> None:
        """The origin of the op that is being recorded."""
        import torch

        graded = torch._C._current_autograd_node() is not None  # type: ignore[attr-defined]
        self.seen.append(OPTIMISER if self.steps else BACKWARD if graded else FORWARD)

    def within(self, value: Any) -> Any:
        """A closure that an optimiser is handed computes the loss: that is not part of the optimiser."""
        if not callable(value):
            return value

        def closure(*args: Any, **kwargs: Any) -> Any:
            before, self.steps = self.steps, 0
            try:
                return value(*args, **kwargs)
            finally:
                self.steps = before

        return closure

    @contextmanager
    def watching(self) -> Iterator[None]:
        """Optimisers say when they step."""
        from torch.optim import optimizer

        def begun(_: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
            self.steps += 1
            return tuple(map(self.within, args)), {name: self.within(value) for name, value in kwargs.items()}

        def ended(*_: Any) -> None:
            self.steps -= 1

        handles = optimizer.register_optimizer_step_pre_hook(begun), optimizer.register_optimizer_step_post_hook(ended)
        try:
            yield
        finally:
            self.steps = 0
            for handle in handles:
                handle.remove()


@cache
def line_of(place: Place) -> str:
    """`net.py:12`."""
    code, instruction = place
    lines = list(code.co_positions())
    line = lines[instruction // 2][0] if instruction // 2 < len(lines) else None
    return f"{Path(code.co_filename).name}:{line or code.co_firstlineno}"


def settings(ops: Sequence[Op], ways: Sequence[Way], phases: Sequence[str]) -> dict[str, Any]:
    """What a graph keeps: by the op's name its line, and its phase where that is not the forward pass."""
    lines = {op.name: line_of(way[-2 if way[-1] is MODEL else -1]) for op, way in zip(ops, ways, strict=True) if way}
    later = {op.name: phase for op, phase in zip(ops, phases, strict=True) if phase != FORWARD}
    return {"lines": lines} | ({"phases": later} if later else {})
