"""Calls of ops on each element alone, with and without a second tensor that is repeated."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F

from ironlaw.formats import FORMATS
from ironlaw.measure.devices.device import Call
from ironlaw.measure.suites.cuda.calls.making import Make, Params, Table, from_table, matrix_and_row, registrar
from ironlaw.measure.suites.cuda.inputs import SweepInputs

UNARY: dict[str, Callable[[Any], Any]] = {
    "relu": F.relu, "gelu": F.gelu, "gelu_tanh": lambda x: F.gelu(x, approximate="tanh"), "silu": F.silu, "tanh": torch.tanh,
    "sigmoid": torch.sigmoid, "pow2": lambda x: x.pow(2), "neg": torch.neg, "mul_scalar": lambda x: x * 1.5,
    "add_scalar": lambda x: x + 1.5, "hardtanh": lambda x: F.hardtanh(x, 0.0, 6.0), "clamp": lambda x: x.clamp(-0.5, 0.5),
    "copy": torch.clone, "dropout_train": lambda x: F.dropout(x, 0.1, True), "rsqrt": torch.rsqrt, "sum_all": torch.sum,
    "exp": torch.exp, "sin": torch.sin, "cos": torch.cos, "erf": torch.erf, "square": torch.square, "relu6": F.relu6, "abs": torch.abs,
    "log": torch.log, "sqrt": torch.sqrt,
}  # fmt: skip
POSITIVE = ("log", "sqrt")  # of the magnitude: what is not a number may take another path
BINARY: dict[str, Callable[[Any, Any], Any]] = {
    "add": torch.add, "mul": torch.mul, "sub": torch.sub, "div": torch.div, "maximum": torch.maximum, "compare": torch.gt,
}  # fmt: skip
BROADCAST: Table = {
    "mul_row": (matrix_and_row, lambda p, x, w: x * w),
    "mul_col": (lambda p: [(p["rows"], p["cols"]), (p["rows"], 1)], lambda p, x, w: x * w),
    "add_pos": (lambda p: [(p["b"], p["s"], p["d"]), (1, p["s"], p["d"])], lambda p, x, y: x + y),
}


def one(call: Callable[[Any], Any], positive: bool = False) -> Make:
    def make(i: SweepInputs, p: Params) -> Call:
        x = i.act((p["numel"],), p["dtype"])
        x = x.abs() + 0.01 if positive else x
        return lambda: call(x)

    return make


def two(call: Callable[[Any, Any], Any]) -> Make:
    def make(i: SweepInputs, p: Params) -> Call:
        x, y = (i.act((p["numel"],), p["dtype"]) for _ in range(2))
        return lambda: call(x, y)

    return make


CALLS: dict[str, Make] = {
    **{op: one(call, op in POSITIVE) for op, call in UNARY.items()},
    **{op: two(call) for op, call in BINARY.items()},
    **from_table(BROADCAST),
}
makes = registrar(CALLS)


@makes("add_")
def added(i: SweepInputs, p: Params) -> Call:
    x = i.act((p["numel"],), p["dtype"])
    total = x.clone()
    return lambda: total.add_(x)


@makes("fill_")
def filled(i: SweepInputs, p: Params) -> Call:
    target = torch.empty_like(i.act((p["numel"],), p["dtype"]))
    return lambda: target.fill_(1.0)


@makes("cast")
def cast(i: SweepInputs, p: Params) -> Call:
    x, to = i.act((p["numel"],), p["dtype"]), FORMATS[p["to"]].in_torch(torch)
    return lambda: x.to(to)


@makes("arange")
def arange(i: SweepInputs, p: Params) -> Call:
    return lambda: torch.arange(p["numel"], device=i.device)


@makes("mul_rope")
def rope(i: SweepInputs, p: Params) -> Call:
    x = i.act((p["b"], p["s"], p["h"], p["d"]), p["dtype"]).transpose(1, 2)
    cos = i.act((p["b"], 1, p["s"], p["d"]), p["dtype"])
    return lambda: x * cos


@makes("complex_mul")
def complex_mul(i: SweepInputs, p: Params) -> Call:
    """`dtype` is that of the real and the imaginary part."""
    x, y = (torch.view_as_complex(i.act((p["numel"], 2), p["dtype"])) for _ in range(2))
    return lambda: x * y
