"""Functions of ATen, called by themselves as they are written down (`cases.single_calls`)."""

from __future__ import annotations

from typing import Any

import torch

from ironlaw.formats import FORMATS
from ironlaw.measure.devices.device import Call
from ironlaw.measure.suites.cuda.calls.making import Make, Params, registrar
from ironlaw.measure.suites.cuda.cases.single_calls import call_of
from ironlaw.measure.suites.cuda.inputs import SweepInputs

CALLS: dict[str, Make] = {}
makes = registrar(CALLS)


@makes("called")
def called(i: SweepInputs, p: Params) -> Call:
    written = call_of(p)
    packet, overload = written["func"].split(".")
    function = getattr(getattr(torch.ops.aten, packet), overload)
    args = [_made(value, i.device) for value in written["args"]]
    return lambda: function(*args)


def _made(value: Any, device: str) -> Any:
    if isinstance(value, list):
        return [_made(each, device) for each in value]
    if not isinstance(value, dict):
        return value
    kind = FORMATS[value["dtype"]].in_torch(torch)
    return _tensor(value, kind, device) if "shape" in value else kind


def _tensor(about: Params, kind: torch.dtype, device: str) -> torch.Tensor:
    """`below`: whole numbers under it; `step`: every so manieth column of a wider tensor; `last`: channels lie innermost."""
    step = about.get("step", 1)
    shape = [*about["shape"][:-1], about["shape"][-1] * step] if about["shape"] else []
    below = about.get("below", 0)
    x = torch.randint(below, shape, device=device) if below else torch.randn(shape, device=device)
    x = x.to(kind)
    if about.get("last"):
        x = x.to(memory_format=torch.channels_last)
    return x[..., ::step] if step > 1 else x
