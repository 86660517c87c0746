"""Calls of norms and of the pools that stand beside them."""

from __future__ import annotations

import torch.nn.functional as F

from ironlaw.measure.devices.device import Call
from ironlaw.measure.suites.cuda.calls.making import Make, Params, Table, from_table, image, matrix_and_row, registrar, shape
from ironlaw.measure.suites.cuda.inputs import SweepInputs

NORMS: Table = {
    "layer_norm": (matrix_and_row, lambda p, x, w: F.layer_norm(x, w.shape, w, w)),
    "rms_norm": (matrix_and_row, lambda p, x, w: F.rms_norm(x, w.shape, w)),
    "group_norm": (lambda p: [*image(p), (p["c"],), (p["c"],)], lambda p, x, w, b: F.group_norm(x, p["groups"], w, b)),
    "adaptive_avg_pool2d": (image, lambda p, x: F.adaptive_avg_pool2d(x, 1)),
    "mean_hw": (image, lambda p, x: x.mean((2, 3))),
    "max_pool2d": (image, lambda p, x: F.max_pool2d(x, p["k"], p["stride"], p["pad"])),
    "avg_pool2d": (image, lambda p, x: F.avg_pool2d(x, p["k"], p["stride"], p["pad"], count_include_pad=not p["pad"])),
}
CALLS: dict[str, Make] = from_table(NORMS)
makes = registrar(CALLS)


@makes("batch_norm")
def batch_norm(i: SweepInputs, p: Params) -> Call:
    x = i.act(shape(p), p["dtype"])
    w, b, mean = (i.act((p["c"],), p["dtype"]) for _ in range(3))
    var = i.act((p["c"],), p["dtype"]).abs() + 0.5
    return lambda: F.batch_norm(x, mean, var, w, b, False)
