"""Runs a function on fake tensors and writes down every ATen op: what it reads and writes, under which module."""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import cache
from typing import Any

import torch
from torch import Tensor
from torch._ops import HigherOrderOperator
from torch._subclasses.fake_tensor import FakeTensor
from torch.utils import _pytree as pytree
from torch.utils._python_dispatch import TorchDispatchMode, _disable_current_modes

from ironlaw.engine.device import types, work
from ironlaw.engine.device.types import Op
from ironlaw.formats import is_float, of_torch
from ironlaw.tracing.aten import Call
from ironlaw.tracing.aten_tables import FREE
from ironlaw.tracing.fake_results import FakeResultCache
from ironlaw.tracing.layout import strided
from ironlaw.tracing.quantised_rules import DYNAMIC, dynamic
from ironlaw.tracing.schemas import Schema, schema, tensors
from ironlaw.tracing.translate import translate

GATHERED = ("layer_norm", "rms_norm", "softmax", "log_softmax", "group_norm")
SAME_FORMAT = ("mm", "addmm", "bmm", "baddbmm", "linear", "convolution")  # a fake tensor does not mind, a real one does
SHADOW = 1 << 20  # elements up to which values that depend on no input are computed for real
RANDOM = ("rand", "randn", "randint", "randperm", "bernoulli", "uniform", "normal", "multinomial", "native_dropout", "exponential")


