"""Calls of convolutions; their weights are cold."""

from __future__ import annotations

import torch
import torch.nn.functional as F

from ironlaw.measure.devices.device import Call
from ironlaw.measure.suites.cuda.calls.making import Make, Params, registrar
from ironlaw.measure.suites.cuda.inputs import SweepInputs

CALLS: dict[str, Make] = {}
makes = registrar(CALLS)


@makes("conv2d")
def conv(i: SweepInputs, p: Params) -> Call:
    torch.backends.cudnn.allow_tf32 = p["dtype"] == "tf32"
    nhwc, dtype = p["layout"] == "nhwc", p["dtype"]
    x = i.act((p["n"], p["c"], p["h"], p["w"]), dtype, nhwc)
    b = i.act((p["out"],), dtype) if p["bias"] else None
    size, pad = (p["out"], p["c"] // p["groups"], p["kh"], p["kw"]), (p["ph"], p["pw"])
    stride, dilation, groups = p["stride"], p["dilation"], p["groups"]
    return lambda: F.conv2d(x, i.weight(size, dtype, nhwc), b, stride, pad, dilation, groups)


@makes("depthwise_nhwc")
def depthwise(i: SweepInputs, p: Params) -> Call:
    x, w = i.act((p["n"], p["c"], p["hw"], p["hw"]), p["dtype"], nhwc=True), i.weight((p["c"], 1, p["k"], p["k"]), p["dtype"])
    return lambda: F.conv2d(x, w, padding=p["k"] // 2, groups=p["c"])


@makes("conv_transpose2d")
def transposed(i: SweepInputs, p: Params) -> Call:
    torch.backends.cudnn.allow_tf32 = p["dtype"] == "tf32"
    nhwc = p["layout"] == "nhwc"
    x, size = i.act((p["n"], p["c"], p["h"], p["w"]), p["dtype"], nhwc), (p["c"], p["out"], p["k"], p["k"])
    return lambda: F.conv_transpose2d(x, i.weight(size, p["dtype"], nhwc), None, p["stride"], p["pad"])


@makes("conv1d")
def along(i: SweepInputs, p: Params) -> Call:
    torch.backends.cudnn.allow_tf32 = p["dtype"] == "tf32"
    x, size = i.act((p["n"], p["c"], p["length"]), p["dtype"]), (p["out"], p["c"] // p["groups"], p["k"])
    return lambda: F.conv1d(x, i.weight(size, p["dtype"]), None, p["stride"], p["pad"], 1, p["groups"])


@makes("conv3d")
def volume(i: SweepInputs, p: Params) -> Call:
    torch.backends.cudnn.allow_tf32 = p["dtype"] == "tf32"
    frames = p.get("kt", p["k"])  # a kernel may be flat in time, or in space
    x, size = i.act((p["n"], p["c"], p["t"], p["h"], p["w"]), p["dtype"]), (p["out"], p["c"], frames, p["k"], p["k"])
    steps, pads = (p.get("st", p["stride"]), p["stride"], p["stride"]), (p.get("pt", p["pad"]), p["pad"], p["pad"])
    return lambda: F.conv3d(x, i.weight(size, p["dtype"]), None, steps, pads)
