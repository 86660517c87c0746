"""Calls that torch.compile writes kernels for: functions of a few ops, and group norm between convolutions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F

from ironlaw.measure.devices.device import Call
from ironlaw.measure.suites.cuda.calls.making import Make, Params, Shapes, registrar, shape
from ironlaw.measure.suites.cuda.inputs import SweepInputs

GROUPS = 32  # of group norm


def relu(x: Any) -> Any:
    return torch.relu(x)


def added_norm(x: Any, y: Any, w: Any, b: Any) -> Any:
    total = x + y
    return total, F.layer_norm(total, w.shape, w, b)


def added_rms(x: Any, y: Any, w: Any) -> Any:
    total = x + y
    wide = total.float()
    wide = wide * torch.rsqrt(wide.pow(2).mean(-1, keepdim=True) + 1e-5)
    return total, w * wide.to(x.dtype)


def normed(x: Any, w: Any, b: Any, mean: Any, var: Any) -> Any:
    return F.batch_norm(x, mean, var, w, b)


def normed_groups(x: Any, w: Any, b: Any, before: Any, after: Any) -> Any:
    """Group norm and SiLU of an image that stands as it was given, or of a convolution's result; another convolution follows."""
    x = x if before is None else F.conv2d(x, before, b)
    return F.conv2d(F.silu(F.group_norm(x, GROUPS, w, b)), after)


def flat(count: int) -> Callable[[Params], Shapes]:
    return lambda p: [(p["numel"],)] * count


def rows(tables: int, vectors: int) -> Callable[[Params], Shapes]:
    return lambda p: [(p["rows"], p["cols"])] * tables + [(p["cols"],)] * vectors


def images(count: int) -> Callable[[Params], Shapes]:
    return lambda p: [(p["n"], p["c"], p["h"], p["h"])] * count + [(p["c"],)] * 4


WRITTEN: dict[str, tuple[Callable[[Params], Shapes], Callable[..., Any]]] = {  # function -> shapes of its inputs, what is compiled
    "relu": (flat(1), relu),
    "mul_add_relu": (flat(3), lambda x, y, z: torch.relu(x * y + z)),
    "gelu_tanh": (flat(1), lambda x: F.gelu(x, approximate="tanh")),
    "silu_mul": (flat(2), lambda x, y: F.silu(x) * y),
    "add_layer_norm": (rows(2, 2), added_norm),
    "add_rms_norm": (rows(2, 1), added_rms),
    "softmax": (rows(1, 0), lambda x: torch.softmax(x, -1)),
    "bn_relu": (images(1), lambda x, *s: torch.relu(normed(x, *s))),
    "bn_add_relu": (images(2), lambda x, y, *s: torch.relu(normed(x, *s) + y)),
    "bn_relu_mean": (images(1), lambda x, *s: torch.relu(normed(x, *s)).mean((2, 3))),
}


CALLS: dict[str, Make] = {}
makes = registrar(CALLS)


@makes("generated")
def generated(i: SweepInputs, p: Params) -> Call:
    """Compiled with static shapes; the first turn pays for it."""
    shapes, function = WRITTEN[p["function"]]
    inputs = [i.act(size, p["dtype"], nhwc=len(size) == 4) for size in shapes(p)]
    if p["function"].startswith("bn_"):
        inputs[-1] = inputs[-1].abs() + 0.1  # a variance
    return compiled(function, inputs)


def compiled(function: Callable[..., Any], inputs: list[Any]) -> Call:
    torch._dynamo.reset()
    fast = torch.compile(function, dynamic=False)
    return lambda: fast(*inputs)


@makes("generated_norm")
def generated_norm(i: SweepInputs, p: Params) -> Call:
    """As in a U-Net: `layout` is what the norm finds, channels innermost where a convolution stands before it."""
    c, dtype = p["c"], p["dtype"]
    x, w, b = i.act(shape(p), dtype), i.act((c,), dtype), i.act((c,), dtype)
    first, second = (i.act((c, c, 1, 1), dtype) for _ in range(2))
    return compiled(normed_groups, [x, w, b, first if p["layout"] == "nhwc" else None, second])