class Recorder(TorchDispatchMode):
    """`names`: storage -> (name, role) of what is there before the first op.

    Values that depend on nothing but constants (positions, causal masks) are computed beside, so that code which looks at
    them can go on; what depends on an input has no value.
    """

    supports_higher_order_operators = True

    def __init__(self, progress: Callable[[int], None] | None = None) -> None:
        super().__init__()
        self.ops: list[Op] = []
        self.calls: list[tuple[str, int]] = []  # for each op the ATen call that it came from: its name and number
        self.call = ("", 0)
        self.unknown: dict[str, int] = {}
        self.names: dict[int, tuple[str, str]] = {}
        self.path: list[str] = []
        self.used: dict[str, int] = {}
        self.kept: list[Any] = []  # a storage that is freed would give its address to another
        self.values: dict[int, Tensor] = {}  # id of a fake tensor -> its values
        self.memo: dict[Any, Any] = {}
        self.places: dict[int, str] = {}  # number of an autograd node -> the module that made it
        self.results: FakeResultCache | None = None
        self.progress = progress
        self.thread = threading.get_ident()

    # ---- tensors

    def place(self, tensor: Tensor) -> int:
        return int(tensor.untyped_storage()._cdata)

    def known(self, tensor: Tensor, name: str, role: str) -> None:
        self.kept.append(tensor)
        self.names[self.place(tensor)] = (name, role)

    def tensor(self, tensor: Tensor) -> types.Tensor:
        """As the engine sees it."""
        place = self.place(tensor)
        if place not in self.names:
            self.known(tensor, self.unique("constant"), "buffer")
        name, role = self.names[place]
        return types.Tensor(name, tuple(map(int, tensor.shape)), format_of(tensor.dtype), role)

    def stored(self, tensor: Tensor, plain: types.Tensor) -> types.Tensor:
        """An expanded axis is stored once."""
        if tensor.layout != torch.strided or 0 not in tensor.stride():
            return plain
        shape = tuple(1 if stride == 0 else size for size, stride in zip(plain.shape, tensor.stride(), strict=True))
        return types.Tensor(plain.name, shape, plain.dtype, plain.role)

    def unique(self, name: str) -> str:
        count = self.used[name] = self.used.get(name, 0) + 1
        return name if count == 1 else f"{name}.{count}"

    # ---- ops

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        if isinstance(func, HigherOrderOperator):
            return self.higher(func, args)
        schema_info = schema(func)
        self.call = (schema_info.name, self.call[1] + 1)
        if schema_info.name == "_local_scalar_dense":
            known = self.value(args[0])
            if known is not None:
                self.write("copy", schema_info.name, [self.tensor(args[0])], [types_scalar(self.unique("item"))], {})
                with _disable_current_modes():
                    return known.item()
        tensors_in, graded = tensors((args, kwargs)), torch.is_grad_enabled()
        if graded:
            self.places.setdefault(torch.autograd._get_sequence_nr() - 1, self.path[-1] if self.path else "")  # type: ignore[attr-defined]
        if schema_info.name in DYNAMIC and func.namespace == "quantized":
            return dynamic(self, schema_info.name, args)
        results = self.results if tensors_in and not graded and not schema_info.inplace and schema_info.name not in RANDOM else None
        out = results(func, args, kwargs, tensors_in) if results is not None else func(*args, **kwargs)
        tensors_out = tensors(out)
        self.shadow(func, schema_info, args, kwargs, tensors_in, tensors_out)
        if not schema_info.view:
            self.record(schema_info, args, kwargs, tensors_in, tensors_out)
        return out

    def higher(self, func: Any, args: Any) -> Any:
        """flex_attention is attention, all of it: what its mask would skip is not known. Others choose what runs by a value."""
        if func.__name__ != "flex_attention":
            raise RuntimeError(f"HigherOrderOperator {func.__name__}")
        q, k, v = args[:3]
        with self:
            out = torch.ops.ironlaw.attention(q, k, v, None, False, False, True)
        sums = q.new_empty(q.shape[:-1], dtype=torch.float32)
        return out, sums, sums

    def module(self) -> str:
        """The running module; in a backward pass the one whose forward op created the gradient's node."""
        if self.path:
            return self.path[-1]
        node = torch._C._current_autograd_node()  # type: ignore[attr-defined]
        return self.places.get(node._sequence_nr(), "") if node is not None else ""

    def record(self, schema_info: Schema, args: Any, kwargs: Any, tensors_in: list[Tensor], tensors_out: list[Tensor]) -> None:
        name, inplace = schema_info.name, schema_info.inplace
        if name in FREE:
            for t in tensors_out:
                if self.place(t) not in self.names:
                    self.known(t, self.unique(name), "activation")
            return
        counted = [t for t in tensors_in if t.numel() and (t.dim() or len(tensors_in) == 1)]
        label = self.unique(".".join(filter(None, (self.module(), name))))
        targets = [t for t in tensors_out if t.numel()] or self.written(schema_info, args, kwargs)
        if inplace and name in ("copy", "fill", "zero", "uniform", "normal", "bernoulli"):
            counted = [t for t in tensors_in[1:] if t.numel()]
        inputs = [self.tensor(t) for t in counted]
        if name in SAME_FORMAT and len({t.dtype for t in inputs[:3] if is_float(t.dtype)}) > 1:
            raise RuntimeError(f"{name} of {' and '.join(dict.fromkeys(t.dtype for t in inputs[:3]))}: both must have one number format")
        stored = {id(plain): self.stored(t, plain) for t, plain in zip(counted, inputs, strict=True)}
        for i, t in enumerate(targets):
            cached = self.names.get(self.place(t), ("", ""))[1] == "cache"  # a cache that is written to stays one
            self.known(t, label if i == 0 else f"{label}:{i}", "cache" if cached else "activation")
        outputs = [self.tensor(t) for t in targets]
        arguments = schema_info.defaults | dict(zip(schema_info.arguments, args, strict=False)) | kwargs
        for i, draft in enumerate(translate(Call(name, inputs, outputs, arguments, self.tensor, inplace))):
            if not draft.outputs:
                continue
            if draft.kind == "unknown":
                self.unknown[name] = self.unknown.get(name, 0) + 1
            attrs = dict(draft.attrs)
            if inplace:
                attrs["inplace"] = True
            group = work.category(draft.kind)
            if group in ("elementwise", "movement"):
                attrs |= strided(tensors_in, tensors_out)
            if draft.kind in GATHERED and not tensors_in[0].is_contiguous():
                self.gather(draft, f"{label}:contiguous")
            if group not in ("contraction", "attention"):
                draft.inputs = [stored.get(id(t), t) for t in draft.inputs]
            self.write(draft.kind, label if i == 0 else f"{label}:{i}", draft.inputs, draft.outputs, attrs)

    def gather(self, draft: Any, name: str) -> None:
        """A norm or softmax wants its rows contiguous: what lies otherwise is copied first."""
        x = draft.inputs[0]
        copied = types.Tensor(name, x.shape, x.dtype)
        self.write("copy", name, [x], [copied], {"strided": "columns"})
        draft.inputs = [copied, *draft.inputs[1:]]

    def written(self, schema_info: Schema, args: Any, kwargs: Any) -> list[Tensor]:
        """What an op that returns nothing changes: the lists of an optimiser."""
        changed = [args[i] if i < len(args) else kwargs.get(name) for i, name in schema_info.written]
        return [t for t in tensors(changed) if t.dim()]

    def write(self, kind: str, label: str, inputs: list[Any], outputs: list[Any], attrs: dict[str, Any]) -> None:
        if not inputs:
            attrs = {**attrs, "dtype": outputs[0].dtype}
        self.calls.append(self.call)
        self.ops.append(work.op(kind, label, tuple(inputs), tuple(outputs), self.memo, **attrs))
        if self.progress is not None:
            self.progress(len(self.ops))

    # ---- values

    def value(self, tensor: Tensor) -> Tensor | None:
        """What a tensor holds, if that is known: `torch.tensor([1, 2])` in the model's code is a real one."""
        return self.values.get(id(tensor)) if isinstance(tensor, FakeTensor) else tensor

    def shadow(self, func: Any, schema_info: Schema, args: Any, kwargs: Any, tensors_in: list[Tensor], tensors_out: list[Tensor]) -> None:
        if not tensors_out:
            return
        if schema_info.name in RANDOM or any(self.value(t) is None for t in tensors_in) or any(t.numel() > SHADOW for t in tensors_out):
            for t in tensors_out:
                self.values.pop(id(t), None)
            return
        if "empty" in schema_info.name or ("device" in kwargs and str(kwargs["device"]) == "meta"):
            return
        real_args, real_kwargs = pytree.tree_map(lambda x: self.value(x) if isinstance(x, Tensor) else x, (args, kwargs))
        if schema_info.inplace:
            real_args = pytree.tree_map(lambda x: x.clone() if isinstance(x, Tensor) else x, real_args)
        try:
            with _disable_current_modes():
                shadows = tensors(func(*real_args, **real_kwargs))
        except Exception:
            return
        for t, value in zip(tensors_out, shadows, strict=False):
            self.kept.append(t)
            self.values[id(t)] = value


@cache
def format_of(dtype: torch.dtype) -> str:
    return of_torch(str(dtype).removeprefix("torch."), dtype.itemsize)


def types_scalar(name: str) -> types.Tensor:
    return types.Tensor(name, (1,), "bool")
