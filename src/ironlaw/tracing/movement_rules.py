"""Rules for what moves: writes into a part of a tensor, lookups, resizing, padding.

An op that PyTorch has in place and not in place is, where it is not, a copy and then the same kernel.
"""

from __future__ import annotations

from math import prod
from typing import Any

from ironlaw.engine.device.work import STAND_IN
from ironlaw.tracing.aten import Call, OpDraft, Rule, registrar, reshaped
from ironlaw.tracing.linear_algebra_rules import places
from ironlaw.tracing.memory_layout import last_channels

RULES: dict[str, Rule] = {}
rule = registrar(RULES)


# ---- writes


def written(call: Call, how: str, touched: float, accumulate: bool = False, **more: float) -> OpDraft | list[OpDraft]:
    """Values into places of a tensor: what is touched moves, not the tensor."""
    target, rest, out = call.inputs[0], call.inputs[1:], call.outputs[0]
    attrs: dict[str, Any] = {"how": how, "touched": float(touched)} | ({"accumulate": True} if accumulate else {}) | more
    if call.inplace:
        return OpDraft("write", [target, *rest], [out], attrs) if touched else []
    if not touched:
        return OpDraft("copy", call.inputs[:1], [out])
    before, copy = copied(call)
    return [copy, OpDraft("write", [before, *rest], [out], attrs | {"inplace": True})]


def copied(call: Call) -> tuple[Any, OpDraft]:
    """What an op that leaves its input alone writes into: a copy of it."""
    out = call.outputs[0]
    before = type(out)(f"{out.name}:before", out.shape, out.dtype)
    return before, OpDraft("copy", call.inputs[:1], [before])


@rule("index_copy", "index_add")
def by_index(call: Call) -> OpDraft | list[OpDraft]:
    return written(call, "copy", call.arguments["source"].numel(), call.name == "index_add")


@rule("index_fill")
def filled(call: Call) -> OpDraft | list[OpDraft]:
    x, dim = call.arguments["self"], int(call.arguments["dim"])
    return written(call, "copy", call.arguments["index"].numel() * x.numel() / max(x.shape[dim], 1))


@rule("scatter", "scatter_add", "scatter_reduce")
def scattered(call: Call) -> OpDraft | list[OpDraft]:
    return written(call, "scatter", call.arguments["index"].numel(), call.name != "scatter")


@rule("index_put", "_index_put_impl", "_unsafe_index_put")
def put(call: Call) -> OpDraft | list[OpDraft]:
    """A mask as an index: as many places as there are values, at most those of the mask. Of sums, also how many places are sorted and how
    many values lie at each in one piece."""
    a = call.arguments
    x, indices = a["self"], [i for i in a["indices"] if i is not None]
    masks = any(str(i.dtype) == "torch.bool" for i in indices)
    if masks:
        axes, places = sum(i.dim() if str(i.dtype) == "torch.bool" else 1 for i in indices), max(i.numel() for i in indices)
    else:
        axes, places = len(indices), _broadcast(indices)
    indexed = [i for i, index in enumerate(a["indices"]) if index is not None]
    rest = prod(size for axis, size in enumerate(x.shape) if axis not in indexed and (not masks or axis >= axes))
    if a.get("accumulate"):
        each = prod(x.shape[(indexed[-1] if indexed else -1) + (axes if masks else 1) :])
        return written(call, "put", places * rest, True, places=float(places), each=float(each))
    if call.inplace and places * rest >= x.numel():  # all of it, in another order
        return OpDraft("scatter", call.inputs, call.outputs)
    return written(call, "put", places * rest)


def _broadcast(indices: list[Any]) -> int:
    rank = max((i.dim() for i in indices), default=0)
    shapes = [(1,) * (rank - i.dim()) + tuple(i.shape) for i in indices]
    return prod(max(sizes) for sizes in zip(*shapes, strict=True))


@rule("masked_fill")
def masked_fill(call: Call) -> OpDraft | list[OpDraft]:
    if call.inplace:
        return OpDraft("select", call.inputs, call.outputs)
    before, copy = copied(call)
    return [copy, OpDraft("select", [before, *call.inputs[1:]], call.outputs, {"inplace": True})]


# ---- lookups


