"""Calls of products with weights stored in 8 or 4 bits."""

from __future__ import annotations

from itertools import cycle
from typing import Any

import torch

from ironlaw.measure.devices.device import Call
from ironlaw.measure.suites.cuda.calls.making import Make, Params, registrar
from ironlaw.measure.suites.cuda.inputs import SweepInputs

COLD = 1 << 28  # bytes of stored weights walked end to end, several times the largest cache
CALLS: dict[str, Make] = {}
makes = registrar(CALLS)


def stored(i: SweepInputs, bits: int, k: int, n: int) -> Any:
    """Weights and their scales, one after the other; enough that none is in the cache when its turn comes again."""
    weights = []
    for _ in range(max(2, COLD * 8 // (bits * k * n))):
        if bits == 8:
            weights.append((torch.randint(-128, 127, (n, k), dtype=torch.int8, device=i.device), i.act((n,), "bf16")))
        else:
            packed = torch.randint(0, 255, (n, k // 2), dtype=torch.uint8, device=i.device)
            weights.append((torch.ops.aten._convert_weight_to_int4pack(packed, 8), i.act((k // 128, n, 2), "bf16")))
    return cycle(weights)


@makes("weight_int8_mm")
def weight_int8(i: SweepInputs, p: Params) -> Call:
    x, weights = i.act((p["m"], p["k"]), p["dtype"]), stored(i, 8, p["k"], p["n"])
    return lambda: torch.ops.aten._weight_int8pack_mm(x, *next(weights))


@makes("weight_int4_mm")
def weight_int4(i: SweepInputs, p: Params) -> Call:
    x, weights = i.act((p["m"], p["k"]), p["dtype"]), stored(i, 4, p["k"], p["n"])

    def call() -> Any:
        w, scales = next(weights)
        return torch.ops.aten._weight_int4pack_mm(x, w, 128, scales)

    return call
