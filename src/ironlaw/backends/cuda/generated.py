"""Kernels that torch.compile writes for a CUDA device: by their reduction, or a plain stream whatever the layout."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import reduce

from ironlaw.backends.cuda import norm
from ironlaw.backends.cuda.chip import instruction_bytes
from ironlaw.backends.cuda.norm import joining, sums_columns
from ironlaw.backends.evidence_ops import OPS
from ironlaw.backends.kernel import Kernel, Sample
from ironlaw.backends.rows import Row
from ironlaw.engine.arrays import Number, ceil, is_array, log2, maximum, total, where
from ironlaw.engine.device.fusion_rules import same_size
from ironlaw.engine.device.machine import Hardware
from ironlaw.engine.device.types import Op, Tensor
from ironlaw.engine.device.work import STAND_IN, UNROLLED, category, in_pieces, traits

SECTOR = 32.0  # bytes, the least that is fetched from memory
LONG_GROUP = 8192  # elements of a group from which torch.compile sums it in parts


# Instructions for an element, beyond reading and writing it, in FP32 as Triton compiles them: divisions, roots and library functions are
# many. Fitted to h200_sxm/machine and, function by function, to h200_sxm/written (BF16, where arithmetic is the bottleneck).
INSTRUCTIONS = {
    **norm.INSTRUCTIONS, "gelu": 33.0, "gelu_tanh": 26.0, "silu": 39.0, "sigmoid": 11.0, "tanh": 24.0, "erf": 20.0, "cos": 28.0,
    "sin": 28.0, "exp": 6.0, "log": 8.0, "sqrt": 26.0, "rsqrt": 6.0, "div": 20.0, "power": 62.0, "grid_sample": 180.0, "cumsum": 8.0,
    "select": 4.0, "compare": 3.0,
}  # fmt: skip
# Instructions for each pixel of an image that is resized: bilinear as measured; bicubic was not, and reads four times as many pixels
BETWEEN_PIXELS = {"bilinear": 46.0, "bicubic": 200.0}
PER_PIECE, ODD_ROW = 3.0, 25.0  # of a concatenation: for each tensor; where no vector holds whole rows, for finding one's place
# Of an element that is fetched by itself through an index: one that is read for it, or one that is made on the way, into a table that
# stays beside the multiprocessor
WINDOWED = 50.0  # and of one that is read out of a window: its place, whether that is in the image, a load that may not be made
PICKED, CLOSE_BY, AT_HAND = 20.0, 10.0, 2.0**16
FEW, SOME, SHORT_COLUMN = 16, 64, 40.0  # rows up to which columns are summed without a loop, looked-up ones too; instructions per element
VECTOR, NARROW = 8, 16  # elements that are fetched at once; of a table's row, up to which each is fetched by itself
LONG_ROW = 128  # elements of a row whose sum costs what a plane's does
KEPT_ROW, KEPT_SCATTERED = 1024, 64  # elements of a row that is held on chip; a longer one is gone through again
ONLINE_SOFTMAX = 33.0  # instructions of a softmax's first pass where it makes several
AGAIN_FETCHED = 0.3  # of a row that is read once more, the share that the caches do not have any longer
FUNCTIONS = {  # of rows: what each function does
    "relu": ("relu",), "mul_add_relu": ("mul", "add", "relu"), "gelu_tanh": ("gelu_tanh",), "silu_mul": ("silu", "mul"),
    "bn_relu": ("batch_norm", "relu"), "bn_add_relu": ("batch_norm", "add", "relu"),
}  # fmt: skip


def instructions(parts: Sequence[Op], again: Sequence[tuple[Op, Number]] = (), loop: Number = 0.0) -> Number:
    """Instructions of the ops in a kernel, and of what it computes again per element. `loop`: elements that all of it is done for,
    also what a smaller tensor would need, since each element computes its own."""
    own = total(each_element(p) * maximum(p.outputs[0].size, loop) for p in parts)
    return own + total(each_element(p) * maximum(size, loop) for p, size in again)


def each_element(op: Op) -> Number:
    """Instructions that one element of an op takes."""
    y = op.outputs[0]
    if op.kind == "cat":
        if in_pieces(op):
            return 0.0
        first = next((t.shape[-1] for t in op.inputs if t.shape), 1)  # numbers are stacked too, such as the norms of gradients
        inner = not is_array(y.shape[-1]) and y.shape[-1] % VECTOR and y.shape[-1] != first
        return PER_PIECE * len(op.inputs) + (ODD_ROW if inner else 0.0)
    if op.kind in ("embedding", "gather"):
        wide, taken = (t.shape[-1] if t.shape else 1 for t in (op.inputs[0], y))  # a single element has no last size
        each = where(op.inputs[0].bytes <= AT_HAND, CLOSE_BY, PICKED) if op.inputs[-1].role == "activation" else PICKED
        return each if is_array(wide) or taken != wide or wide <= NARROW else 0.0
    if op.attrs.get(STAND_IN) == "im2col":
        return WINDOWED
    if op.kind == "upsample":
        return BETWEEN_PIXELS.get(op.attrs.get("method", "nearest"), 0.0)
    if op.kind in INSTRUCTIONS:
        return INSTRUCTIONS[op.kind]
    return op.work.vector_flops / y.size


def generated(op: Op, machine: Hardware) -> Sequence[Kernel]:
    """A kernel that the compiler writes by itself: as its reduction does, or a plain stream whatever the layout."""
    return written(op, (op,), machine)


def written(op: Op, parts: Sequence[Op], machine: Hardware) -> Sequence[Kernel]:
    """Lowered by the first reduction, or by a group norm. A row kernel's arithmetic counts as the bytes that could move meanwhile."""
    if long := [p for p in parts if traits(p.kind).grouped]:
        return _groups(op, long[0])
    rows = [p for p in parts if category(p.kind) in ("rowwise", "reduction") and not sums_columns(p) and UNROLLED not in p.attrs]
    again = op.attrs.get("again", ())
    if rows:
        return _rows(op, parts, rows, machine)
    columns = [p for p in parts if sums_columns(p)]
    loop = 0.0 if columns else reduce(maximum, (p.outputs[0].size for p in parts))
    work = instructions(parts, again, loop) + total(_down(p, parts) for p in columns)
    pieces = [p for p in parts if in_pieces(p)]
    count = float(max([len(p.inputs) for p in pieces], default=1))
    data = op.work.bytes + total(_beside(p) for p in pieces)
    return (Kernel("fused", data / count, work / count, count=count),)


