"""The call itself, and a training step around it, on fake tensors and under the recorder."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import torch
from torch.utils import _pytree as pytree

from ironlaw.errors import BadValue
from ironlaw.tracing.fakes import Fakes
from ironlaw.tracing.gpu_ops import AsOnGpu
from ironlaw.tracing.libraries import as_if_real
from ironlaw.tracing.paths import module_paths


@contextmanager
def recording(fakes: Fakes, module: Any, grad: bool) -> Iterator[None]:
    with ExitStack() as stack:
        stack.enter_context(torch.set_grad_enabled(grad))
        stack.enter_context(fakes.mode)
        stack.enter_context(fakes.recorder)
        stack.enter_context(AsOnGpu(stack.enter_context(as_if_real())))
        if isinstance(module, torch.nn.Module):
            stack.enter_context(module_paths(module, fakes.recorder.path))
        yield


def run(function: Any, fakes: Fakes, args: tuple[Any, ...], kwargs: dict[str, Any], grad: bool = False) -> Any:
    """What the call returns."""
    is_module = isinstance(function, torch.nn.Module)
    state = fakes.state(function) if is_module else {}
    args, kwargs = fakes.inputs(args), fakes.inputs(kwargs)
    with recording(fakes, function, grad):
        return torch.func.functional_call(function, state, args, kwargs) if is_module else function(*args, **kwargs)


def step(module: torch.nn.Module, fakes: Fakes, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Forward, backward, and AdamW as PyTorch runs it by default on a GPU; gives the loss."""
    out = run(module, fakes, args, kwargs, grad=True)
    weights = [w for name, w in fakes.state(module).items() if isinstance(w, torch.nn.Parameter) and w.requires_grad]
    weights = list({id(w): w for w in weights}.values())
    if not weights:
        raise BadValue("no weight of the module asks for a gradient: there is nothing to train; set requires_grad")
    with recording(fakes, module, grad=True):
        loss = loss_of(out)
        gradients = torch.autograd.grad(loss, weights, allow_unused=True)
    for weight, gradient in zip(weights, gradients, strict=True):
        weight.grad = gradient
    optimiser = torch.optim.AdamW([w for w in weights if w.grad is not None], foreach=True)
    with fakes.mode:
        optimiser.step()  # the first one makes its state
    for i, kept in enumerate(optimiser.state.values()):
        for name, tensor in kept.items():
            if isinstance(tensor, torch.Tensor):
                fakes.recorder.known(tensor, f"adamw.{i}.{name}", "buffer")
    with recording(fakes, module, grad=False):
        optimiser.step()
    return loss


def loss_of(out: Any) -> Any:
    loss = getattr(out, "loss", None)
    if loss is None and isinstance(out, dict):
        loss = out.get("loss")
    if loss is not None:
        return loss
    sums = [t.float().sum() for t in pytree.tree_leaves(out) if isinstance(t, torch.Tensor) and t.requires_grad]
    if not sums:
        raise BadValue("nothing that the module returns depends on its weights: there is no loss to train on")
    return sum(sums[1:], sums[0])
