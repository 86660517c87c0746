"""Calls of the sweep's further parts: gradients, attention taken apart, recurrent layers, stored weights, mixtures of experts."""

from __future__ import annotations

from collections.abc import Callable
from itertools import cycle
from typing import Any

import torch
import torch.nn.functional as F

from ironlaw.formats import FORMATS
from ironlaw.measure.devices.device import Call
from ironlaw.measure.suites.cuda.calls import Params, heads, makes, shape
from ironlaw.measure.suites.cuda.inputs import SweepInputs

# ---- movement


@makes("depthwise_nhwc")
def depthwise(i: SweepInputs, p: Params) -> Call:
    x, w = i.act((p["n"], p["c"], p["hw"], p["hw"]), p["dtype"], nhwc=True), i.weight((p["c"], 1, p["k"], p["k"]), p["dtype"])
    return lambda: F.conv2d(x, w, padding=p["k"] // 2, groups=p["c"])


@makes("roll")
def roll(i: SweepInputs, p: Params) -> Call:
    x = i.act(p["shape"], p["dtype"])
    return lambda: torch.roll(x, (-3, -3), (1, 2))


@makes("clone_heads")
def clone_heads(i: SweepInputs, p: Params) -> Call:
    x = i.act((p["b"], p["s"], p["h"], p["d"]), p["dtype"]).transpose(1, 2)
    return x.contiguous


@makes("add_permuted")
def add_permuted(i: SweepInputs, p: Params) -> Call:
    width = p["h"] * p["d"]
    x, y = i.act((p["b"], width, p["s"]), p["dtype"]).transpose(1, 2), i.act((p["b"], p["s"], width), p["dtype"])
    return lambda: x + y


# ---- gradients


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


# ---- attention with masks


@makes("sdpa_math")
def sdpa_math(i: SweepInputs, p: Params) -> Call:
    """The mask's last axis is not contiguous: no fused kernel takes it."""
    q, k, v = heads(i, p, p["sq"], p["sk"], p["sk"])
    mask = i.act((p["b"], p["sq"], p["sk"], p["h"]), p["dtype"]).permute(0, 3, 1, 2)
    return lambda: F.scaled_dot_product_attention(q, k, v, attn_mask=mask)


@makes("sdpa_masked")
def sdpa_masked(i: SweepInputs, p: Params) -> Call:
    """The causal mask as a tensor, as transformers passes it when compiled."""
    q, k, v = heads(i, p, p["sq"], p["sk"], p["sk"])
    mask = torch.ones(p["sq"], p["sk"], dtype=torch.bool, device=i.device).tril().expand(p["b"], 1, p["sq"], p["sk"])
    return lambda: F.scaled_dot_product_attention(q, k, v, attn_mask=mask)


# ---- recurrent layers, stored weights

CELLS = {"lstm": torch.nn.LSTM, "gru": torch.nn.GRU, "rnn_tanh": torch.nn.RNN}
COLD = 1 << 28  # bytes of stored weights walked end to end, several times the largest cache


def layer(op: str) -> Callable[[SweepInputs, Params], Call]:
    def make(i: SweepInputs, p: Params) -> Call:
        torch.backends.cudnn.allow_tf32 = True  # as PyTorch is set when it starts
        cell = CELLS[op](p["features"], p["hidden"], p["layers"], bidirectional=bool(p["both"]))
        cell = cell.to(i.device, FORMATS[p["dtype"]].in_torch(torch)).eval()
        x = i.act((p["steps"], p["batch"], p["features"]), p["dtype"])
        return lambda: cell(x)

    return make


for name in CELLS:
    makes(name)(layer(name))


def stored(i: SweepInputs, bits: int, k: int, n: int) -> Any:
    """Weights and their scales, one after the other; enough that none is in the cache when its turn comes again."""
    found = []
    for _ in range(max(2, COLD * 8 // (bits * k * n))):
        if bits == 8:
            found.append((torch.randint(-128, 127, (n, k), dtype=torch.int8, device=i.device), i.act((n,), "bf16")))
        else:
            packed = torch.randint(0, 255, (n, k // 2), dtype=torch.uint8, device=i.device)
            found.append((torch.ops.aten._convert_weight_to_int4pack(packed, 8), i.act((k // 128, n, 2), "bf16")))
    return cycle(found)


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


# ---- a mixture of experts

CHOICES = 8  # experts that a token may go to


@makes("sort")
def sort(i: SweepInputs, p: Params) -> Call:
    x = i.ids(p["numel"], CHOICES)
    return lambda: torch.sort(x)


@makes("histogram")
def histogram(i: SweepInputs, p: Params) -> Call:
    x = i.ids(p["numel"], CHOICES)
    x = x.int() if x.is_cuda else x.float()  # a processor counts no integers
    return lambda: torch.histc(x, bins=CHOICES, min=0, max=CHOICES - 1)


@makes("index_put")
def index_put(i: SweepInputs, p: Params) -> Call:
    x = torch.arange(p["numel"], device=i.device)
    target, order = torch.empty_like(x), torch.randperm(p["numel"], device=i.device)

    def call() -> None:
        target[order] = x

    return call


@makes("grouped_mm")
def grouped_mm(i: SweepInputs, p: Params) -> Call:
    """Rows spread evenly over the experts."""
    m, count, k, n = (p[name] for name in ("m", "experts", "k", "n"))
    x = i.act((m, k), p["dtype"])
    ends = (torch.arange(1, count + 1, device=i.device) * m / count).round().int()
    return lambda: torch._grouped_mm(x, i.weight((count, n, k), p["dtype"]).transpose(1, 2), offs=ends)
