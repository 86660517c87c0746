"""Evidence rows of what moves, and of convolutions beside those of images -> engine ops."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from ironlaw.engine.device.types import Op, Tensor
from ironlaw.engine.device.work import UNCOMPILED, op

Params = Mapping[str, Any]


def tensor(shape: tuple[Any, ...], dtype: str, role: str = "activation") -> Tensor:
    return Tensor("", shape, dtype, role)


def single_op(kind: str, inputs: Sequence[Tensor], outputs: Sequence[Tensor], **attrs: Any) -> Op:
    """An op by itself. Its tensors are named by their places: two of one name would be one tensor."""
    x, y = ([replace(t, name=f"{side}{i}") for i, t in enumerate(ts)] for side, ts in (("x", inputs), ("y", outputs)))
    return op(kind, kind, x, y, **attrs)


def _joined(p: Params) -> Op:
    """Columns, or channels of images, or a token before the others."""
    shapes: list[tuple[Any, ...]]
    y: tuple[Any, ...]
    if "rows" in p:
        shapes = [(p["rows"], width) for width in p["parts"]]
        y = (p["rows"], sum(p["parts"]))
    elif "parts" in p:
        shapes = [(p["n"], count, p["h"], p["w"]) for count in p["parts"]]
        y = (p["n"], sum(p["parts"]), p["h"], p["w"])
    else:
        shapes, y = [(p["b"], 1, p["d"]), (p["b"], p["s"], p["d"])], (p["b"], p["s"] + 1, p["d"])
    return single_op("cat", [tensor(shape, p["dtype"]) for shape in shapes], [tensor(y, p["dtype"])])


def _written(how: str) -> Callable[[Params], Op]:
    """New rows of a key cache: index_copy_, a slice, index_put_, scatter_."""

    def make(p: Params) -> Op:
        d = p["dtype"]
        whole, rows = (tensor((p["b"], p["h"], p[name], p["d"]), d) for name in ("length", "rows"))
        if how == "slice":
            return single_op("copy", [rows], [rows], strided=True)
        index = tensor(rows.shape if how == "scatter" else (p["rows"],), "int64")
        return single_op("write", [whole, rows, index], [whole], how=how, inplace=True)

    return make


def _resized(method: str) -> Callable[[Params], Op]:
    def make(p: Params) -> Op:
        x, y = ((p["n"], p["c"], p["h"] * by, p["w"] * by) for by in (1, p["scale"]))
        more: dict[str, Any] = {} if method == "nearest" else {"method": method}
        return single_op("upsample", [tensor(x, p["dtype"])], [tensor(y, p["dtype"])], **more)

    return make


def _grid_sample(p: Params) -> Op:
    x = tensor((p["n"], p["c"], p["h"], p["w"]), p["dtype"])
    return single_op("grid_sample", [x, tensor((p["n"], p["h"], p["w"], 2), p["dtype"])], [x])


def _shuffled(p: Params) -> Op:
    s = p["scale"]
    x, y = (p["n"], p["c"], p["h"], p["w"]), (p["n"], p["c"] // s**2, p["h"] * s, p["w"] * s)
    return single_op("copy", [tensor(x, p["dtype"])], [tensor(y, p["dtype"])], strided=True)


def _padded(p: Params) -> Op:
    x, d = (p["n"], p["c"], p["h"], p["w"]), p["dtype"]
    if "pad" in p:
        y, more = (*x[:2], x[2] + 2 * p["pad"], x[3] + 2 * p["pad"]), {"mode": "reflect"}
    else:
        y, more = (*x[:2], x[2] + p["top"] + p["bottom"], x[3] + p["left"] + p["right"]), {}
    return single_op("pad", [tensor(x, d)], [tensor(y, d)], **more)


def _picked(how: str = "") -> Callable[[Params], Op]:
    def make(p: Params) -> Op:
        x, y = tensor((p["rows"], p["cols"]), p["dtype"]), tensor((p["picks"], p["cols"]), p["dtype"])
        more: dict[str, Any] = {"how": how} if how else {}
        return single_op("gather", [x, tensor(y.shape if how else (p["picks"],), "int64")], [y], **more)

    return make


def _captured(p: Params) -> Op:
    """An op as capture wrote it down: what a model called, whatever it was."""
    inputs, outputs = ([Tensor("", tuple(shape), dtype, role) for dtype, role, *shape in p[side]] for side in ("inputs", "outputs"))
    attrs = {name: _frozen(value) for name, value in p["attrs"].items()}
    if _along_a_line(p["kind"], (*inputs[:2], *outputs[:1]), attrs):
        attrs["dims"] = 1
    return single_op(p["kind"], inputs, outputs, **attrs)


def _along_a_line(kind: str, tensors: Sequence[Tensor], attrs: Mapping[str, Any]) -> bool:
    """Whether an image is one pixel high: PyTorch hands a line to cuDNN as such an image, and a profile shows the call that it makes."""
    if kind not in ("conv2d", "conv_transpose2d") or not attrs.keys().isdisjoint(("dims", "layout")):
        return False
    return all(t.shape[2] == 1 for t in tensors) and bool(tensors[0].shape[3] > 1)


def _frozen(value: Any) -> Any:
    """The value as capture had it before it was stored, when a list was a tuple."""
    return tuple(map(_frozen, value)) if isinstance(value, list) else value


def captured_params(one: Op, dtype: str = "") -> dict[str, Any]:
    """The same the other way round: an op as a `captured` row holds it. `dtype`: what its FP32 tensors are computed in, where that is
    another format."""

    def side(tensors: Sequence[Tensor]) -> list[list[Any]]:
        return [[dtype or t.dtype, t.role if t.role == "weight" else "activation", *t.shape] for t in tensors]

    attrs = {name: value for name, value in one.attrs.items() if name != UNCOMPILED}
    return {"kind": one.kind, "inputs": side(one.inputs), "outputs": side(one.outputs), "attrs": attrs, "dtype": dtype or one.dtype}


# ---- convolutions of other ranks, in the shapes of an image: a line is one row, a volume's frames lie below each other


def _conv_transpose(p: Params) -> Op:
    d, k = p["dtype"], p["k"]
    height, width = ((p[name] - 1) * p["stride"] - 2 * p["pad"] + k for name in ("h", "w"))
    x, w, y = (p["n"], p["c"], p["h"], p["w"]), (p["c"], p["out"], k, k), (p["n"], p["out"], height, width)
    more: dict[str, Any] = {"layout": "nhwc"} if p.get("layout") == "nhwc" else {}
    return single_op("conv_transpose2d", [tensor(x, d), tensor(w, d, "weight")], [tensor(y, d)], stride=p["stride"], **more)


def _conv1d(p: Params) -> Op:
    d, x = p["dtype"], (p["n"], p["c"], 1, p["length"])
    out = (p["length"] + 2 * p["pad"] - p["k"]) // p["stride"] + 1
    w = (p["out"], p["c"] // p["groups"], 1, p["k"])
    return single_op("conv2d", [tensor(x, d), tensor(w, d, "weight")], [tensor((p["n"], p["out"], 1, out), d)], stride=p["stride"], dims=1)


def _conv3d(p: Params) -> Op:
    d, k = p["dtype"], p["k"]
    frames, step, pad = (p.get(name, p[usual]) for name, usual in (("kt", "k"), ("st", "stride"), ("pt", "pad")))
    t = (p["t"] + 2 * pad - frames) // step + 1
    h, w = ((p[name] + 2 * p["pad"] - k) // p["stride"] + 1 for name in ("h", "w"))
    x, weight = (p["n"], p["c"], p["t"] * p["h"], p["w"]), (p["out"], p["c"], frames * k, k)
    return single_op(
        "conv2d", [tensor(x, d), tensor(weight, d, "weight")], [tensor((p["n"], p["out"], t * h, w), d)], stride=p["stride"], dims=3
    )


def _compared(p: Params) -> Op:
    x = tensor((p["numel"],), p["dtype"])
    return single_op("compare", [x, x], [tensor((p["numel"],), "bool")])


def _turned_rows(p: Params) -> Op:
    x = tensor((p["b"], p["s"], p["d"]), p["dtype"])
    return single_op("copy", [x], [x], strided="columns")


def _repeated(p: Params) -> Op:
    """An expanded axis is stored once, and written out."""
    x, y = ((p["b"], times, p["rows"], p["cols"]) for times in (1, p["times"]))
    return single_op("copy", [tensor(x, p["dtype"])], [tensor(y, p["dtype"])], strided=True)


def _sorted(p: Params) -> Op:
    x = tensor((p["rows"], p["cols"]), p["dtype"])
    return single_op("topk", [x], [x, tensor(x.shape, "int64")])


# ---- complex numbers: both parts in FP32


def _complex_mul(p: Params) -> Op:
    x = tensor((p["numel"],), "complex64")
    return single_op("mul", [x, x], [x])


def _complex_bmm(p: Params) -> Op:
    b, m, n, k = p["b"], p["m"], p["n"], p["k"]
    x, y, z = (tensor((b, *sides), "complex64") for sides in ((m, k), (k, n), (m, n)))
    return single_op("bmm", [x, y], [z])


def _transformed(real: bool) -> Callable[[Params], Op]:
    """A Fourier transform of each row: of real numbers, of which half the result is kept, or of complex ones."""

    def make(p: Params) -> Op:
        x, y = (p["rows"], p["cols"]), (p["rows"], p["cols"] // 2 + 1 if real else p["cols"])
        return single_op("fft", [tensor(x, p["dtype"] if real else "complex64")], [tensor(y, "complex64")], row=p["cols"])

    return make


# what a decomposition gives beside factors of the size of what goes in: shapes by matrices, longer and shorter side and right-hand sides
RESULTS: dict[str, Callable[[int, int, int, int], tuple[tuple[int, ...], ...]]] = {
    **dict.fromkeys(("cholesky", "inverse", "matrix_exp"), lambda b, m, n, k: ((b, n, n),)),
    "lu": lambda b, m, n, k: ((b, m, n), (b, n)),
    "solve": lambda b, m, n, k: ((b, n, k), (b, n, n), (b, n)),
    **dict.fromkeys(("triangular", "cholesky_solve", "lu_solve", "lstsq"), lambda b, m, n, k: ((b, n, k),)),
    "det": lambda b, m, n, k: ((b,), (b, n, n), (b, n)),
    "qr": lambda b, m, n, k: ((b, m, n), (b, n, n)), "triangle": lambda b, m, n, k: ((b, n, n),),
    **dict.fromkeys(("eigh", "eig"), lambda b, m, n, k: ((b, n), (b, n, n))),
    **dict.fromkeys(("eigvalsh", "eigvals", "svdvals"), lambda b, m, n, k: ((b, n),)),
    "svd": lambda b, m, n, k: ((b, m, n), (b, n), (b, n, n)),
}  # fmt: skip


def _decomposed(p: Params) -> Op:
    b, m, n, k = p["matrices"], p["longer"], p["shorter"], p["sides"]
    inputs = [tensor((b, m, n), p["dtype"])] + ([tensor((b, m, k), p["dtype"])] if k else [])
    outputs = [tensor(shape, "int32" if shape == (b, n) and p["how"] in PIVOTED else p["dtype"]) for shape in RESULTS[p["how"]](b, m, n, k)]
    return single_op("solver", inputs, outputs, how=p["how"])


PIVOTED = ("lu", "solve", "det")  # which rows were swapped is among what they give


def _columnwise(p: Params) -> Op:
    x = tensor((p["rows"], p["cols"]), p["dtype"])
    return single_op("transpose", [x], [tensor((p["cols"], p["rows"]), p["dtype"])], strided="columns")


MOVES: dict[str, Callable[[Params], Op]] = {
    "captured": _captured, "called": _captured, "decompose": _decomposed,
    "transpose_2d": _columnwise, "compare": _compared, "clone_columns": _turned_rows, "repeat_rows": _repeated, "sort_rows": _sorted,
    "complex_mul": _complex_mul, "complex_bmm": _complex_bmm, "rfft": _transformed(real=True), "fft": _transformed(real=False),
    "cat_columns": _joined, "cat_channels": _joined, "cat_token": _joined,
    "index_copy_": _written("copy"), "slice_copy_": _written("slice"),
    "index_put_rows_": _written("put"), "scatter_rows_": _written("scatter"), "upsample_nearest": _resized("nearest"),
    "upsample_bilinear": _resized("bilinear"), "upsample_bicubic": _resized("bicubic"), "grid_sample": _grid_sample,
    "pixel_shuffle": _shuffled, "pad": _padded, "pad_reflect": _padded, "index_select": _picked(), "index": _picked(),
    "gather": _picked("elements"), "conv_transpose2d": _conv_transpose, "conv1d": _conv1d, "conv3d": _conv3d,
    "arange": lambda p: single_op("fill", [tensor((1,), p["dtype"])], [tensor((p["numel"],), p["dtype"])], how="counted"),
}  # fmt: skip