@rule("index", "_unsafe_index")
def index(call: Call) -> list[OpDraft]:
    """Whole rows by one index along the first axis, or element by element. A mask becomes indices first."""
    indices, out = call.arguments["indices"], call.outputs[0]
    rows = sum(i is not None for i in indices) == 1 and indices[0] is not None
    masks = [call.tensor(i) for i in indices if i is not None and str(i.dtype) == "torch.bool" and i.numel()]
    found = [type(out)(f"{out.name}:{mask.name}", (max(1, int(out.shape[0])), len(mask.shape)), "int64") for mask in masks]
    lookup = OpDraft("gather", call.inputs[:2], [out], {} if rows else {"how": "elements"})
    return [draft for mask, where in zip(masks, found, strict=True) for draft in places(mask, where)] + [lookup]


@rule("gather", "take", "take_along_dim")
def gather(call: Call) -> OpDraft:
    return OpDraft("gather", call.inputs[:2], call.outputs[:1], {"how": "elements"})


@rule("sort", "topk", "argsort")
def ordered(call: Call) -> OpDraft:
    """Rows along whatever axis they lie."""
    x, dim = call.inputs[0], int(call.arguments.get("dim", -1))
    row = x.shape[dim] if x.shape else 1
    if not x.shape or dim % len(x.shape) == len(x.shape) - 1:
        return OpDraft("topk", call.inputs, call.outputs)
    outs = [reshaped(t, x.size // row, t.size // (x.size // row)) for t in call.outputs]
    return OpDraft("topk", [reshaped(x, x.size // row, row)], outs)


@rule("isin")
def is_in(call: Call) -> list[OpDraft]:
    """Each element against each of a few, and whether any was equal: what PyTorch does unless there are many."""
    tests, out = call.arguments.get("test_elements"), call.outputs[0]
    pairs = type(out)(f"{out.name}:pairs", (*out.shape, int(tests.numel()) if tests is not None else 1), out.dtype)
    return [OpDraft("compare", call.inputs[:1], [pairs]), OpDraft("amax", [pairs], [out], {"over": "row"})]


@rule("_fft_r2c", "_fft_c2c", "_fft_c2r")
def fft(call: Call) -> OpDraft:
    x, dims = call.inputs[0], call.arguments["dim"]
    shape = call.arguments["self"].shape
    return OpDraft("fft", [x], call.outputs[:1], {"row": prod(int(shape[d]) for d in dims)})


# ---- resizing and padding

METHODS = {
    "upsample_nearest1d": "nearest", "upsample_nearest2d": "nearest", "upsample_nearest3d": "nearest",
    "_upsample_nearest_exact1d": "nearest", "_upsample_nearest_exact2d": "nearest", "_upsample_nearest_exact3d": "nearest",
    "upsample_bilinear2d": "bilinear", "upsample_bicubic2d": "bicubic",
    "upsample_linear1d": "bilinear", "upsample_trilinear3d": "bilinear", "_upsample_bilinear2d_aa": "bilinear",
    "_upsample_bicubic2d_aa": "bicubic",
}  # fmt: skip
OTHERS = ("upsample_linear1d", "upsample_trilinear3d", "_upsample_bilinear2d_aa", "_upsample_bicubic2d_aa")  # kernels of their own


@rule(*METHODS)
def resized(call: Call) -> OpDraft:
    attrs: dict[str, Any] = {"method": METHODS[call.name]} if METHODS[call.name] != "nearest" else {}
    if last_channels(call.arguments.get("input", call.arguments.get("self"))):
        attrs["layout"] = "nhwc"
    if call.name in OTHERS:
        attrs[STAND_IN] = call.name
    return OpDraft("upsample", call.inputs[:1], call.outputs[:1], attrs)


@rule("grid_sampler_2d", "grid_sampler_3d", "cudnn_grid_sampler")
def sampled(call: Call) -> OpDraft:
    return OpDraft("grid_sample", call.inputs[:2], call.outputs[:1], {STAND_IN: call.name} if call.name == "grid_sampler_3d" else {})


@rule("grid_sampler_2d_backward", "grid_sampler_3d_backward", "cudnn_grid_sampler_backward")
def sampled_gradient(call: Call) -> OpDraft:
    return OpDraft("grid_sample", call.inputs, call.outputs, {STAND_IN: "grid_sampler_backward"})


@rule(
    "reflection_pad1d", "reflection_pad2d", "reflection_pad3d", "replication_pad1d", "replication_pad2d", "replication_pad3d"
)  # fmt: skip
def reflected(call: Call) -> OpDraft:
    """One kernel, where a constant is filled in and then copied over."""
    return OpDraft("pad", call.inputs[:1], call.outputs[:1], {"mode": "reflect"})
