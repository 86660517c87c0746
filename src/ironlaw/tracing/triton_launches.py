"""Kernels that code launches itself: Triton's. Nothing is compiled or run, and no driver is needed.

A kernel's arguments are tensors and numbers; which of the tensors it writes is not said. What was empty before is taken for its output,
or else its last tensor.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from torch import Tensor

from ironlaw.tracing import registered_costs


@contextmanager
def triton_launches(recorder: Any) -> Iterator[None]:
    """`kernel[grid](…)` is recorded while this lasts, autotuned or not."""
    jit: Any = sys.modules.get("triton.runtime.jit")
    if jit is None:
        yield
        return
    interpreter: Any = sys.modules.get("triton.runtime.interpreter")
    tuner: Any = sys.modules.get("triton.runtime.autotuner")
    wanted = ((jit, "JITFunction"), (interpreter, "InterpretedFunction"), (tuner, "Autotuner"), (tuner, "Heuristics"))
    kinds = [getattr(module, name) for module, name in wanted if hasattr(module, name)]

    def run(self: Any, *args: Any, grid: Any = None, warmup: bool = False, **kwargs: Any) -> None:
        kernel = self
        while hasattr(kernel, "fn") and hasattr(kernel.fn, "arg_names"):  # an autotuner around it
            kernel = kernel.fn
        names = list(getattr(kernel, "arg_names", ()))
        record(recorder, getattr(kernel, "__name__", "kernel"), dict(zip(names, args, strict=False)) | kwargs)

    def taken(self: Any, grid: Any) -> Any:
        return lambda *args, **kwargs: run(self, *args, grid=grid, **kwargs)

    before = [(kind, name, kind.__dict__[name]) for kind in kinds for name in ("run", "__getitem__") if name in kind.__dict__]
    for kind, name, _ in before:
        setattr(kind, name, run if name == "run" else taken)
    try:
        yield
    finally:
        for kind, name, function in before:
            setattr(kind, name, function)


def wrapped(recorder: Any, name: str, kwargs: Any) -> Any:
    """A kernel inside torch.library.triton_op, as an operator that takes functions."""
    from torch._higher_order_ops.triton_kernel_wrap import kernel_side_table

    kernel: Any = kernel_side_table.get_kernel(kwargs["kernel_idx"])
    while hasattr(kernel, "fn") and hasattr(kernel.fn, "arg_names"):
        kernel = kernel.fn
    constants = kernel_side_table.get_constant_args(kwargs["constant_args_idx"])
    arguments = {**constants, **kwargs["kwargs"]}
    record(recorder, kernel.__name__, arguments)
    return {key: arguments[key] for key in kwargs.get("tensors_to_clone", ())} if "functional" in name else None


def record(recorder: Any, name: str, arguments: dict[str, Any]) -> None:
    tensors = [t for t in arguments.values() if isinstance(t, Tensor) and t.numel()]
    if not tensors:
        return
    fresh = [t for t in tensors if recorder.place(t) in recorder.empty] or tensors[-1:]
    label = recorder.unique(".".join(filter(None, (recorder.module(), name))))
    recorder.call = (name, recorder.call[1] + 1)
    inputs = [recorder.tensor(t) for t in tensors if not any(t is other for other in fresh)]
    for i, t in enumerate(fresh):
        recorder.empty.discard(recorder.place(t))
        recorder.made(t, label if i == 0 else f"{label}:{i}")
        recorder.values.note(None, (), {}, [t])
    attrs = registered_costs.attributes(name, (), arguments)
    outputs = [recorder.tensor(t) for t in fresh]
    if attrs is None:
        recorder.unknown[name] = recorder.unknown.get(name, 0) + 1
    recorder.write("unknown" if attrs is None else "custom", label, inputs, outputs, attrs or {"op": name})
