"""Evidence rows of single ops -> engine ops. Names are those of evidence/FORMAT.md's op rows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ironlaw.backends.evidence_moves import MOVES, Params
from ironlaw.backends.evidence_moves import single_op as _op
from ironlaw.backends.evidence_moves import tensor as _x
from ironlaw.engine.device.stored_weights import scales
from ironlaw.engine.device.types import Op, Tensor
from ironlaw.engine.device.work import KINDS, conv2d_shape, op
from ironlaw.engine.device.work.recurrent_work import CELLS, widths


def _linear(p: Params) -> Op:
    m, n, k, d = p["m"], p["n"], p["k"], p["dtype"]
    inputs = [_x((m, k), d), _x((n, k), d, "weight")] + ([_x((n,), d, "weight")] if p.get("bias") else [])
    return _op("linear", inputs, [_x((m, n), d)])


def _bmm(p: Params) -> Op:
    b, m, n, k, d = p["b"], p["m"], p["n"], p["k"], p["dtype"]
    return _op("bmm", [_x((b, m, k), d), _x((b, k, n), d)], [_x((b, m, n), d)])


def _conv(p: Params) -> Op:
    d, x = p["dtype"], (p["n"], p["c"], p["h"], p["w"])
    y = conv2d_shape(x, p["out"], (p["kh"], p["kw"]), p["stride"], (p["ph"], p["pw"]), p.get("dilation", 1))
    weight = _x((p["out"], p["c"] // p["groups"], p["kh"], p["kw"]), d, "weight")
    bias = [_x((p["out"],), d)] if p.get("bias") else []
    more: dict[str, Any] = {"layout": "nhwc"} if p.get("layout") == "nhwc" else {}
    return _op("conv2d", [_x(x, d), weight, *bias], [_x(y, d)], stride=p["stride"], dilation=p.get("dilation", 1), **more)


def _flat(kind: str, inputs: int = 1) -> Callable[[Params], Op]:
    """Makes an op with that many inputs of one size, or one number if there is none to read."""

    def make(p: Params) -> Op:
        shape = (p["numel"],) if "numel" in p else (p["rows"], p["cols"])
        extra = [_x(shape, "bool")] if kind == "dropout" else []
        return _op(kind, [_x(shape, p["dtype"])] * inputs or [_x((1,), p["dtype"])], [_x(shape, p.get("to", p["dtype"])), *extra])

    return make


def _rows(kind: str) -> Callable[[Params], Op]:
    def make(p: Params) -> Op:
        if "numel" in p:
            return _op(kind, [_x((p["numel"],), p["dtype"])], [_x((1,), p["dtype"])], over="all")
        shape = (p["rows"], p["cols"])
        out = (p["rows"], 1) if KINDS[kind].unit == "result" else shape
        return _op(kind, [_x(shape, p["dtype"])], [_x(out, p["dtype"])])

    return make


def _mul(shape: Callable[[Params], tuple[tuple[Any, ...], tuple[Any, ...]]], kind: str = "mul", **attrs: Any) -> Callable[[Params], Op]:
    def make(p: Params) -> Op:
        a, b = shape(p)
        return _op(kind, [_x(a, p["dtype"]), _x(b, p["dtype"])], [_x(a, p["dtype"])], **attrs)

    return make


def _planes(kind: str) -> Callable[[Params], Op]:
    def make(p: Params) -> Op:
        x = _x((p["n"], p["c"], p["h"], p["w"]), p["dtype"])
        if kind == "mean":
            return _op("mean", [x], [_x((p["n"], p["c"], 1, 1), p["dtype"])])
        if kind.endswith("pool2d"):
            y = conv2d_shape(x.shape, p["c"], (p["k"], p["k"]), p["stride"], (p["pad"], p["pad"]))
            return _op(kind, [x], [_x(y, p["dtype"])], kernel=(p["k"], p["k"]))
        attrs: dict[str, Any] = {"groups": float(p["groups"])} if "groups" in p else {}
        if "layout" in p:
            attrs["layout"] = p["layout"] if p["layout"] == "nhwc" else "to_nhwc"  # a convolution is to read it
        return _op(kind, [x, *[_x((p["c"],), p["dtype"])] * 4], [x], **attrs)

    return make


def _masked(p: Params) -> Op:
    q = _x((p["b"], p["h"], p["sq"], p["d"]), p["dtype"])
    return _op("attention", [q, q, q], [q], impl="flash", causal=True)


def _sdpa(p: Params) -> Op:
    q = _x((p["b"], p["h"], p["sq"], p["d"]), p["dtype"])
    k = _x((p["b"], p["hkv"], p["sk"], p["d"]), p["dtype"])
    mask = [_x((p["b"], p.get("heads", 1), p["sq"], p["sk"]), p["dtype"])] if p.get("mask") else []
    return _op("attention", [q, k, k, *mask], [q], impl="flash", causal=bool(p["causal"]))


def _math(p: Params) -> Op:
    plain = _sdpa({**p, "mask": True, "heads": p["h"]})
    return _op("attention", plain.inputs, plain.outputs, path="math", **plain.attrs)


def _sdpa_backward(p: Params) -> Op:
    x = _x((p["b"], p["h"], p["s"], p["d"]), p["dtype"])
    return _op("attention_backward", [x] * 5, [x] * 3, causal=bool(p["causal"]))


# ---- gradients, and what is measured beside them


def _depthwise(p: Params) -> Op:
    x, w = (p["n"], p["c"], p["hw"], p["hw"]), (p["c"], 1, p["k"], p["k"])
    return _op("conv2d", [_x(x, p["dtype"]), _x(w, p["dtype"], "weight")], [_x(x, p["dtype"])], layout="nhwc")


def _layer_norm_backward(p: Params) -> Op:
    x = _x((p["rows"], p["width"]), p["dtype"])
    return _op("norm_backward", [x, x, _x((p["width"],), p["dtype"])], [x])


def _conv_backward(p: Params) -> Op:
    size = p["h"] // p["stride"]
    g, x = _x((p["n"], p["out"], size, size), p["dtype"]), _x((p["n"], p["c"], p["h"], p["h"]), p["dtype"])
    w = (p["out"], p["c"], p["k"], p["k"])
    return _op("conv_backward", [g, x, _x(w, p["dtype"], "weight")], [x, _x(w, p["dtype"])], groups=1, wanted=2)


def _conv2d_backward(p: Params) -> Op:
    """The gradients of `_conv`'s input and weight."""
    forward = _conv(p)
    x, w = forward.inputs[:2]
    attrs: dict[str, Any] = {"layout": "nhwc"} if p["layout"] == "nhwc" else {}
    return _op("conv_backward", [forward.outputs[0], x, w], [x, _x(w.shape, p["dtype"])], groups=p["groups"], wanted=2, **attrs)


