"""Evidence rows -> samples for the fit: (kernel, seconds).

A row is turned into the engine's op and lowered like any other, so that a curve is fitted to exactly the quantities it
will be asked with. Where an op is several kernels, the row's kernel list says what each took.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from ironlaw.engine.lowering import Kernel, lower
from ironlaw.engine.types import Op, Tensor
from ironlaw.engine.work import conv2d_shape, op

Params = Mapping[str, Any]
TINY = ("Memset", "splitKreduce")
LAYOUT = ("nchwToNhwc", "nhwcToNchw")


@dataclass(frozen=True, slots=True)
class Sample:
    kernel: Kernel
    seconds: float


def samples(rows: list[dict[str, Any]]) -> Iterator[Sample]:
    """All samples that op rows with a device time give."""
    for row in rows:
        if row["kind"] == "op" and row["op"] == "generated" and "error" not in row:
            yield from _generated(row)
        if row["kind"] != "op" or row["op"] not in OPS or "error" in row:
            continue
        seconds = row.get("busy_s") or _by_the_way(row)
        if not seconds:
            continue
        made = OPS[row["op"]](row["params"])
        if made is not None:
            yield from _split(row, made, seconds)


def _generated(row: dict[str, Any]) -> Iterator[Sample]:
    """A kernel that torch.compile wrote: its traffic is in the row."""
    p = row["params"]
    if row.get("kernels") != 1:
        return
    data, rows = p["read_bytes"] + p["written_bytes"], p.get("rows", 0.0)
    name = "fused" if not rows else "fused_reduction" if p.get("over") == "plane" else "fused_rows"
    yield Sample(Kernel(name, data, rows=rows), row["busy_s"])


def _by_the_way(row: dict[str, Any]) -> float | None:
    """A matmul in a format that no profile covers: replayed in a graph, or called when it far outlasts a launch."""
    if row["op"] != "matmul" or row["params"]["dtype"] not in ("fp8", "int8"):
        return None
    return row.get("graph_s") or (row["wall_s"] if row.get("wall_s", 0.0) > 2e-4 else None)


def _split(row: dict[str, Any], made: Op, seconds: float) -> Iterator[Sample]:
    nhwc = row["params"].get("layout") == "nhwc"
    kernels = lower(made, compiled=nhwc or row["op"] == "sdpa_masked")
    listed = row.get("list", [])
    tiny = sum(k["seconds"] for k in listed if any(t in k["name"] for t in TINY))
    layout = sum(k["seconds"] for k in listed if any(t in k["name"] for t in LAYOUT))
    into = [k for k in listed if LAYOUT[0] in k["name"]]
    out = [k for k in listed if LAYOUT[1] in k["name"]]
    heavy = [k for k in kernels if k.curve not in ("tiny", "layout", "layout_weight", "layout_first", "copy", "broadcast")]
    if row["op"] == "batch_norm":
        rest = sum(sorted((k["seconds"] for k in listed), reverse=True)[1:])
        yield Sample(replace(kernels[0], count=1.0), seconds - rest)
        yield Sample(Kernel("tiny", 0.0), rest / 2)
        return
    if row["op"] == "group_norm":
        sums = [k["seconds"] for k in listed if "elementwise" not in k["name"]]
        if sums:
            yield Sample(kernels[0], max(sums))
        return
    if row["op"] == "sdpa_masked":
        yield Sample(heavy[0], max(k["seconds"] for k in listed))  # the other kernels bring the mask into shape
        return
    if row["op"] != "conv2d":
        if len(heavy) == 1 or len(kernels) == 1:
            yield Sample((heavy or list(kernels))[0], seconds - tiny)
        return
    bias = sum(k["seconds"] for k in listed if "elementwise_kernel" in k["name"])
    if len(heavy) == 1 and (nhwc or bool(layout) == any(k.curve == "layout" for k in kernels)):
        yield Sample(heavy[0], seconds - tiny - layout - bias)
    wanted = [k for k in kernels if k.curve == "layout"]
    if not nhwc and len(wanted) == 2 and out and sum(k["count"] for k in out) == 1:
        yield Sample(wanted[1], out[0]["seconds"])
        weights = [k for k in kernels if k.curve == "layout_weight"]
        if into and into[0]["count"] == 1 and not weights:
            yield Sample(wanted[0], into[0]["seconds"])
        elif into and into[0]["count"] == 2 and weights and weights[0].data > 8 * wanted[0].data:
            yield Sample(weights[0], into[0]["seconds"] - 1.6e-6)  # the input's share is its floor


# ---- rows -> ops. Names are those of evidence/FORMAT.md's op rows.


def _x(shape: tuple[Any, ...], dtype: str, name: str = "x", role: str = "activation") -> Tensor:
    return Tensor(name, shape, dtype, role)


def _linear(p: Params) -> Op:
    m, n, k, d = p["m"], p["n"], p["k"], p["dtype"]
    inputs = [_x((m, k), d), _x((n, k), d, "w", "weight")] + ([_x((n,), d, "b", "weight")] if p.get("bias") else [])
    return op("linear", "linear", inputs, [_x((m, n), d, "y")])


def _bmm(p: Params) -> Op:
    b, m, n, k, d = p["b"], p["m"], p["n"], p["k"], p["dtype"]
    return op("bmm", "bmm", [_x((b, m, k), d), _x((b, k, n), d, "w")], [_x((b, m, n), d, "y")])


def _conv(p: Params) -> Op | None:
    d, x = p["dtype"], (p["n"], p["c"], p["h"], p["w"])
    y = conv2d_shape(x, p["out"], (p["kh"], p["kw"]), p["stride"], (p["ph"], p["pw"]), p.get("dilation", 1))
    weight = _x((p["out"], p["c"] // p["groups"], p["kh"], p["kw"]), d, "w", "weight")
    if 1 < p["groups"] < p["c"]:
        return None  # too few to fit a curve of their own
    bias = [_x((p["out"],), d, "b")] if p.get("bias") else []
    return op("conv2d", "conv", [_x(x, d), weight, *bias], [_x(y, d, "y")], stride=p["stride"])


def _flat(kind: str, inputs: int = 1, out: str = "") -> Callable[[Params], Op]:
    def make(p: Params) -> Op:
        shape = (p["numel"],) if "numel" in p else (p["rows"], p["cols"])
        to = p.get("to") or out or p["dtype"]
        extra = [_x(shape, "bool", "mask")] if kind == "dropout" else []
        return op(kind, kind, [_x(shape, p["dtype"], f"x{i}") for i in range(max(inputs, 1))][:inputs] or [_x((1,), p["dtype"])],
                  [_x(shape, to, "y"), *extra])  # fmt: skip

    return make


def _rows(kind: str) -> Callable[[Params], Op]:
    def make(p: Params) -> Op:
        if "numel" in p:
            return op(kind, kind, [_x((p["numel"],), p["dtype"])], [_x((1,), p["dtype"], "y")], over="all")
        shape = (p["rows"], p["cols"])
        out = (p["rows"], 1) if kind in ("mean", "sum", "var", "argmax") else shape
        return op(kind, kind, [_x(shape, p["dtype"])], [_x(out, p["dtype"], "y")])

    return make


def _mul(shape: Callable[[Params], tuple[tuple[Any, ...], tuple[Any, ...]]], kind: str = "mul", **attrs: Any) -> Callable[[Params], Op]:
    def make(p: Params) -> Op:
        a, b = shape(p)
        return op(kind, kind, [_x(a, p["dtype"]), _x(b, p["dtype"], "w")], [_x(a, p["dtype"], "y")], **attrs)

    return make


def _planes(kind: str) -> Callable[[Params], Op]:
    def make(p: Params) -> Op:
        x = _x((p["n"], p["c"], p["h"], p["w"]), p["dtype"])
        if kind == "mean":
            return op("mean", "mean", [x], [_x((p["n"], p["c"], 1, 1), p["dtype"], "y")])
        if kind.endswith("pool2d"):
            y = conv2d_shape(x.shape, p["c"], (p["k"], p["k"]), p["stride"], (p["pad"], p["pad"]))
            return op(kind, kind, [x], [_x(y, p["dtype"], "y")], kernel=(p["k"], p["k"]))
        return op(kind, kind, [x, *(_x((p["c"],), p["dtype"], f"s{i}") for i in range(4))], [_x(x.shape, p["dtype"], "y")])

    return make


def _masked(p: Params) -> Op:
    q, k, v = (_x((p["b"], p["h"], p["sq"], p["d"]), p["dtype"], name) for name in "qkv")
    return op("attention", "sdpa", [q, k, v], [_x(q.shape, p["dtype"], "y")], impl="flash", causal=True)


def _sdpa(p: Params) -> Op:
    q = _x((p["b"], p["h"], p["sq"], p["d"]), p["dtype"], "q")
    k, v = (_x((p["b"], p["hkv"], p["sk"], p["d"]), p["dtype"], name) for name in "kv")
    return op("attention", "sdpa", [q, k, v], [_x(q.shape, p["dtype"], "y")], impl="flash", causal=bool(p["causal"]))


def _embedding(p: Params) -> Op:
    table, ids = _x((p["vocab"], p["dim"]), p["dtype"], "t", "weight"), _x((p["tokens"],), "int64", "i")
    return op("embedding", "embedding", [table, ids], [_x((p["tokens"], p["dim"]), p["dtype"], "y")])


def _cat(p: Params) -> Op:
    if "ctx" in p:
        a, b = (p["b"], p["h"], p["ctx"], p["d"]), (p["b"], p["h"], 1, p["d"])
        y = (p["b"], p["h"], p["ctx"] + 1, p["d"])
    else:
        a = b = (p["b"], p["h"], p["s"], p["d"] // 2)
        y = (p["b"], p["h"], p["s"], p["d"])
    return op("cat", "cat", [_x(a, p["dtype"]), _x(b, p["dtype"], "b")], [_x(y, p["dtype"], "y")], over="seq" if "ctx" in p else "last")


OPS: dict[str, Callable[[Params], Op | None]] = {
    "linear": _linear, "matmul": _linear, "bmm": _bmm, "conv2d": _conv, "sdpa": _sdpa, "sdpa_masked": _masked, "embedding": _embedding,
    "cat_last": _cat, "cat_seq": _cat, "batch_norm": _planes("batch_norm"), "group_norm": _planes("group_norm"),
    "mean_hw": _planes("mean"), "max_pool2d": _planes("max_pool2d"), "avg_pool2d": _planes("avg_pool2d"),
    "add": _flat("add", 2), "add_": _flat("add", 2), "mul": _flat("mul", 2), "relu": _flat("relu"), "gelu": _flat("gelu"),
    "gelu_tanh": _flat("gelu_tanh"), "silu": _flat("silu"), "tanh": _flat("tanh"), "sigmoid": _flat("sigmoid"),
    "pow2": _flat("power"), "neg": _flat("neg"), "mul_scalar": _flat("scale"), "add_scalar": _flat("shift"),
    "hardtanh": _flat("hardtanh"), "copy": _flat("copy"), "cast": _flat("cast"), "rsqrt": _flat("rsqrt"),
    "dropout_train": _flat("dropout"), "fill_": _flat("fill", 0), "layer_norm": _rows("layer_norm"), "rms_norm": _rows("rms_norm"),
    "softmax": _rows("softmax"), "log_softmax": _rows("log_softmax"), "mean": _rows("mean"), "sum": _rows("sum"),
    "var": _rows("var"), "sum_all": _rows("sum"),
    "argmax": _rows("argmax"),
    "mul_row": _mul(lambda p: ((p["rows"], p["cols"]), (p["cols"],))),
    "mul_col": _mul(lambda p: ((p["rows"], p["cols"]), (p["rows"], 1))),
    "mul_rope": _mul(lambda p: ((p["b"], p["h"], p["s"], p["d"]), (p["b"], 1, p["s"], p["d"])), strided=True),
    "add_pos": _mul(lambda p: ((p["b"], p["s"], p["d"]), (1, p["s"], p["d"])), "add"),
    "transpose_heads": lambda p: op("transpose", "t", [_x((p["b"], p["s"], p["h"], p["d"]), p["dtype"])],
                                    [_x((p["b"], p["h"], p["s"], p["d"]), p["dtype"], "y")], strided=True),
}  # fmt: skip
