"""Calls of products; the weights of a linear layer are cold."""

from __future__ import annotations

import torch
import torch.nn.functional as F

from ironlaw.measure.devices.device import Call
from ironlaw.measure.suites.cuda.calls.making import Make, Params, registrar
from ironlaw.measure.suites.cuda.inputs import SweepInputs

CALLS: dict[str, Make] = {}
makes = registrar(CALLS)


@makes("linear")
def linear(i: SweepInputs, p: Params) -> Call:
    torch.backends.cuda.matmul.allow_tf32 = p["dtype"] == "tf32"
    n, k, dtype = p["n"], p["k"], p["dtype"]
    x, b = i.act((p["m"], k), dtype), i.act((n,), dtype) if p["bias"] else None
    return lambda: F.linear(x, i.weight((n, k), dtype), b)


@makes("bmm")
def bmm(i: SweepInputs, p: Params) -> Call:
    torch.backends.cuda.matmul.allow_tf32 = p["dtype"] == "tf32"
    x, y = i.act((p["b"], p["m"], p["k"]), p["dtype"]), i.act((p["b"], p["k"], p["n"]), p["dtype"])
    return lambda: torch.bmm(x, y)


@makes("complex_bmm")
def complex_bmm(i: SweepInputs, p: Params) -> Call:
    """`dtype` is that of the real and the imaginary part."""
    x, y = (torch.view_as_complex(i.act((p["b"], *sides, 2), p["dtype"])) for sides in ((p["m"], p["k"]), (p["k"], p["n"])))
    return lambda: torch.bmm(x, y)
