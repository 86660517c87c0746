"""While a call is captured, every weight that it can reach is a fake one: those of the module itself, and those of the models and
optimisers that a function holds in its arguments, its closure, its globals or the object that it belongs to."""

from __future__ import annotations

import functools
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any

import torch
from torch import nn
from torch.nn.utils import stateless

from ironlaw.tracing.fakes import Fakes

DEPTH = 4  # how far to look into objects
PLAIN = (str, bytes, int, float, complex, bool, type(None), torch.Tensor, torch.dtype, torch.device)


def reachable(call: Any, *arguments: Any) -> tuple[list[nn.Module], list[torch.optim.Optimizer]]:
    """The outermost models, and the optimisers."""
    modules: dict[int, nn.Module] = {}
    optimisers: dict[int, torch.optim.Optimizer] = {}
    seen: set[int] = set()

    def look(value: Any, depth: int) -> None:
        if isinstance(value, (PLAIN, type)) or id(value) in seen:
            return
        seen.add(id(value))
        if isinstance(value, nn.Module):
            modules[id(value)] = value
        elif isinstance(value, torch.optim.Optimizer):
            optimisers[id(value)] = value
        elif depth > 0:
            for part in parts(value):
                look(part, depth - 1)

    for value in (call, *arguments):
        look(value, DEPTH)
    inner = {id(child) for m in modules.values() for child in m.modules() if child is not m}
    return [m for key, m in modules.items() if key not in inner], list(optimisers.values())


def parts(value: Any) -> list[Any]:
    """What a function or an object holds."""
    if isinstance(value, functools.partial):
        return [value.func, *value.args, *value.keywords.values()]
    if isinstance(value, dict):
        return list(value.values())
    if isinstance(value, (list, tuple, set)):
        return list(value)
    held: list[Any] = []
    if hasattr(value, "__self__"):
        held.append(value.__self__)
    value = getattr(value, "__func__", value)
    code = getattr(value, "__code__", None)
    if code is None:
        module = type(value).__module__.partition(".")[0]
        return held + (list(vars(value).values()) if hasattr(value, "__dict__") and module not in ("torch", "builtins") else [])
    for cell in value.__closure__ or ():
        try:
            held.append(cell.cell_contents)
        except ValueError:  # not filled yet
            continue
    if hasattr(value, "__wrapped__"):
        held.append(value.__wrapped__)
    return held + [value.__globals__[name] for name in names_in(code) if name in value.__globals__]


def names_in(code: Any) -> set[str]:
    inner = [names_in(part) for part in code.co_consts if hasattr(part, "co_names")]
    return set(code.co_names).union(*inner)


@contextmanager
def as_fakes(fakes: Fakes, modules: list[nn.Module], optimisers: list[torch.optim.Optimizer]) -> Iterator[None]:
    with ExitStack() as stack:
        for number, module in enumerate(modules, 1):
            state = fakes.state(module, number)
            gradients = [(p, p.grad) for p in module.parameters() if p.grad is not None]
            for weight, gradient in gradients:
                fakes.fake(weight, "", "weight").grad = fakes.fake(gradient, "gradient", "buffer")
            stack.enter_context(stateless._reparametrize_module(module, state))
        for optimiser in optimisers:
            stack.enter_context(of_fakes(fakes, optimiser))
        yield


@contextmanager
def of_fakes(fakes: Fakes, optimiser: torch.optim.Optimizer) -> Iterator[None]:
    """The optimiser steps fake weights, with a copy of its state."""
    groups, state = optimiser.param_groups, optimiser.state
    name = type(optimiser).__name__.lower()

    def held(weight: Any) -> Any:
        return weight if hasattr(weight, "fake_mode") else fakes.fake(weight, f"{name} weight", "weight")

    optimiser.param_groups = [{**group, "params": [held(w) for w in group["params"]]} for group in groups]
    copied: Any = defaultdict(dict)
    for i, (weight, kept) in enumerate(state.items()):
        copied[held(weight)] = {key: fakes.inside(value, f"{name}.{i}.{key}", "buffer") for key, value in kept.items()}
    optimiser.state = copied
    try:
        yield
    finally:
        optimiser.param_groups, optimiser.state = groups, state


def named_state(fakes: Fakes, optimisers: Sequence[torch.optim.Optimizer], only: torch.optim.Optimizer | None = None) -> None:
    """What optimisers keep from one step to the next is memory of its own. `only`: of one of them."""
    for number, optimiser in enumerate(optimisers, 1):
        if only is not None and optimiser is not only:
            continue
        name = f"{type(optimiser).__name__.lower()}{number if number > 1 else ''}"
        for i, kept in enumerate(optimiser.state.values()):
            for key, tensor in kept.items():
                if isinstance(tensor, torch.Tensor):
                    fakes.recorder.known(tensor, f"{name}.{i}.{key}", "buffer")
