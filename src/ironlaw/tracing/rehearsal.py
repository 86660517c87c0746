"""A training step is run twice to be captured, unless `first_steps` finds that once will do: its first run makes the optimiser's state,
and the second finds it there.

What a first run left behind is written down, so that the same step, changed or at another batch, need not be rehearsed again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import torch

    from ironlaw.tracing.fakes import Fakes


@dataclass
class Rehearsal:
    """`graded`: the call takes gradients. `alike`: passes that seem equal are. `states`: by optimiser what it keeps for each weight; None
    where that is not all that a run leaves behind."""

    graded: bool = False
    alike: bool = True
    states: dict[int, list[tuple[int, dict[str, Any]]]] | None = field(default=None)

    def note(self, optimisers: Sequence[torch.optim.Optimizer]) -> None:
        """After a rehearsal. A step that leaves gradients behind may add to them, or set them to zero: it is rehearsed each time."""
        weights = {id(o): [w for group in o.param_groups for w in group["params"]] for o in optimisers}
        self.states = None
        if any(w.grad is not None for some in weights.values() for w in some):
            return
        places = {key: {id(w): i for i, w in enumerate(some)} for key, some in weights.items()}
        self.states = {
            id(o): [(places[id(o)][id(w)], {key: outline(v) for key, v in kept.items()}) for w, kept in o.state.items()] for o in optimisers
        }

    def resumed(self, fakes: Fakes, optimisers: Sequence[torch.optim.Optimizer]) -> bool:
        """Gives optimisers that step fakes the state of a step that was taken before; whether there was one."""
        if self.states is None or {*self.states} != {id(o) for o in optimisers}:
            return False
        for o in optimisers:
            weights, name = [w for group in o.param_groups for w in group["params"]], type(o).__name__.lower()
            o.state.clear()
            for i, (place, kept) in enumerate(self.states[id(o)]):
                o.state[weights[place]] = {key: twin(fakes, v, f"{name}.{i}.{key}") for key, v in kept.items()}
        return True


def outline(value: Any) -> Any:
    """A tensor without memory of the same form; a number that lies on the host, and anything else, as it is."""
    import torch

    if not isinstance(value, torch.Tensor):
        return value
    constant = getattr(value, "constant", None)
    if constant is not None:
        return constant.clone()
    return torch.empty_strided(tuple(value.shape), value.stride(), dtype=value.dtype, device="meta")


def twin(fakes: Fakes, value: Any, name: str) -> Any:
    """A fake tensor of an outline; one that knows its number where that is known."""
    import torch

    if isinstance(value, torch.Tensor) and value.device.type != "meta":
        number = fakes.results.holding(value.clone())
        fakes.recorder.known(number, name, "buffer")
        return number
    return fakes.inside(value, name, "buffer")