def _batch_norm_backward(p: Params) -> Op:
    x = _x((p["n"], p["c"], p["h"], p["w"]), p["dtype"])
    return _op("batch_norm_backward", [x, x], [x], hot=True)  # the sweep's tensors stay in the cache


def _max_pool_backward(p: Params) -> Op:
    x = (p["n"], p["c"], p["h"], p["w"])
    y = conv2d_shape(x, p["c"], (p["k"], p["k"]), p["stride"], (p["pad"], p["pad"]))
    return _op("max_pool2d_backward", [_x(y, p["dtype"]), _x(y, "int64")], [_x(x, p["dtype"])])


def _embedding_backward(p: Params) -> Op:
    g, ids = _x((p["tokens"], p["dim"]), p["dtype"]), _x((p["tokens"],), "int64")
    return _op("embedding_backward", [g, ids], [_x((p["vocab"], p["dim"]), p["dtype"])])


def _columns(p: Params) -> Op:
    return _op("sum", [_x((p["rows"], p["cols"]), p["dtype"])], [_x((1, p["cols"]), p["dtype"])], over="row", axis=0)


def _topk(p: Params) -> Op:
    x, kept = _x((p["rows"], p["cols"]), p["dtype"]), (p["rows"], p["k"])
    return _op("topk", [x], [_x(kept, p["dtype"]), _x(kept, "int64")])


