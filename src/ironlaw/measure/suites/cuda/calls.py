"""What a row of evidence says was measured, as a call: `CALLS[op](inputs, params)` prepares tensors and gives the call to time.

Those of the main part are here; `calls_cuda_more` has gradients, compiled kernels and recurrent layers. PyTorch is imported with
this file, so it is imported only when calls are to be made.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import cycle
from typing import Any

import torch
import torch.nn.functional as F

from ironlaw.formats import FORMATS
from ironlaw.measure.devices.device import Call
from ironlaw.measure.suites.cuda.inputs import SweepInputs

Params = Mapping[str, Any]
Make = Callable[[SweepInputs, Params], Call]
PICKS = 11  # different lookups, one for each turn
CALLS: dict[str, Make] = {}


def makes(*ops: str) -> Callable[[Make], Make]:
    """The function below makes calls of these ops."""

    def keep(make: Make) -> Make:
        CALLS.update(dict.fromkeys(ops, make))
        return make

    return keep


# ---- products


@makes("conv2d")
def conv(i: SweepInputs, p: Params) -> Call:
    torch.backends.cudnn.allow_tf32 = p["dtype"] == "tf32"
    nhwc, dtype = p["layout"] == "nhwc", p["dtype"]
    x = i.act((p["n"], p["c"], p["h"], p["w"]), dtype, nhwc)
    b = i.act((p["out"],), dtype) if p["bias"] else None
    size, pad = (p["out"], p["c"] // p["groups"], p["kh"], p["kw"]), (p["ph"], p["pw"])
    stride, dilation, groups = p["stride"], p["dilation"], p["groups"]
    return lambda: F.conv2d(x, i.weight(size, dtype, nhwc), b, stride, pad, dilation, groups)


@makes("linear")
def linear(i: SweepInputs, p: Params) -> Call:
    torch.backends.cuda.matmul.allow_tf32 = p["dtype"] == "tf32"
    n, k, dtype = p["n"], p["k"], p["dtype"]
    x, b = i.act((p["m"], k), dtype), i.act((n,), dtype) if p["bias"] else None
    return lambda: F.linear(x, i.weight((n, k), dtype), b)


@makes("bmm")
def bmm(i: SweepInputs, p: Params) -> Call:
    torch.backends.cuda.matmul.allow_tf32 = False
    x, y = i.act((p["b"], p["m"], p["k"]), p["dtype"]), i.act((p["b"], p["k"], p["n"]), p["dtype"])
    return lambda: torch.bmm(x, y)


def heads(i: SweepInputs, p: Params, *lengths: int) -> list[Any]:
    """Queries, keys and values as transposed views of [batch, sequence, heads, width]."""
    counts = (p["h"], *[p.get("hkv", p["h"])] * (len(lengths) - 1))
    return [i.act((p["b"], s, h, p["d"]), p["dtype"]).transpose(1, 2) for s, h in zip(lengths, counts, strict=True)]


@makes("sdpa")
def sdpa(i: SweepInputs, p: Params) -> Call:
    q, k, v = heads(i, p, p["sq"], p["sk"], p["sk"])
    causal, shared, mask = bool(p["causal"]), p["h"] != p["hkv"], None
    if p.get("mask"):
        each = p.get("heads", 1)
        mask = i.act((p["b"] if p.get("whole", 1) else 1, each, p["sq"], p["sk"]), p["dtype"]).expand(p["b"], each, p["sq"], p["sk"])
    return lambda: F.scaled_dot_product_attention(q, k, v, attn_mask=mask, is_causal=causal, enable_gqa=shared)


# ---- element by element

UNARY: dict[str, Callable[[Any], Any]] = {
    "relu": F.relu, "gelu": F.gelu, "gelu_tanh": lambda x: F.gelu(x, approximate="tanh"), "silu": F.silu, "tanh": torch.tanh,
    "sigmoid": torch.sigmoid, "pow2": lambda x: x.pow(2), "neg": torch.neg, "mul_scalar": lambda x: x * 1.5,
    "add_scalar": lambda x: x + 1.5, "hardtanh": lambda x: F.hardtanh(x, 0.0, 6.0), "clamp": lambda x: x.clamp(-0.5, 0.5),
    "copy": torch.clone, "dropout_train": lambda x: F.dropout(x, 0.1, True), "rsqrt": torch.rsqrt, "sum_all": torch.sum,
}  # fmt: skip
BINARY: dict[str, Callable[[Any, Any], Any]] = {"add": torch.add, "mul": torch.mul}


def one(call: Callable[[Any], Any]) -> Make:
    def make(i: SweepInputs, p: Params) -> Call:
        x = i.act((p["numel"],), p["dtype"])
        return lambda: call(x)

    return make


def two(call: Callable[[Any, Any], Any]) -> Make:
    def make(i: SweepInputs, p: Params) -> Call:
        x, y = (i.act((p["numel"],), p["dtype"]) for _ in range(2))
        return lambda: call(x, y)

    return make


CALLS.update({op: one(call) for op, call in UNARY.items()})
CALLS.update({op: two(call) for op, call in BINARY.items()})


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


# ---- rows and planes: a function of tensors of those shapes

Shapes = list[tuple[int, ...]]


def table(p: Params) -> Shapes:
    return [(p["rows"], p["cols"])]


def normed(p: Params) -> Shapes:
    return [(p["rows"], p["cols"]), (p["cols"],)]


def image(p: Params) -> Shapes:
    return [shape(p)]


def shape(p: Params) -> tuple[int, ...]:
    return p["n"], p["c"], p["h"], p["w"]


def scores(p: Params) -> Shapes:
    return [(p["b"], p["h"], p["s"], p["s"]), (1, 1, p["s"], p["s"])]


GIVEN: dict[str, tuple[Callable[[Params], Shapes], Callable[..., Any]]] = {  # op -> shapes of its inputs, function of params and inputs
    "layer_norm": (normed, lambda p, x, w: F.layer_norm(x, w.shape, w, w)),
    "rms_norm": (normed, lambda p, x, w: F.rms_norm(x, w.shape, w)),
    "softmax": (table, lambda p, x: F.softmax(x, -1)),
    "log_softmax": (table, lambda p, x: F.log_softmax(x, -1)),
    "mean": (table, lambda p, x: x.mean(-1, keepdim=True)),
    "sum": (table, lambda p, x: x.sum(-1)),
    "sum_columns": (table, lambda p, x: x.sum(0, keepdim=True)),
    "var": (table, lambda p, x: x.var(-1)),
    "argmax": (table, lambda p, x: x.argmax(-1)),
    "topk": (table, lambda p, x: x.topk(p["k"], -1)),
    "cumsum": (table, lambda p, x: x.cumsum(-1)),
    "transpose_2d": (table, lambda p, x: x.t().contiguous()),
    "mul_row": (normed, lambda p, x, w: x * w),
    "mul_col": (lambda p: [(p["rows"], p["cols"]), (p["rows"], 1)], lambda p, x, w: x * w),
    "add_pos": (lambda p: [(p["b"], p["s"], p["d"]), (1, p["s"], p["d"])], lambda p, x, y: x + y),
    "group_norm": (lambda p: [*image(p), (p["c"],), (p["c"],)], lambda p, x, w, b: F.group_norm(x, p["groups"], w, b)),
    "adaptive_avg_pool2d": (image, lambda p, x: F.adaptive_avg_pool2d(x, 1)),
    "mean_hw": (image, lambda p, x: x.mean((2, 3))),
    "max_pool2d": (image, lambda p, x: F.max_pool2d(x, p["k"], p["stride"], p["pad"])),
    "avg_pool2d": (image, lambda p, x: F.avg_pool2d(x, p["k"], p["stride"], p["pad"], count_include_pad=not p["pad"])),
    "upsample_nearest": (image, lambda p, x: F.interpolate(x, scale_factor=p["scale"])),
    "pad": (image, lambda p, x: F.pad(x, (p["left"], p["right"], p["top"], p["bottom"]))),
    "cat_last": (lambda p: [(p["b"], p["h"], p["s"], p["d"] // 2)] * 2, lambda p, x, y: torch.cat((x, y), -1)),
    "cat_seq": (lambda p: [(p["b"], p["h"], s, p["d"]) for s in (p["ctx"], 1)], lambda p, x, y: torch.cat((x, y), -2)),
    "cat_token": (lambda p: [(p["b"], s, p["d"]) for s in (1, p["s"])], lambda p, x, y: torch.cat((x, y), 1)),
    "transpose_heads": (lambda p: [(p["b"], p["s"], p["h"], p["d"])], lambda p, x: x.transpose(1, 2).contiguous()),
    "compare_masked_fill": (scores, lambda p, x, m: x.masked_fill(m > 0, -1e4)),
    "bool_where": (scores, lambda p, x, m: torch.where(x.bool(), x, m)),
}


def given(shapes: Callable[[Params], Shapes], call: Callable[..., Any]) -> Make:
    def make(i: SweepInputs, p: Params) -> Call:
        inputs = [i.act(size, p["dtype"]) for size in shapes(p)]
        return lambda: call(p, *inputs)

    return make


CALLS.update({op: given(shapes, call) for op, (shapes, call) in GIVEN.items()})


@makes("batch_norm")
def batch_norm(i: SweepInputs, p: Params) -> Call:
    x = i.act(shape(p), p["dtype"])
    w, b, mean = (i.act((p["c"],), p["dtype"]) for _ in range(3))
    var = i.act((p["c"],), p["dtype"]).abs() + 0.5
    return lambda: F.batch_norm(x, mean, var, w, b, False)


@makes("mul_rope")
def rope(i: SweepInputs, p: Params) -> Call:
    x = i.act((p["b"], p["s"], p["h"], p["d"]), p["dtype"]).transpose(1, 2)
    cos = i.act((p["b"], 1, p["s"], p["d"]), p["dtype"])
    return lambda: x * cos


# ---- what picks and masks


@makes("cross_entropy")
def cross_entropy(i: SweepInputs, p: Params) -> Call:
    x, target = i.act((p["rows"], p["cols"]), p["dtype"]), i.ids(p["rows"], p["cols"])
    return lambda: F.cross_entropy(x, target)


@makes("embedding")
def embedding(i: SweepInputs, p: Params) -> Call:
    known = i.act((p["vocab"], p["dim"]), p["dtype"])
    picks = cycle([i.ids(p["tokens"], p["vocab"]) for _ in range(PICKS)])
    return lambda: F.embedding(next(picks), known)


@makes("masked_fill")
def masked_fill(i: SweepInputs, p: Params) -> Call:
    whole, each = scores(p)
    x, mask = i.act(whole, p["dtype"]), i.act(each, p["dtype"]) > 0
    return lambda: x.masked_fill(mask, -1e4)


@makes("where")
def where(i: SweepInputs, p: Params) -> Call:
    whole, each = scores(p)
    x, y, mask = i.act(whole, p["dtype"]), i.act((1,), p["dtype"]), i.act(each, p["dtype"]) > 0
    return lambda: torch.where(mask, x, y)


PICKED: dict[str, Callable[[Any, Any], Any]] = {
    "index_select": lambda x, picks: torch.index_select(x, 0, picks),
    "index": lambda x, picks: x[picks],
    "gather": lambda x, picks: torch.gather(x, 0, picks),
}


def picked(op: str) -> Make:
    def make(i: SweepInputs, p: Params) -> Call:
        x, picks = i.act((p["rows"], p["cols"]), p["dtype"]), i.ids(p["picks"], p["rows"])
        wide = picks[:, None].expand(p["picks"], p["cols"]).contiguous() if op == "gather" else picks
        return lambda: PICKED[op](x, wide)

    return make


CALLS.update({op: picked(op) for op in PICKED})
