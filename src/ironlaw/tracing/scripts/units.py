"""What a script does over and over: an optimiser's step with all that leads to it, or a call of the model where nothing is trained.

One unit begins where the one before ends, so that what a loop does between two steps (logging, schedules, the next batch) is in it.
"""

from __future__ import annotations

import sys
import weakref
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from copy import copy
from typing import Any

import torch
from torch.nn.modules import module as modules
from torch.optim import Optimizer, optimizer

from ironlaw.tracing.equal_passes import EqualPasses
from ironlaw.tracing.graph_breaks import has_weights
from ironlaw.tracing.libraries import replaced
from ironlaw.tracing.recorder import Recorder
from ironlaw.tracing.stand_ins import vocabulary_of

LASTING = ("weight", "buffer", "input", "cache")  # roles of what outlives a step
WHOLE = ("generate",)  # functions of a library that call a model many times, and are one call of the user's


class Ended(BaseException):
    """The script has come as far as was asked; nothing in it should catch this."""


class Units:
    """`wanted`: the unit that is kept; of a script that ends before, the last whole one. `sure`: it is known to come so far, and nothing
    before needs to be written down."""

    def __init__(self, recorder: Recorder, wanted: int, sure: bool = False) -> None:
        self.recorder, self.wanted, self.sure = recorder, wanted, sure
        self.sizes: list[int] = []  # ops of each unit
        self.parents: dict[int, weakref.ref[torch.nn.Module]] = {}
        self.names: dict[int, str] = {}  # module -> path from the outermost that holds it
        self.models: dict[int, torch.nn.Module] = {}  # the outermost ones that were called
        self.optimisers: list[Optimizer] = []
        self.counted: Any = None  # the optimiser, or model, whose steps are counted
        self.count = 0
        self.kept: Recorder | None = None
        self.seen: list[torch.nn.Module] = []  # one that is freed would give its address to another
        recorder.idle = True

    @property
    def trains(self) -> bool:
        return isinstance(self.counted, Optimizer)

    # ---- a unit begins and ends

    def begin(self) -> None:
        recorder = self.recorder
        recorder.idle = self.sure and self.count < self.wanted - 1
        on_host = recorder.on_host
        recorder.begin_again()
        recorder.on_host = on_host
        for place in [place for place, (_, role) in recorder.names.items() if role not in LASTING]:
            del recorder.names[place]
        for root in self.models.values():
            self.name(root)
        for number, one in enumerate(self.optimisers, 1):
            self.name_state(one, number)

    def end(self) -> None:
        self.count += 1
        self.sizes.append(len(self.recorder.ops))
        if isinstance(self.recorder.skipped, EqualPasses):
            self.recorder.skipped.lives()
        self.kept = copy(self.recorder)
        self.kept.lifetimes, self.kept.phases = copy(self.recorder.lifetimes), copy(self.recorder.phases)
        self.kept.phases.seen = list(self.recorder.phases.seen)
        if self.count >= self.wanted:
            self.recorder.idle = True
            raise Ended
        self.begin()

    def name(self, root: torch.nn.Module) -> None:
        known, number = self.recorder.names, [*self.models].index(id(root)) + 1 if id(root) in self.models else 1
        before = f"model {number}: " if number > 1 else ""  # two models may have weights of one name
        for role, tensors in (("weight", root.named_parameters()), ("buffer", root.named_buffers())):
            for name, tensor in tensors:
                if tensor.layout == torch.strided:
                    place = self.recorder.place(local(tensor))
                    known[place] = (before + name, role)

    def name_state(self, one: Optimizer, number: int) -> None:
        name, known = f"{type(one).__name__.lower()}{number if number > 1 else ''}", self.recorder.names
        for group in one.param_groups:
            for i, weight in enumerate(group["params"]):
                known.setdefault(self.recorder.place(local(weight)), (f"{name} weight {i}", "weight"))
        for i, held in enumerate(one.state.values()):
            for key, tensor in held.items() if isinstance(held, dict) else ():
                if isinstance(tensor, torch.Tensor) and tensor.layout == torch.strided:
                    known[self.recorder.place(local(tensor))] = (f"{name}.{i}.{key}", "buffer")

    # ---- what is seen of the script

    def root_of(self, child: torch.nn.Module) -> torch.nn.Module:
        seen = {id(child)}
        while (above := self.parents.get(id(child))) is not None:
            parent = above()
            if parent is None or id(parent) in seen or child not in parent._modules.values():
                break
            seen.add(id(parent))
            child = parent
        return child

    def enter(self, child: torch.nn.Module, inputs: Any) -> None:
        path = self.recorder.path
        if not path and isinstance(self.recorder.skipped, EqualPasses) and has_weights(child):
            self.recorder.skipped.watch(child)
        if id(child) not in self.names:
            root = self.root_of(child)
            self.seen.append(root)
            for name, inner in root.named_modules():
                self.names[id(inner)] = name
            if any(True for _ in root.parameters()):
                self.models[id(root)] = root
                self.recorder.values.vocabulary = vocabulary_of(root)
                if self.recorder.idle and self.kept is None:
                    self.begin()
                self.name(root)
        path.append(self.names.get(id(child), path[-1] if path else ""))

    def leave(self, child: torch.nn.Module, inputs: Any, output: Any) -> None:
        path = self.recorder.path
        if path:
            path.pop()
        if path or self.optimisers or torch._C._current_autograd_node() is not None:  # type: ignore[attr-defined]
            return
        if self.counted is None and any(True for _ in child.parameters()) and not within_whole():
            self.counted = child
        if child is self.counted:
            self.end()

    def stepped(self, one: Optimizer, *_: Any) -> None:
        if not self.trains:
            self.counted, self.count = one, 0
        if one is self.counted:
            self.end()

    @contextmanager
    def watching(self) -> Iterator[None]:
        start = Optimizer.__init__

        def made(one: Any, *args: Any, **kwargs: Any) -> None:
            start(one, *args, **kwargs)
            self.optimisers.append(one)

        def held(parent: torch.nn.Module, _: str, child: Any) -> None:
            if child is not None:
                self.parents[id(child)] = weakref.ref(parent)

        with ExitStack() as stack:
            stack.enter_context(replaced(Optimizer, "__init__", made))
            for handle in (
                modules.register_module_module_registration_hook(held),
                modules.register_module_forward_pre_hook(self.enter),
                modules.register_module_forward_hook(self.leave, always_call=True),
                optimizer.register_optimizer_step_post_hook(self.stepped),
            ):
                stack.callback(handle.remove)
            yield


def local(tensor: Any) -> Any:
    """This rank's part of a tensor that is spread over several."""
    return getattr(tensor, "_local_tensor", tensor)


def within_whole() -> bool:
    frame: Any = sys._getframe(2)
    while frame is not None:
        if frame.f_code.co_name in WHOLE and "transformers" in frame.f_code.co_filename:
            return True
        frame = frame.f_back
    return False
