"""The first step of an optimiser makes its state, and the steps that count find it there. A training step need not be run twice for that:
where its optimiser is first asked to step, it steps once unheard, and then again.

That gives what a second run of the whole would, unless the first one leaves something else behind: a gradient, a tensor that the code
keeps, or a number that it has read. Then what was run was the rehearsal.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import wraps
from typing import Any

import torch
from torch import UntypedStorage
from torch.utils import _pytree as pytree

from ironlaw.tracing import fused_replacements
from ironlaw.tracing.fakes import Fakes

READS = {"item", "tolist", "numpy", "cpu", "scale", "GradScaler"}  # names in a step that leaves something behind: not tried
OTHERWISE = ("LBFGS",)  # asks for the loss again


class FirstSteps:
    """`alone`: the optimisers' state is all that the run has left behind, as far as is known."""

    def __init__(self, fakes: Fakes, function: Any, optimisers: Sequence[torch.optim.Optimizer]) -> None:
        self.fakes, self.recorder, self.optimisers = fakes, fakes.recorder, optimisers
        code = getattr(function, "__code__", None)
        self.alone = (
            code is not None
            and bool(optimisers)
            and not READS & fused_replacements.names_in(code)
            and all(type(o).__module__.startswith("torch.optim.") and type(o).__name__ not in OTHERWISE for o in optimisers)
            and not any(o.state for o in optimisers)
            and not self.gradients()
        )

    def gradients(self) -> bool:
        return any(w.grad is not None for o in self.optimisers for group in o.param_groups for w in group["params"])

    @contextmanager
    def taken(self) -> Iterator[None]:
        own = [(o, o.__dict__.get("step")) for o in self.optimisers]
        for number, o in enumerate(self.optimisers):
            o.step = self.twice(number, o.step)  # type: ignore[method-assign]
        try:
            yield
        finally:
            for o, step in own:
                del o.__dict__["step"]
                if step is not None:
                    o.__dict__["step"] = step

    def twice(self, number: int, step: Callable[..., Any]) -> Callable[..., Any]:
        optimiser = self.optimisers[number]

        @wraps(step)
        def stepped(*args: Any, **kwargs: Any) -> Any:
            if not optimiser.state and not args and not kwargs:
                with self.unheard():
                    step()
                fused_replacements.named_state(self.fakes, self.optimisers, only=optimiser)
            elif not optimiser.state:  # a closure, which would run again
                self.alone = False
            return step(*args, **kwargs)

        return stepped

    @contextmanager
    def unheard(self) -> Iterator[None]:
        """What runs makes tensors and leaves no trace in what is written down."""
        rec, lives = self.recorder, self.recorder.lifetimes
        names, used, on_host, breaks, named = dict(rec.names), dict(rec.used), dict(rec.on_host), len(rec.breaks), len(rec.named or ())
        kept = {key: value.copy() if isinstance(value, dict) else value for key, value in vars(lives).items() if key in lives.OF_A_RUN}
        idle, rec.idle = rec.idle, True
        try:
            yield
        finally:
            rec.idle = idle
            rec.names.update(names)
            rec.used, rec.on_host = used, on_host
            del rec.breaks[breaks:]
            if rec.named is not None:
                del rec.named[named:]
            vars(lives).update(kept)

    def suffice(self, out: Any) -> bool:
        """Whether a second run would be the same."""
        rec = self.recorder
        if not self.alone or rec.said or rec.notes or self.gradients() or any(m.grad is not None for m in self.weights()):
            return False
        given = {rec.place(t) for t in pytree.tree_leaves(out) if isinstance(t, torch.Tensor)}
        return all(place in given or UntypedStorage._expired(ref) for place, ref in rec.lifetimes.live.items())

    def weights(self) -> list[torch.Tensor]:
        return [t for t in self.fakes.fakes.values() if isinstance(t, torch.Tensor) and t.is_leaf and t.requires_grad]
