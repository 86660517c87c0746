"""Streams on a CUDA device: element-wise ops, copies, lookups, windows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from math import ceil, log2

from ironlaw.backends.cuda.evidence import by_name, named, plain
from ironlaw.backends.evidence_ops import OPS
from ironlaw.backends.kernel import Kernel, Sample
from ironlaw.backends.rows import Row
from ironlaw.engine.arrays import Number, is_array, maximum
from ironlaw.engine.device.machine import Hardware
from ironlaw.engine.device.types import FORMATS, Op
from ironlaw.engine.device.work import with_attrs

# bytes that a sum at an index counts for each of its own: 7.3 ps per element in FP32, 8.5 in BF16 (index_add of own code on an H200)
SUMS = {"fp32": 0.78, "bf16": 1.75, "fp16": 1.75}
DIGIT, INDEX_BYTES = 8.0, 8.0  # bits of a place that a pass sorts by; bytes of a place
FEW_EACH = 32  # elements at each place that one warp takes side by side
# times the mean, how many go to the fullest place where one number is picked for each pair: biases by distance twice, by its logarithm ten
# times (an opened model); rows are as good as evenly picked
CROWDED = 4.0
VECTOR = 16.0  # bytes that a thread loads at once
# curves of kernels that load element by element, since what they read does not lie as what they write: an element takes its time
# whatever its width (ATen, `elementwise_kernel` instead of `vectorized_elementwise_kernel`)
SINGLY = ("strided", "strided_columns", "broadcast", "broadcast_row", "select_broadcast", "cast_up")


def stream(op: Op, machine: Hardware) -> Sequence[Kernel]:
    """Each tensor once: element-wise ops, copies, lookups."""
    if op.work.launches == 0:
        return ()
    if op.attrs.get("rolled"):  # one axis after the other; an element takes as long in four bytes as in two
        return (Kernel("roll", 4.0 * op.outputs[0].size, count=float(op.attrs["rolled"])),)
    curve = _stream_curve(op)
    return (Kernel(curve, op.work.bytes, op.work.flops, rows=op.outputs[0].size if curve in SINGLY else 0.0),)


def _stream_curve(op: Op) -> str:
    if op.attrs.get("strided"):
        return "strided_columns" if op.attrs["strided"] == "columns" else "strided"
    if op.kind == "fill" and op.attrs.get("how") == "counted":
        return "arange"
    if op.kind in ("gather", "embedding") and op.attrs.get("how") == "elements":
        return "gather_elements"
    if op.kind in ("cast", "copy") and op.inputs and op.inputs[0].dtype != op.outputs[0].dtype:  # up: PyTorch's unvectorised kernel
        return "cast_up" if FORMATS[op.outputs[0].dtype] > FORMATS[op.inputs[0].dtype] else "cast"
    if op.kind == "select" and any(_differs(t.size, op.outputs[0].size) for t in op.inputs):
        return "select_broadcast"
    if len(op.inputs) > 1 and op.kind in ("add", "mul", "sub", "div"):
        out = op.outputs[0].shape
        shapes = [t.shape for t in op.inputs[:2]]
        if any(shape[-1] is not out[-1] and not is_array(shape[-1]) and shape[-1] == 1 for shape in shapes) and _differs(out[-1], 1):
            return "broadcast_row"  # one value for each row
        if any(len(shape) != len(out) or any(map(_differs, shape, out)) for shape in shapes):
            return "broadcast"
    return op.kind


def _differs(a: Number, b: Number) -> bool:
    """Whether two sizes differ; a swept size equals only itself."""
    return a is not b if is_array(a, b) else bool(a != b)


def as_gathered(op: Op) -> Op:
    """Rows that are not made of whole vectors are fetched element by element (ATen, `fast_gather_kernel_eligible`)."""
    if op.kind not in ("gather", "embedding") or op.attrs.get("how"):
        return op
    each = op.inputs[0].bytes / op.inputs[0].shape[0]
    return op if is_array(each) or each % VECTOR == 0 else with_attrs(op, how="elements")


def lookup(op: Op, machine: Hardware) -> Sequence[Kernel]:
    """Rows of a table, a block for each: short ones cost by themselves, whatever they hold. Element by element, or in bags, it is a
    stream."""
    op = as_gathered(op)
    if op.attrs.get("how") or op.attrs.get("strided"):
        return stream(op, machine)
    table, y = op.inputs[0], op.outputs[0]
    each = table.size / table.shape[0]
    return (Kernel(op.kind, op.work.bytes, rows=y.size / each),)


def pool(op: Op, machine: Hardware) -> Sequence[Kernel]:
    """A thread for each output walks its window: the outputs cost by themselves."""
    return (Kernel(op.kind, op.work.bytes, rows=op.outputs[0].size),)


def upsample(op: Op, machine: Hardware) -> Sequence[Kernel]:
    """Nearest: a thread for each output. Between pixels: a thread for each pixel of a plane, which goes through all planes of all images,
    unless the channels lie innermost."""
    method, x = op.attrs.get("method", "nearest"), op.inputs[0]
    if method == "nearest" or op.attrs.get("layout") == "nhwc":
        return (Kernel("upsample" if method == "nearest" else f"upsample_{method}_nhwc", op.work.bytes),)
    main = Kernel(f"upsample_{method}", op.work.bytes, depth=x.shape[0] * x.shape[1])
    return (main, Kernel("fill", op.outputs[0].bytes)) if method == "bicubic" else (main,)


def grid_sample(op: Op, machine: Hardware) -> Sequence[Kernel]:
    """A thread for each place of the grid, which goes through the channels."""
    return (Kernel("grid_sample", op.work.bytes, depth=op.inputs[0].shape[1]),)


def write(op: Op, machine: Hardware) -> Sequence[Kernel]:
    """Sums go to memory element by element, so that a half takes about as long as a whole. Those by `index_put` are sorted first."""
    if not op.attrs.get("accumulate"):
        return (Kernel(f"write_{op.attrs.get('how', 'put')}", op.work.bytes),)
    if op.attrs.get("how") == "put" and (kernels := _sorted_first(op)):
        return kernels
    crowd = op.attrs.get("touched", op.inputs[1].size) / op.outputs[0].size
    return (Kernel("write_sums", SUMS.get(op.outputs[0].dtype, 1.0) * op.work.bytes, depth=maximum(crowd, 1.0)),)


def _sorted_first(op: Op) -> Sequence[Kernel]:
    """The places of an accumulating `index_put` as single numbers, sorted by as many digits as there are places; then a warp walks all that
    go to the same one (ATen, Indexing.cu, `indexing_backward_kernel` and its kin for one and for few elements at each place)."""
    target, touched = op.inputs[0], op.attrs["touched"]
    tokens = op.attrs.get("places") or max((t.size for t in op.inputs[1:] if t.dtype == "int64"), default=0.0)
    if is_array(tokens, target.size, touched) or not tokens:
        return ()
    each = op.attrs.get("each") or max(touched / tokens, 1.0)
    places = max(target.size * tokens / touched, 2.0)
    passes = ceil(log2(places) / DIGIT)
    curve = "put_sums_single" if each <= 1 else "put_sums_few" if each <= FEW_EACH else "put_sums"
    crowd = op.attrs.get("crowd", CROWDED if each <= 1 else 1.0) * tokens / places
    sums = Kernel(curve, 0.0, rows=touched if each > FEW_EACH else touched / each, depth=crowd)
    return sums, Kernel("sort_pass", 4.0 * INDEX_BYTES * tokens, count=passes), Kernel("tiny", 0.0, count=9.0 + 2.0 * passes)


def write_samples(row: Row, machine: Hardware) -> Iterator[Sample]:
    """What each of the two kernels took that work on sums at places."""
    kernels = write(OPS[row.op](row.params), machine)
    if len(kernels) == 1:
        return plain(row, kernels, row.busy_s)
    return by_name(row, kernels, {"indexing_backward": kernels[0].curve, "Onesweep": "sort_pass"})


def pad(op: Op, machine: Hardware) -> Sequence[Kernel]:
    """Filled with zeros, then copied into; padding by nothing is a plain copy. Reflected, it is one kernel."""
    if op.attrs.get("mode") == "reflect":
        return (Kernel("pad_reflect", op.work.bytes),)
    if op.inputs[0].shape == op.outputs[0].shape:
        return (Kernel("copy", op.work.bytes),)
    return (Kernel("fill", op.outputs[0].bytes), Kernel("strided", op.work.bytes, rows=op.inputs[0].size))


def roll_samples(row: Row, machine: Hardware) -> Iterator[Sample]:
    """One axis after the other, a launch each."""
    kernel = stream(OPS[row.op](row.params), machine)[0]
    if row.busy_s:
        yield Sample(replace(kernel, count=1.0), row.busy_s / kernel.count)


def select_samples(row: Row, machine: Hardware) -> Iterator[Sample]:
    """The kernel that chooses; those beside it copy, compare or convert."""
    p = row.params
    whole, mask = p["b"] * p["h"] * p["s"] ** 2, p["s"] ** 2
    size = FORMATS[p["dtype"]]
    chosen = [k.seconds for k in row.kernel_times if "::elementwise_kernel" in k.name]
    if row.busy_s and chosen:
        mask_bytes = size * mask if row.op == "bool_where" else mask
        wide = whole if row.op == "bool_where" else 0.0  # its condition is as large as what it chooses from
        yield Sample(Kernel("select_broadcast", 2 * size * whole + wide + mask_bytes, rows=whole), max(chosen))


EAGER = {
    "embedding": lookup, "gather": lookup,
    "pad": pad, "avg_pool2d": pool, "max_pool2d": pool, "upsample": upsample, "grid_sample": grid_sample, "write": write,
}  # fmt: skip
ROWS = {
    "roll": roll_samples, "pad": named(pad, {"FillFunctor": "fill", "elementwise_kernel<128": "strided"}),
    "upsample_bicubic": named(upsample, {"upsample_bicubic": "upsample_bicubic"}),
    **dict.fromkeys(("masked_fill", "where", "bool_where", "compare_masked_fill"), select_samples),
}  # fmt: skip
FALLBACK = {
    **dict.fromkeys(("put_sums_single", "put_sums_few", "put_sums"), "write_put"), "write_sums": "write_copy",
    "upsample_bicubic": "upsample_bilinear", "upsample_bilinear": "grid_sample", "grid_sample": "max_pool2d",
    "upsample_bilinear_nhwc": "upsample", "upsample_bicubic_nhwc": "upsample", "pad_reflect": "strided", "write_copy": "write_put",
    "write_put": "scatter", "write_scatter": "write_put", "select_broadcast": "broadcast", "arange": "fill", "gather_elements": "gather",
    "transpose": "strided", "avg_pool2d": "max_pool2d", "square": "scale", "cube": "power",
    "shift": "scale", "sub": "add", "broadcast_row": "broadcast", "strided_columns": "strided", "roll": "strided",
}  # fmt: skip
