"""Calls of gradients, and of an optimiser's step."""

from __future__ import annotations

import torch
import torch.nn.functional as F

from ironlaw.measure.devices.device import Call
from ironlaw.measure.suites.cuda.calls.making import Make, Params, Table, from_table, heads, matrix, registrar, shape
from ironlaw.measure.suites.cuda.inputs import SweepInputs

SUMS: Table = {
    "sum_columns": (matrix, lambda p, x: x.sum(0, keepdim=True)),
}
CALLS: dict[str, Make] = from_table(SUMS)
makes = registrar(CALLS)


@makes("layer_norm_backward")
def layer_norm_backward(i: SweepInputs, p: Params) -> Call:
    rows, width = p["rows"], p["width"]
    x, g, w = i.act((rows, width), p["dtype"]), i.act((rows, width), p["dtype"]), i.act((width,), p["dtype"])
    mean, rstd = (i.act((rows, 1), p["dtype"]).float() for _ in range(2))
    return lambda: torch.ops.aten.native_layer_norm_backward(g, x, [width], mean, rstd, w, w, [True] * 3)


@makes("conv_backward")
def conv_backward(i: SweepInputs, p: Params) -> Call:
    n, c, h, out, k, stride = (p[name] for name in ("n", "c", "h", "out", "k", "stride"))
    x, w, g = i.act((n, c, h, h), p["dtype"]), i.weight((out, c, k, k), p["dtype"]), i.act((n, out, h // stride, h // stride), p["dtype"])
    sizes = ([stride] * 2, [k // 2] * 2, [1, 1], False, [0, 0], 1, [True, True, False])
    return lambda: torch.ops.aten.convolution_backward(g, x, w, None, *sizes)


@makes("conv2d_backward")
def conv2d_backward(i: SweepInputs, p: Params) -> Call:
    nhwc, dtype, stride, dilation = p["layout"] == "nhwc", p["dtype"], [p["stride"]] * 2, [p["dilation"]] * 2
    x, pads, groups = i.act(shape(p), dtype, nhwc), [p["ph"], p["pw"]], p["groups"]
    w = i.weight((p["out"], p["c"] // groups, p["kh"], p["kw"]), dtype, nhwc)
    g = torch.randn_like(F.conv2d(x, w, None, stride, pads, dilation, groups))
    return lambda: torch.ops.aten.convolution_backward(g, x, w, None, stride, pads, dilation, False, [0, 0], groups, [True, True, False])


@makes("sdpa_backward")
def sdpa_backward(i: SweepInputs, p: Params) -> Call:
    q, k, v = (x.requires_grad_() for x in heads(i, p, p["s"], p["s"], p["s"]))
    with torch.enable_grad():
        y = F.scaled_dot_product_attention(q, k, v, is_causal=bool(p["causal"]))
    g = torch.randn_like(y)
    return lambda: torch.autograd.grad(y, (q, k, v), g, retain_graph=True)


@makes("adamw")
def adamw(i: SweepInputs, p: Params) -> Call:
    weights = [torch.nn.Parameter(torch.zeros(p["size"], device=i.device)) for _ in range(p["tensors"])]
    for w in weights:
        w.grad = torch.ones_like(w)
    return torch.optim.AdamW(weights).step


@makes("batch_norm_train")
def batch_norm_train(i: SweepInputs, p: Params) -> Call:
    x, (w, mean, var) = i.act(shape(p), p["dtype"]), (i.act((p["c"],), p["dtype"]) for _ in range(3))
    var = var.abs()
    return lambda: F.batch_norm(x, mean, var, w, w, training=True)


@makes("batch_norm_backward")
def batch_norm_backward(i: SweepInputs, p: Params) -> Call:
    (x, g), (w, mean, rstd) = (i.act(shape(p), p["dtype"]) for _ in range(2)), (i.act((p["c"],), p["dtype"]) for _ in range(3))
    mean, rstd = mean.float(), rstd.float().abs()
    return lambda: torch.ops.aten.native_batch_norm_backward(g, x, w, w, w, mean, rstd, True, 1e-5, [True] * 3)


@makes("max_pool2d_backward")
def max_pool2d_backward(i: SweepInputs, p: Params) -> Call:
    x, k, stride, pad = i.act(shape(p), p["dtype"]), [p["k"]] * 2, [p["stride"]] * 2, [p["pad"]] * 2
    y, where = F.max_pool2d(x, k, stride, pad, return_indices=True)
    return lambda: torch.ops.aten.max_pool2d_with_indices_backward(y, x, k, stride, pad, [1, 1], False, where)


@makes("gelu_backward")
def gelu_backward(i: SweepInputs, p: Params) -> Call:
    x, g = (i.act((p["numel"],), p["dtype"]) for _ in range(2))
    return lambda: torch.ops.aten.gelu_backward(g, x)


@makes("embedding_backward")
def embedding_backward(i: SweepInputs, p: Params) -> Call:
    g, ids = i.act((p["tokens"], p["dim"]), p["dtype"]), i.ids(p["tokens"], p["vocab"])
    return lambda: torch.ops.aten.embedding_dense_backward(g, ids, p["vocab"], -1, False)
