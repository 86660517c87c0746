"""Calls of ops over the rows of a matrix."""

from __future__ import annotations

import torch
import torch.nn.functional as F

from ironlaw.measure.devices.device import Call
from ironlaw.measure.suites.cuda.calls.making import Make, Params, Table, from_table, matrix, registrar
from ironlaw.measure.suites.cuda.inputs import SweepInputs

ROWS: Table = {
    "softmax": (matrix, lambda p, x: F.softmax(x, -1)),
    "log_softmax": (matrix, lambda p, x: F.log_softmax(x, -1)),
    "mean": (matrix, lambda p, x: x.mean(-1, keepdim=True)),
    "sum": (matrix, lambda p, x: x.sum(-1)),
    "var": (matrix, lambda p, x: x.var(-1)),
    "argmax": (matrix, lambda p, x: x.argmax(-1)),
    "topk": (matrix, lambda p, x: x.topk(p["k"], -1)),
    "cumsum": (matrix, lambda p, x: x.cumsum(-1)),
    "amax": (matrix, lambda p, x: x.amax(-1)),
    "sort_rows": (matrix, lambda p, x: x.sort(-1)),
    "rfft": (matrix, lambda p, x: torch.fft.rfft(x)),
    "fft": (lambda p: [(p["rows"], p["cols"], 2)], lambda p, x: torch.fft.fft(torch.view_as_complex(x))),
}
CALLS: dict[str, Make] = from_table(ROWS)
makes = registrar(CALLS)


@makes("cross_entropy")
def cross_entropy(i: SweepInputs, p: Params) -> Call:
    x, target = i.act((p["rows"], p["cols"]), p["dtype"]), i.ids(p["rows"], p["cols"])
    return lambda: F.cross_entropy(x, target)
