"""Tensors of the caller -> fake ones on one device, known to the recorder by name and role."""

from __future__ import annotations

from copy import copy
from typing import Any

import torch
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.utils import _pytree as pytree

from ironlaw.tracing.fake_results import FakeResultCache
from ironlaw.tracing.recorder import Recorder

CACHES = ("past_key_values", "past_key_value", "cache", "kv_cache", "layer_past")
SMALL = 1 << 16  # elements of an integer input up to which code may look at its values


class Fakes:
    """One fake for each tensor, however often it is handed in: tied weights stay tied."""

    def __init__(self, recorder: Recorder) -> None:
        self.mode = FakeTensorMode(allow_non_fake_inputs=True)
        self.recorder = recorder
        recorder.results = FakeResultCache(self.mode)
        self.fakes: dict[int, Any] = {}

    def fake(self, tensor: Any, name: str, role: str) -> Any:
        if id(tensor) in self.fakes:
            return self.fakes[id(tensor)]
        with self.mode:
            twin: Any = torch.empty_strided(tensor.shape, tensor.stride(), dtype=tensor.dtype, device="cpu")
        if isinstance(tensor, torch.nn.Parameter):
            twin = torch.nn.Parameter(twin, tensor.requires_grad)
        self.recorder.known(twin, name, role)
        if self.has_values(tensor) and role in ("input", "buffer"):
            self.recorder.values[id(twin)] = tensor.detach().clone()
        self.fakes[id(tensor)] = twin
        return twin

    def has_values(self, tensor: Any) -> bool:
        real = tensor.device.type == "cpu" and not hasattr(tensor, "fake_mode")
        return real and tensor.numel() <= SMALL and not tensor.is_floating_point()

    def inputs(self, tree: Any) -> Any:
        def one(path: Any, leaf: Any) -> Any:
            name = pytree.keystr(path).replace("'", "").strip("[].").replace("][", ".").replace("].", ".") or "input"
            role = "cache" if any(word in name for word in CACHES) else "input"
            return self.fake(leaf, f"input {name}", role) if isinstance(leaf, torch.Tensor) else self.inside(leaf, f"input {name}", role)

        return pytree.tree_map_with_path(one, tree)

    def inside(self, value: Any, name: str, role: str, depth: int = 4) -> Any:
        """A copy of an object (a cache of keys and values, say) with fakes for the tensors in it."""
        if isinstance(value, torch.Tensor):
            return self.fake(value, name, role)
        if isinstance(value, (list, tuple)) and type(value) in (list, tuple):
            return type(value)(self.inside(v, f"{name}.{i}", role, depth) for i, v in enumerate(value))
        if isinstance(value, dict):
            return {key: self.inside(v, f"{name}.{key}", role, depth) for key, v in value.items()}
        if depth == 0 or isinstance(value, (torch.nn.Module, type)) or not hasattr(value, "__dict__") or callable(value):
            return value
        other = copy(value)
        for key, held in vars(value).items():
            setattr(other, key, self.inside(held, f"{name}.{key}", role, depth - 1))
        return other

    def state(self, module: torch.nn.Module) -> dict[str, Any]:
        """Weights and buffers by name."""
        weights = {name: self.fake(t, name, "weight") for name, t in module.named_parameters(remove_duplicate=False)}
        return weights | {name: self.fake(t, name, "buffer") for name, t in module.named_buffers(remove_duplicate=False)}