def _beside(cat: Op) -> Number:
    """Bytes beyond a concatenation's own that are written where each of its kernels writes less than a sector at a time."""
    x, y = cat.inputs[0], cat.outputs[0]
    if is_array(*x.shape, *y.shape) or x.shape[-1] == y.shape[-1]:
        return 0.0
    run = x.shape[-1] if len(x.shape) == len(y.shape) else 1  # elements side by side: a stack's are single
    return max(SECTOR * y.size / run - y.bytes, 0.0)


def _down(column: Op, parts: Sequence[Op]) -> Number:
    """Instructions of a sum down few rows, or of rows that are looked up: a thread has whole columns, padded to a power of two."""
    x = column.inputs[0]
    depth = x.size / column.outputs[0].size
    most = SOME if any(category(p.kind) == "lookup" for p in parts) else FEW
    return where(depth <= most, SHORT_COLUMN * x.size * filled_up(depth), 0.0)


def filled_up(row: Number) -> Number:
    """How many elements a kernel goes through for each of a row that it holds: as many as the next power of two."""
    return where((row > 1) & (row <= KEPT_ROW), 2.0 ** ceil(log2(maximum(row, 1.0))) / row, 1.0)


def _rows(op: Op, parts: Sequence[Op], rows: Sequence[Op], machine: Hardware) -> Sequence[Kernel]:
    """Rows that fit are read once and held, padded to a power of two; others are gone through once for each step."""
    first, x = rows[0], rows[0].inputs[0]
    sums = category(first.kind) == "reduction" and not same_size(first.outputs[0], x)
    many = first.outputs[0].size if sums else x.size / first.attrs.get("row", x.shape[-1])
    row = x.size / many
    whole = any(same_size(t, x) for t in op.outputs)  # a row that is summed and written again
    softmax = [p for p in rows if p.kind == "softmax"]
    looped = (softmax and len(rows) > 1) or "axis" in first.attrs or _scattered(op, parts, (x.size, many, row))
    again = where(row <= (KEPT_SCATTERED if looped else KEPT_ROW), 0.0, 1.0) if softmax or whole else 0.0
    each = total(each_element(p) * _times(p, x, many) for p in parts)
    before = total(each_element(p) * _times(p, x, many) for p in parts[: parts.index(first)])
    work = (each + again * before + instructions((), op.attrs.get("again", ()))) * filled_up(row)
    work = work + again * ONLINE_SOFTMAX * total(p.inputs[0].size for p in softmax)
    data = op.work.bytes
    if whole and not softmax:
        share = 1.0 if "axis" in first.attrs else AGAIN_FETCHED
        data = data + again * share * x.bytes * max(1, sum(category(p.kind) == "reduction" for p in rows))
    kernel = Kernel("fused_rows", maximum(data, instruction_bytes(machine) * work), op.work.flops, many)
    long = where(row >= LONG_ROW, 1.0, 0.0) if sums and not whole else 0.0
    joined = [joining(p) for p in rows if p.attrs.get("over", "row") == "all"]
    joined += [Kernel("tiny", 0.0) for p in rows if p.attrs.get("split") or p.attrs.get("shared")]
    return replace(kernel, curve="fused_reduction", count=long), replace(kernel, count=1.0 - long), *joined


