"""Operators that take functions: attention with a rule of its own, branches and loops on a tensor's value, parts of an exported
program, and Triton kernels."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from ironlaw.tracing import triton_launches


def run(recorder: Any, func: Any, args: Any, kwargs: Any) -> Any:
    name = func.__name__
    if name in ("flex_attention", "flex_attention_backward"):
        return flexible_attention(recorder, *args[:3]) if name == "flex_attention" else refuse(name)
    if name.startswith("triton_kernel_wrapper"):
        return triton_launches.wrapped(recorder, name, kwargs)
    with recorder:
        if name == "cond":
            chosen = args[1] if truth(args[0]) else args[2]
            return chosen(*args[3])
        if name == "while_loop":
            return loop(*args, **kwargs)
        functions = [i for i, value in enumerate(args) if callable(value) and not isinstance(value, Tensor)]
        if len(functions) == 1:  # a part of an exported program, under some setting
            rest = args[functions[0] + 1 :]
            return args[functions[0]](*[value for value in rest if not isinstance(value, str)])
    return refuse(name)


def refuse(name: str) -> Any:
    raise RuntimeError(f"HigherOrderOperator {name}")


def truth(value: Any) -> bool:
    return bool(value.item()) if isinstance(value, Tensor) else bool(value)


def loop(condition: Any, body: Any, carried: Any, others: Any = ()) -> Any:
    while truth(condition(*carried, *others)):
        carried = body(*carried, *others)
    return carried


def flexible_attention(recorder: Any, q: Tensor, k: Tensor, v: Tensor) -> Any:
    """Attention, all of it: what its mask would skip is not known."""
    with recorder:
        out = torch.ops.ironlaw.attention(q, k, v, None, False, "", True)
    sums = q.new_empty(q.shape[:-1], dtype=torch.float32)
    return out, sums, sums