def _sort(p: Params) -> Op:
    x = _x((p["numel"],), p["dtype"])
    return _op("topk", [x], [x, _x(x.shape, "int64")])


def _scatter(counts: int = 0) -> Callable[[Params], Op]:
    """Into as many places, or into a few counts."""

    def make(p: Params) -> Op:
        x, order = _x((p["numel"],), "int32" if counts else p["dtype"]), _x((p["numel"],), "int64")
        return _op("scatter", [x] if counts else [x, order], [_x((counts,) if counts else x.shape, x.dtype)])

    return make


def _grouped(p: Params) -> Op:
    x, w = _x((p["m"], p["k"]), p["dtype"]), _x((p["experts"], p["n"], p["k"]), p["dtype"], "weight")
    return _op("grouped_matmul", [x, w, _x((p["experts"],), "int32")], [_x((p["m"], p["n"]), p["dtype"])])


def _moved(kind: str, inputs: int, **attrs: Any) -> Callable[[Params], Op]:
    def make(p: Params) -> Op:
        x = _x((p["numel"],), p["dtype"])
        return _op(kind, [x] * inputs, [x], **attrs)

    return make


def _embedding(p: Params) -> Op:
    table, ids = _x((p["vocab"], p["dim"]), p["dtype"], "weight"), _x((p["tokens"],), "int64")
    return _op("embedding", [table, ids], [_x((p["tokens"], p["dim"]), p["dtype"])])


