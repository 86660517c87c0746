"""While a training step is captured, what it calls is changed: it runs under autocast, with or without checkpoints. The user's code
stays as it is."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import torch
from torch.utils import checkpoint as checkpointing

from ironlaw.engine.advice.action_names import AGAIN, AUTOCAST, KEPT
from ironlaw.tracing.libraries import replaced

SIDE_BY_SIDE = 3  # blocks of one kind, from which on checkpointing is tried


def blocks(roots: Collection[torch.nn.Module]) -> list[torch.nn.Module]:
    """Modules of one kind one after another, with weights of their own; of those within each other the outermost."""
    found: list[torch.nn.Module] = []
    for root in roots:
        children = [child for child in root.children() if any(True for _ in child.parameters())]
        alike = len(children) >= SIDE_BY_SIDE and len({(type(child), len(list(child.parameters()))) for child in children}) == 1
        found += children if alike else blocks(children)
    return found


def _again(block: torch.nn.Module) -> Any:
    forward = block.forward

    def checkpointed(*args: Any, **kwargs: Any) -> Any:
        return checkpointing.checkpoint(forward, *args, use_reentrant=False, **kwargs)

    return checkpointed


@contextmanager
def _forwards_replaced(inner: Collection[torch.nn.Module]) -> Iterator[None]:
    own = {block: block.__dict__.get("forward") for block in inner}
    for block in inner:
        block.__dict__["forward"] = _again(block)
    try:
        yield
    finally:
        for block, forward in own.items():
            del block.__dict__["forward"]
            if forward is not None:
                block.__dict__["forward"] = forward


@contextmanager
def changed(changes: Collection[str], modules: Collection[torch.nn.Module] = ()) -> Iterator[None]:
    with ExitStack() as stack:
        if AGAIN in changes:
            stack.enter_context(_forwards_replaced(blocks(modules)))
        if KEPT in changes:
            stack.enter_context(replaced(checkpointing, "_checkpoint_without_reentrant_generator", _once))
            stack.enter_context(replaced(checkpointing, "CheckpointFunction", _Plain))
        yield


@contextmanager
def counted(recorder: Any) -> Iterator[None]:
    """Tells the recorder of every segment that keeps its inputs alone."""
    again, function = checkpointing._checkpoint_without_reentrant_generator, checkpointing.CheckpointFunction

    def generator(*args: Any, **kwargs: Any) -> Any:
        recorder.checkpoints += 1
        recorder.hooked = True
        return again(*args, **kwargs)

    class Counted:
        @staticmethod
        def apply(*args: Any) -> Any:
            recorder.checkpoints += 1
            return function.apply(*args)

    with (
        replaced(checkpointing, "_checkpoint_without_reentrant_generator", generator),
        replaced(checkpointing, "CheckpointFunction", Counted),
    ):
        yield


def _once(*args: Any, **kwargs: Any) -> Iterator[None]:
    yield


class _Plain:
    @staticmethod
    def apply(function: Any, preserve: bool, *args: Any) -> Any:
        return function(*args)


def cast(function: Any, changes: Collection[str], path: list[str]) -> Any:
    """The function, under autocast where that is among the changes. `path`: the modules that are running; a step that switches autocast
    off outside of them has a flag for it, and a module that does so has its reasons."""
    if AUTOCAST not in changes:
        return function
    autocast: Any = torch.amp.autocast_mode.autocast

    def under_autocast(*args: Any, **kwargs: Any) -> Any:
        start = autocast.__init__

        def flagged(self: Any, device_type: str, dtype: Any = None, enabled: bool = True, cache_enabled: Any = None) -> None:
            on = enabled or not path
            start(self, device_type, dtype if enabled else torch.bfloat16, on, cache_enabled)

        with replaced(autocast, "__init__", flagged), torch.autocast("cuda", torch.bfloat16):
            return function(*args, **kwargs)

    return under_autocast


@contextmanager
def beyond_autocast(changes: Collection[str]) -> Iterator[None]:
    """A backward pass is not called under autocast; weights are cast anew by the next forward pass."""
    if AUTOCAST not in changes:
        yield
        return
    before = torch.is_autocast_enabled("cpu")
    torch.set_autocast_enabled("cpu", False)
    try:
        yield
    finally:
        torch.set_autocast_enabled("cpu", before)
        torch.clear_autocast_cache()