def _times(p: Op, x: Tensor, many: Number) -> Number:
    """For how many elements an op is done in a loop over rows: its own where it is one of all, one of a row or the only one; else each
    element of the loop computes what it needs."""
    size = p.outputs[0].size
    return size if is_array(size, x.size, many) or size in (1, many) else maximum(size, x.size)


def _scattered(op: Op, parts: Sequence[Op], plain: tuple[Number, ...]) -> bool:
    """Whether a tensor is read in another way than once through, once for each row or once for each column: a mask for all heads, half of
    each row, what an index picks. Inductor then expects rows that do not lie in one piece (`SIMDKernelFeatures.get_reduction_hint`)."""
    if any(category(p.kind) == "lookup" for p in parts):
        return True
    sizes = [t.size for t in op.inputs]
    return not is_array(*sizes, *plain) and any(size not in (1, *plain) for size in sizes)


def _groups(op: Op, grouped: Op) -> Sequence[Kernel]:
    """Sums over each group, in parts and joined where it is long, then the stream. `layout` (`cuda.layout`): with the channels
    innermost the sums jump from pixel to pixel, and where the parts are uneven each element is fetched by itself; so it is in a
    stream that turns an NCHW image round for the convolution that is to read it.
    """
    x, layout = grouped.inputs[0], op.attrs.get("layout", "")
    each = x.size / (x.shape[0] * grouped.attrs.get("groups", 32.0))
    inner, uneven = layout == "nhwc", layout == "nhwc" and not is_array(each) and not math.log2(each).is_integer()
    sums = Kernel("group_sums_uneven", SECTOR * x.size) if uneven else Kernel("group_sums_nhwc" if inner else "group_sums", x.bytes)
    stream = Kernel("group_turned", SECTOR * x.size) if layout == "to_nhwc" else Kernel("group_affine", op.work.bytes)
    return sums, Kernel("tiny", 0.0, count=where(each >= LONG_GROUP, 2.0 if inner else 1.0, 0.0)), stream


def generated_samples(row: Row, machine: Hardware) -> Iterator[Sample]:
    """A kernel that torch.compile wrote: its traffic is in the row."""
    p = row.params
    if row.error or row.kernels != 1 or not row.busy_s:
        return
    rows = p.get("rows", 0.0)
    name = "fused" if not rows else "fused_reduction" if p.get("over") == "plane" else "fused_rows"
    elements = p.get("numel") or p.get("n", 0.0) * p.get("c", 0.0) * p.get("h", 0.0) ** 2
    each = 0.0 if rows else sum(INSTRUCTIONS.get(kind, 1.0) for kind in FUNCTIONS.get(p.get("function", ""), ()))
    yield Sample(Kernel(name, p["read_bytes"] + p["written_bytes"], each * elements, rows), row.busy_s)


def generated_norm_samples(row: Row, machine: Hardware) -> Iterator[Sample]:
    """The sums and the stream of a group norm; the convolutions around it are other kernels."""
    if not row.busy_s:
        return
    kernels = generated(OPS[row.op](row.params), machine)
    own = [k for k in row.kernel_times if norm.GROUP_KERNELS in k.name]
    stream = [k.seconds for k in own if "triton_poi" in k.name]
    sums = [k.seconds for k in own if "triton_poi" not in k.name]
    yield from (Sample(kernel, max(times)) for kernel, times in ((kernels[0], sums), (kernels[-1], stream)) if times)


COMPILED = dict.fromkeys(("max_pool2d", "avg_pool2d", "upsample", "grid_sample", "cumsum", "embedding", "gather"), generated)
ROWS = {"generated": generated_samples, "generated_norm": generated_norm_samples}
FALLBACK = {
    "fused": "elementwise", "fused_rows": "rms_norm", "fused_reduction": "mean", "group_sums": "fused_reduction",
    "group_sums_nhwc": "fused_reduction", "group_sums_uneven": "fused_reduction", "group_affine": "fused", "group_turned": "fused",
}  # fmt: skip