def _cat(p: Params) -> Op:
    if "ctx" in p:
        a, b = (p["b"], p["h"], p["ctx"], p["d"]), (p["b"], p["h"], 1, p["d"])
        y = (p["b"], p["h"], p["ctx"] + 1, p["d"])
    else:
        a = b = (p["b"], p["h"], p["s"], p["d"] // 2)
        y = (p["b"], p["h"], p["s"], p["d"])
    return _op("cat", [_x(a, p["dtype"]), _x(b, p["dtype"])], [_x(y, p["dtype"])], over="seq" if "ctx" in p else "last")


def _turned(p: Params) -> Op:
    x, y = (p["b"], p["s"], p["h"], p["d"]), (p["b"], p["h"], p["s"], p["d"])
    return _op("transpose", [_x(x, p["dtype"])], [_x(y, p["dtype"])], strided=True)


GROUPED = next(name for name, kind in KINDS.items() if kind.grouped)
OPS: dict[str, Callable[[Params], Op]] = {
    **{name: _planes(name) for name, kind in KINDS.items() if kind.unit == "plane"},
    **{name: _rows(name) for name, kind in KINDS.items() if kind.unit in ("row", "result")},
    "linear": _linear, "matmul": _linear, "bmm": _bmm, "conv2d": _conv, "sdpa": _sdpa, "sdpa_masked": _masked, "embedding": _embedding,
    "cat_last": _cat, "cat_seq": _cat, "generated_norm": _planes(GROUPED),
    "mean_hw": _planes("mean"), "max_pool2d": _planes("max_pool2d"), "avg_pool2d": _planes("avg_pool2d"),
    "add": _flat("add", 2), "add_": _flat("add", 2), "mul": _flat("mul", 2), "relu": _flat("relu"), "gelu": _flat("gelu"),
    "gelu_tanh": _flat("gelu_tanh"), "silu": _flat("silu"), "tanh": _flat("tanh"), "sigmoid": _flat("sigmoid"),
    "pow2": _flat("power"), "neg": _flat("neg"), "mul_scalar": _flat("scale"), "add_scalar": _flat("shift"),
    "hardtanh": _flat("hardtanh"), "copy": _flat("copy"), "cast": _flat("cast"), "rsqrt": _flat("rsqrt"),
    "dropout_train": _flat("dropout"), "fill_": _flat("fill", 0), "sum_all": _rows("sum"), "sdpa_math": _math,
    "sdpa_backward": _sdpa_backward, "depthwise_nhwc": _depthwise,
    "layer_norm_backward": _layer_norm_backward, "conv_backward": _conv_backward, "conv2d_backward": _conv2d_backward,
    "batch_norm_backward": _batch_norm_backward,
    "max_pool2d_backward": _max_pool_backward, "embedding_backward": _embedding_backward,
    "sum_columns": _columns, "topk": _topk, "gelu_backward": _moved("gelu_backward", 2), "roll": _moved("copy", 1, rolled=2),
    "clone_heads": _moved("copy", 1, strided=True), "add_permuted": _moved("add", 2, strided="columns"),
    "sort": _sort, "index_put": _scatter(), "histogram": _scatter(8), "grouped_mm": _grouped,
    "mul_row": _mul(lambda p: ((p["rows"], p["cols"]), (p["cols"],))),
    "mul_col": _mul(lambda p: ((p["rows"], p["cols"]), (p["rows"], 1))),
    "mul_rope": _mul(lambda p: ((p["b"], p["h"], p["s"], p["d"]), (p["b"], 1, p["s"], p["d"])), strided=True),
    "add_pos": _mul(lambda p: ((p["b"], p["s"], p["d"]), (1, p["s"], p["d"])), "add"),
    "transpose_heads": _turned, "clamp": _flat("hardtanh"), "adaptive_avg_pool2d": _planes("mean"), "cumsum": _rows("cumsum"), **MOVES,
    "sub": _flat("sub", 2), "div": _flat("div", 2), "maximum": _flat("greatest", 2),
    **{name: _flat(name) for name in ("exp", "log", "sin", "cos", "erf", "square", "relu6", "sqrt", "abs")},
}  # fmt: skip


# ---- rows whose kernels a backend takes apart itself

RECURRENT = {"lstm": "lstm", "gru": "gru", "rnn_tanh": "rnn"}  # rows -> cells


def recurrent_layer(name: str, p: Params) -> Op:
    """The op that a row of lstm, gru or rnn_tanh was measured on."""
    cell, both = RECURRENT[name], 2 if p["both"] else 1
    x = Tensor("x", (p["steps"], p["batch"], p["features"]), p["dtype"], "input")
    attrs = {"cell": cell, "hidden": p["hidden"], "layers": p["layers"], "directions": both}
    gates = CELLS[cell][0] * p["hidden"]
    weights = []
    for layer, wide in enumerate(widths(x, attrs)):
        for way in range(both):
            shapes = ((gates, int(wide)), (gates, p["hidden"]), (gates,), (gates,))
            weights += [Tensor(f"w{layer}.{way}.{i}", shape, p["dtype"], "weight") for i, shape in enumerate(shapes)]
    y = Tensor("y", (p["steps"], p["batch"], p["hidden"] * both), p["dtype"])
    return op("recurrent", name, [x, *weights], [y], **attrs)


def stored_product(name: str, p: Params) -> Op:
    """The product that a row of weight_int8_mm or weight_int4_mm was measured on."""
    fmt = name.removeprefix("weight_").removesuffix("_mm")
    w = Tensor("w", (p["n"], p["k"]), fmt, "weight")
    inputs = [Tensor("x", (p["m"], p["k"]), p["dtype"], "input"), w, scales(w, fmt, p["dtype"])]
    return op("quantised_linear", name, inputs, [Tensor("y", (p["m"], p["n"]), p["dtype"])], kernel="library")
