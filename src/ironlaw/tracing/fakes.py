"""Tensors of the caller -> fake ones on one device, known to the recorder by name and role."""

from __future__ import annotations

import inspect
from copy import copy
from typing import Any

import torch
from torch.utils import _pytree as pytree

from ironlaw.errors import BadValue
from ironlaw.tracing.fake_results import FakeResultCache
from ironlaw.tracing.real_tensors import has_values
from ironlaw.tracing.recorder import Recorder

CACHES = ("past_key_values", "past_key_value", "cache", "kv_cache", "layer_past")


def argument_names(function: Any) -> list[str]:
    call = function.forward if isinstance(function, torch.nn.Module) else function
    try:
        parameters = inspect.signature(call).parameters.values()
    except (TypeError, ValueError):  # written in C
        return []
    return [p.name for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]


class Fakes:
    """One fake for each tensor, however often it is handed in: tied weights stay tied."""

    def __init__(self, recorder: Recorder) -> None:
        self.mode = recorder.mode
        self.recorder = recorder
        recorder.fake = self.fake
        self.results = recorder.results = FakeResultCache(self.mode)
        self.fakes: dict[int, Any] = {}
        self.shapes: dict[str, tuple[int, ...]] = {}  # of each input, as it was given
        self.given: dict[str, tuple[str, int]] = {}  # role and bytes of each tensor that was there before the call

    def fake(self, tensor: Any, name: str, role: str, hint: str = "") -> Any:
        """`hint`: what the call names it, which tells what it may hold."""
        if id(tensor) in self.fakes:
            return self.fakes[id(tensor)]
        if tensor.layout != torch.strided:  # no fake tensor stands for a sparse one; calls on it run on its values
            if not has_values(tensor):
                raise BadValue(f"{name} is sparse and has no values, so its size is not known; give a real tensor")
            self.recorder.known(tensor, name, role)
            self.fakes[id(tensor)] = tensor
            return tensor
        twin: Any = self.results.like(tensor)
        if isinstance(tensor, torch.nn.Parameter):
            twin._is_param = True  # as Parameter's constructor marks what is of another class, after a detach that is slow
            twin.requires_grad_(tensor.requires_grad)
            if role == "weight" and name and not tensor.requires_grad:
                self.recorder.frozen.append(name)
        self.recorder.known(twin, name, role)
        self.given[name] = role, tensor.numel() * tensor.element_size()
        self.recorder.values.begin(twin, tensor, hint or name, role)
        self.fakes[id(tensor)] = twin
        return twin

    def call_inputs(self, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any], grad: bool = False) -> Any:
        """The arguments of a call, with fakes. With `grad`, inputs that ask for a gradient still do."""
        names = argument_names(function)
        hints = [names[i] if i < len(names) else "" for i in range(len(args))]
        return tuple(self.inputs(arg, str(i), hints[i], grad) for i, arg in enumerate(args)), {
            key: self.inputs(value, key, key, grad) for key, value in kwargs.items()
        }

    def inputs(self, tree: Any, top: str, hint: str = "", grad: bool = False) -> Any:
        def one(path: Any, leaf: Any) -> Any:
            inner = pytree.keystr(path).replace("'", "").strip("[].").replace("][", ".").replace("].", ".")
            name = ".".join(filter(None, (top, inner)))
            role = "cache" if any(word in f"{hint} {name}" for word in CACHES) else "input"
            if not isinstance(leaf, torch.Tensor):
                return self.inside(leaf, f"input {name}", role)
            if leaf.layout == torch.strided:
                self.shapes[f"input {name}"] = tuple(map(int, leaf.shape))
            twin = self.fake(leaf, f"input {name}", role, f"{hint or top}.{inner}".strip("."))
            return twin.requires_grad_(leaf.requires_grad) if grad and leaf.is_leaf and leaf.requires_grad else twin

        return pytree.tree_map_with_path(one, tree)

    def inside(self, value: Any, name: str, role: str, depth: int = 4) -> Any:
        """A copy of an object (a cache of keys and values, say) with fakes for the tensors in it."""
        if isinstance(value, torch.Tensor):
            return self.fake(value, name, role)
        if isinstance(value, (list, tuple)) and type(value) in (list, tuple):
            return type(value)(self.inside(v, f"{name}.{i}", role, depth) for i, v in enumerate(value))
        if isinstance(value, dict):
            return {key: self.inside(v, f"{name}.{key}", role, depth) for key, v in value.items()}
        if (
            depth == 0
            or isinstance(value, (torch.nn.Module, torch.optim.Optimizer, type))
            or not hasattr(value, "__dict__")
            or callable(value)
        ):
            return value
        other = copy(value)
        for key, held in vars(value).items():
            setattr(other, key, self.inside(held, f"{name}.{key}", role, depth - 1))
        return other

    def state(self, module: torch.nn.Module, number: int = 1) -> dict[str, Any]:
        """Weights and buffers by name. `number`: of the model, where there are several, which may have weights of one name."""
        before = f"model {number}: " if number > 1 else ""
        weights = {name: self.fake(t, before + name, "weight") for name, t in module.named_parameters(remove_duplicate=False)}
        return weights | {name: self.fake(t, before + name, "buffer") for name, t in module.named_buffers(remove_duplicate=False)}
