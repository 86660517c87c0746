"""What of an op's shape a library's choice of kernel may depend on: a family of like ops, and numbers in which neighbours are near.

A size counts by its logarithm to the base of 2, so that doubling is a step of 1 whatever the size. A yes or no that changes the kernel
(a row that fills no vector, a causal mask) is a step of `APART`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ironlaw.engine.arrays import SCALARS, Number, log2, minimum, total, where
from ironlaw.engine.device.types import Op, Tensor
from ironlaw.engine.device.work import traits
from ironlaw.engine.device.work.solver_work import SOLVED_FOR, sizes
from ironlaw.formats import BYTES

APART = 2.0
MANY_COLUMNS = 2**17  # that keep every thread of a large GPU busy: their sum is a stream
# of a top-k: rows, up to so many, and how long they are where blocks share them
BY_DIGITS = ((20, 20000), (40, 10000), (80, 8000), (200, 5000), (800, 3000), (4000, 800), (float("inf"), 400))
FEW_PLANES, DEEP_VOLUME = 16, 4096  # of an image in NCHW: more are padded to whole vectors; products for each result of a video's patch
ADDED = ("sum", "mean", "amax")  # what one kernel of ATen does alike down an axis
DOUBLE = ("fp64", "complex128")
FILLED = 8  # elements that fill a vector of 16 bytes in a two-byte format


@dataclass(frozen=True, slots=True)
class Signature:
    """A family, and where in it an op lies."""

    family: str
    place: tuple[Number, ...]


def signature(op: Op) -> Signature | None:
    """None for a kind of op that is not compared with its neighbours."""
    place = PLACES.get(op.kind) or UNITS.get(traits(op.kind).unit)
    if place is None or "parts" in op.attrs or not all(t.shape for t in (*op.inputs[:1], *op.outputs[:1])):
        return None
    return place(op)


def width(op: Op) -> str:
    """Formats of the same width run alike, but for TF32, integers and products of complex numbers."""
    apart = op.dtype in ("tf32", "fp8", "int8", "int4") or (op.dtype.startswith("complex") and op.work.matmul_flops)
    return op.dtype if apart else f"{8 * BYTES[op.inputs[0].dtype]:g} bit"


def unaligned(*sizes: Number) -> tuple[Number, ...]:
    """For each size: nothing where it fills vectors, a step where it is even, two where it is odd."""
    return tuple(where(size % FILLED == 0, 0.0, where(size % 2 == 0, APART / 2, APART)) for size in sizes)


def logs(*sizes: Number) -> tuple[Number, ...]:
    return tuple(log2(size) for size in sizes)


def product(op: Op) -> Signature:
    x, w, y = op.inputs[0], op.inputs[1], op.outputs[0]
    n, k = y.shape[-1], x.shape[-1]
    if op.kind == "bmm" or len(w.shape) > 2:
        m = y.shape[-2]
        return Signature(f"bmm {width(op)}", (*logs(y.size / (m * n), m, n, k), *unaligned(n, k)))
    return Signature(f"linear {width(op)}", (*logs(y.size / n, n, k), *unaligned(n, k)))


def oblong(op: Op) -> bool:
    """Whether the convolution of an image, or its gradient, has more taps one way than the other. An image one pixel high is a line."""
    high, wide = op.inputs[-1 if op.kind == "conv_backward" else 1].shape[2:4]
    plane = op.inputs[0].shape[2:4]
    return op.attrs.get("dims", 2) == 2 and bool(high != wide) and min(plane) > 1


def deep_volume(op: Op) -> bool:
    """Whether an inner loop over a volume of few channels is so long that nothing else counts: a video's patches."""
    x, w = op.inputs[:2]
    return op.attrs.get("dims") == 3 and bool(x.shape[1] <= FEW_PLANES and w.shape[1] * w.shape[2] * w.shape[3] >= DEEP_VOLUME)


def convolution(op: Op) -> Signature | None:
    x, w, y = op.inputs[0], op.inputs[1], op.outputs[0]
    c, out, each = x.shape[1], y.shape[1], w.shape[1]
    plane, taps = y.shape[2] * y.shape[3], w.shape[2] * w.shape[3]
    stride, dilation = op.attrs.get("stride", 1), op.attrs.get("dilation", 1)
    layout = "nhwc" if op.attrs.get("layout") == "nhwc" else "nchw"
    if op.attrs.get("dims", 2) != 2:
        steps = (APART * (taps == 1), APART * (each == 1 and c > 1))
        place = (*logs(x.shape[0], each, out, plane, taps, stride, c / each, dilation), *unaligned(each), *steps)
        place += unaligned(plane) if op.attrs["dims"] == 1 else ()
        law = " groups" if op.attrs["dims"] == 1 and 1 < each < c else " deep" if deep_volume(op) else ""
        return Signature(f"conv{op.attrs['dims']}d{law} {width(op)}{' nhwc' if layout == 'nhwc' else ''}", place)
    if each == 1 and c > 1:
        bits = "32 bit" if op.dtype == "bf16" and layout == "nchw" else width(op)  # PyTorch's own kernels, as in FP32
        if layout == "nhwc" and oblong(op):
            return None
        if layout == "nhwc" and out != c:
            bits += " multiplied"
        return Signature(f"depthwise {bits} {layout}", (*logs(x.shape[0], c, plane, taps, stride), *unaligned(y.shape[3])))
    place = (*logs(x.shape[0], each, out, plane, taps, stride, c / each, dilation), *unaligned(each, plane), APART * (taps == 1))
    return Signature(f"conv {width(op)} {layout}", place)


def convolution_backward(op: Op) -> Signature | None:
    """A convolution's gradients: by its shape, by how much smaller its result is, and by which of them are wanted."""
    g, x, w = op.inputs[:3]
    each, out, taps, plane = w.shape[1], w.shape[0], w.shape[2] * w.shape[3], g.shape[2] * g.shape[3]
    shrunk, layout = x.shape[2] * x.shape[3] / plane, " nhwc" if op.attrs.get("layout") == "nhwc" else ""
    of_input = op.outputs[0].shape == x.shape != w.shape
    alone = APART * (0 if op.attrs["wanted"] == 2 else 2 if of_input else 1)
    if each == 1 and x.shape[1] > 1 and layout and oblong(op):
        return None
    if each == 1 and x.shape[1] > 1:
        place = (*logs(x.shape[0], x.shape[1], plane, taps, shrunk, out / x.shape[1]), *unaligned(g.shape[3]), alone)
        return Signature(f"depthwise_backward{layout} {width(op)}", place)
    place = logs(x.shape[0], each, out, plane, taps, shrunk, x.shape[1] / each)
    return Signature(f"conv_backward{layout} {width(op)}", (*place, *unaligned(each, out, plane), APART * (taps == 1), alone))


def over_groups(op: Op) -> bool:
    """Whether a norm's gradient is one of groups, which goes by planes: a mean for each image and group."""
    x = op.inputs[1]
    return any(len(x.shape) > 2 or t.shape[1] != 1 for t in op.inputs[2:] if len(t.shape) == 2 and t.shape[0] == x.shape[0])


def norm_backward(op: Op) -> Signature:
    x = op.inputs[1]
    if over_groups(op):
        planes = x.shape[0] * x.shape[1]
        return Signature(f"group_norm_backward {width(op)}", logs(planes, x.size / planes))
    row = normed(op, x)
    return Signature(f"norm_backward {width(op)}", (*logs(x.size / row, row), *unaligned(row)))


def embedding_backward(op: Op) -> Signature:
    table = op.outputs[0]
    return Signature(f"embedding_backward {width(op)}", logs(op.inputs[1].size, table.shape[-1], table.shape[0]))


def attention_backward(op: Op) -> Signature:
    q, k = op.inputs[1], op.inputs[2]
    place = logs(q.size / (q.shape[-1] * q.shape[-2]), q.shape[-2], k.shape[-2], q.shape[-1])
    return Signature(f"attention_backward {width(op)}", (*place, APART * bool(op.attrs.get("causal"))))


def transposed(op: Op) -> Signature:
    x, w, y = op.inputs[0], op.inputs[1], op.outputs[0]
    layout = "nhwc" if op.attrs.get("layout") == "nhwc" else "nchw"
    dims = "" if op.attrs.get("dims", 2) == 2 else f" {op.attrs['dims']}d"
    taps, stride = w.shape[2] * w.shape[3], op.attrs.get("stride", 1)
    place = logs(x.shape[0], x.shape[1], y.shape[1], x.shape[2] * x.shape[3], taps, stride, y.shape[1] / w.shape[1])
    return Signature(f"conv_transpose {width(op)} {layout}{dims}", (*place, *unaligned(y.shape[1])))


def attention(op: Op) -> Signature:
    q, k = op.inputs[0], op.inputs[1]
    queries, keys, d = q.shape[-2], k.shape[-2], q.shape[-1]
    steps = (APART * bool(op.attrs.get("causal")), APART * (len(op.inputs) > 3), APART * (op.attrs.get("path") == "math"))
    decoding = isinstance(queries, (int, float)) and queries == 1
    family = f"decode {width(op)}" if decoding else f"attention {width(op)}"
    return Signature(family, (*logs(q.shape[0] * q.shape[1], q.shape[1] / k.shape[1], queries, keys, d), *steps))


def by_rows(op: Op) -> Signature:
    x = op.inputs[0]
    if "axis" in op.attrs:
        return Signature(f"softmax columns{' backward' if 'backward' in op.attrs else ''} {width(op)}", logs(*beside(op)))
    row = op.attrs.get("row", normed(op, x))
    return Signature(f"{op.kind} {width(op)}", (*logs(x.size / row, row), *unaligned(row)))


def normed(op: Op, x: Tensor) -> Number:
    """Elements of a row that is normed: the last axis, or as many as a weight has."""
    for t in op.inputs:
        if 1 < len(t.shape) < len(x.shape) and all(map(_same, t.shape, x.shape[-len(t.shape) :])):
            return t.size
    return x.shape[-1]


def beside(op: Op) -> tuple[Number, Number, Number]:
    """How much lies before the axis that something goes down, how long it is, and how much lies behind it."""
    x, axis = op.inputs[0], op.attrs["axis"]
    behind: Number = 1.0
    for size in x.shape[axis % len(x.shape) + 1 :]:
        behind = behind * size
    row = op.attrs.get("row", x.shape[axis])
    return x.size / (row * behind), row, behind


def over_planes(op: Op) -> bool:
    """Whether a sum down an axis leaves out what lies innermost, too."""
    x, y = op.inputs[0], op.outputs[0]
    return "axis" in op.attrs and bool(y.shape) and not _same(x.shape[-1], y.shape[-1])


def by_planes(op: Op) -> Signature | None:
    x = op.inputs[0]
    if len(x.shape) != 4:
        return None
    layout = f" {op.attrs['layout']}" if op.attrs.get("layout") else ""
    return Signature(f"{op.kind} {width(op)}{layout}", logs(x.shape[0], x.shape[1], x.shape[2] * x.shape[3], op.attrs.get("groups", 1)))


def reduction(op: Op) -> Signature | None:
    x, y = op.inputs[0], op.outputs[0]
    if op.attrs.get("over", "row") == "all":
        return Signature(f"{op.kind} of all {width(op)}", logs(x.size))
    row, kind = x.size / y.size, "sum" if op.kind in ADDED else op.kind
    if over_planes(op):
        return Signature(f"{kind} of planes {width(op)}", logs(y.size, row))
    if "axis" in op.attrs and isinstance(y.size, (int, float)) and y.size >= MANY_COLUMNS:
        return Signature(f"{kind} of columns {width(op)}", logs(y.size, row))  # a stream
    return Signature(f"{op.kind} {width(op)}", (*logs(y.size, row), *unaligned(row), APART * ("axis" in op.attrs)))


def pooled(op: Op) -> Signature:
    x, y = op.inputs[0], op.outputs[0]
    kh, kw = op.attrs["kernel"]
    return Signature(f"{op.kind} {width(op)}", logs(y.size, kh * kw, x.size / y.size))


def joined(op: Op) -> Signature | None:
    """How much, in how many parts, and how long a part lies in one piece."""
    if not op.inputs:  # numbers without an axis count for nothing
        return None
    y, parts = op.outputs[0], op.inputs
    axes = [i for i, size in enumerate(y.shape) if any(len(t.shape) != len(y.shape) or not _same(t.shape[i], size) for t in parts)]
    inner: Number = 1.0
    for size in y.shape[axes[0] + 1 :] if axes else ():
        inner = inner * size
    runs = [inner * t.shape[axes[0]] if axes and len(t.shape) == len(y.shape) else inner for t in parts]
    shortest = runs[0]
    for run in runs[1:]:
        shortest = minimum(shortest, run)
    return Signature(f"cat {width(op)}", (*logs(y.size, len(parts), shortest), *unaligned(*runs[:1])))


def looked_up(op: Op) -> Signature:
    y = op.outputs[0]
    how = f" {op.attrs['how']}" if op.attrs.get("how") else ""
    return Signature(f"{op.kind}{how} {width(op)}", (*logs(y.size / y.shape[-1], y.shape[-1]), *unaligned(y.shape[-1])))


def written(op: Op) -> Signature | None:
    """A signature from the elements touched and how they are addressed; sums that are sorted first follow how many go to each place."""
    if op.attrs.get("accumulate") and op.attrs.get("how") == "put":
        return None
    touched = op.attrs["touched"] if "touched" in op.attrs else op.inputs[1].size
    ways = ("copy", "put", "scatter")
    steps = tuple(APART * (op.attrs.get("how", "put") == way) for way in ways)
    sizes = logs(max(touched, 1), max(touched / op.outputs[0].size, 1))  # how many come to each
    return Signature(f"write {width(op)}", (*sizes, *steps, APART * bool(op.attrs.get("accumulate"))))


def resized(op: Op) -> Signature | None:
    x, y = op.inputs[0], op.outputs[0]
    if len(x.shape) != 4 or op.attrs.get("layout") == "nhwc":
        return None
    bytes_each = x.bytes / x.size
    planes = x.shape[0] * x.shape[1]
    return Signature(f"{op.kind} {op.attrs.get('method', '')}".rstrip(), logs(planes, y.shape[2] * y.shape[3], y.size / x.size, bytes_each))


def sampled(op: Op) -> Signature | None:
    x, y = op.inputs[0], op.outputs[0]
    if len(x.shape) != 4:
        return None
    return Signature("grid_sample", logs(x.shape[1], y.size / y.shape[1], x.bytes / x.size))


def padded(op: Op) -> Signature | None:
    x, y = op.inputs[0], op.outputs[0]
    if len(x.shape) != 4:
        return None
    mode = f" {op.attrs['mode']}" if op.attrs.get("mode") else ""
    return Signature(f"pad{mode} {width(op)}", (*logs(y.size, y.shape[-1], y.size / x.size), *unaligned(y.shape[-1])))


def by_digits(x: Tensor) -> bool:
    """Whether blocks share the rows that a top-k selects from (ATen, TensorTopK.cu, `should_use_multiblock`)."""
    width, rows = x.shape[-1], x.size / x.shape[-1]
    if not isinstance(width, SCALARS) or not isinstance(rows, SCALARS):
        return False
    return bool(width >= next(least for most, least in BY_DIGITS if rows <= most))


def sorted_rows(op: Op) -> Signature:
    """A top-k that keeps all of a row is a sort; many long rows go another way than few or short ones."""
    x, kept = op.inputs[0], op.outputs[0]
    name = "sort" if isinstance(x.size, (int, float)) and kept.size == x.size else "topk digits" if by_digits(x) else "topk"
    return Signature(name, logs(x.size / x.shape[-1], x.shape[-1]))


def spectrum(op: Op) -> Signature:
    row = op.attrs.get("row", op.inputs[0].shape[-1])
    return Signature("fft", (*logs(op.inputs[0].size / row, row), APART * (op.inputs[0].dtype != op.outputs[0].dtype)))


def solved(op: Op) -> Signature:
    """A way of decomposing or solving in all formats together: most of them wait for one column after the other."""
    how = op.attrs["how"]
    of = sizes(op.inputs, how)
    sides = logs(of.sides) if how in SOLVED_FOR else ()
    return Signature(f"solver {how}", (*logs(of.matrices, of.longer, of.shorter), *sides, APART * (op.dtype in DOUBLE)))


def _same(a: Number, b: Number) -> bool:
    return a is b or (isinstance(a, (int, float)) and isinstance(b, (int, float)) and a == b)


def moved(op: Op) -> Signature | None:
    """Copies that read in another order than they write, by how long a piece lies in one go in either; plain ones are streams."""
    if not op.attrs.get("strided"):
        return stream(op) if op.kind == "copy" and op.inputs[:1] and op.inputs[0].dtype == op.outputs[0].dtype else None
    across = op.attrs["strided"] == "columns"
    y = op.outputs[0]
    return Signature(f"strided {'columns ' if across else ''}{width(op)}", (*logs(y.size, y.shape[-1]), *unaligned(y.shape[-1])))


def stream(op: Op) -> Signature | None:
    if not op.inputs or op.attrs.get("rolled"):
        return None
    if op.attrs.get("strided") or not all(_alike(t.shape, op.outputs[0].shape) for t in op.inputs):
        return singly(op)
    return Signature(f"{op.kind} {width(op)}", (*logs(op.outputs[0].size), *unaligned(op.outputs[0].size)))


def singly(op: Op) -> Signature | None:
    """Element by element, whatever is computed: by how much is written, how long a row is, how much of it is read, and in what order."""
    y, read = op.outputs[0], total(t.size for t in op.inputs)
    across = APART * (op.attrs.get("strided") == "columns")
    place = (*logs(y.size, y.shape[-1], read / y.size), across, APART * (op.attrs.get("strided") is True))
    return Signature(f"singly {width(op)}", (*place, *unaligned(y.shape[-1])))


def seldom(op: Op) -> Signature | None:
    """Streams that few rows measure: those of all widths together."""
    plain = stream(op)
    if plain is None or plain.family.startswith("singly"):
        return plain
    return Signature(op.kind, (*plain.place, *logs(op.inputs[0].bytes / op.inputs[0].size)))


def _alike(shape: Sequence[Number], other: Sequence[Number]) -> bool:
    """Whether two shapes are the same but for ones before them; a swept size equals only itself."""
    short, long = sorted((shape, other), key=len)
    more = len(long) - len(short)
    return all(_same(size, 1) for size in long[:more]) and all(map(_same, short, long[more:]))


STREAMS: Sequence[str] = (
    "add", "mul", "relu", "gelu", "gelu_tanh", "silu", "tanh", "sigmoid", "power", "neg", "scale", "shift", "hardtanh", "copy", "rsqrt",
)  # fmt: skip
SELDOM = ("exp", "log", "sin", "cos", "erf", "square", "relu6", "sqrt", "abs", "sub", "div", "greatest", "compare")
UNITS: dict[str, Callable[[Op], Signature | None]] = {"row": by_rows, "plane": by_planes, "result": reduction}
PLACES: dict[str, Callable[[Op], Signature | None]] = {  # kinds that go by more than what their kernels take one by one
    **dict.fromkeys(("linear", "matmul", "bmm"), product), "conv2d": convolution, "conv_transpose2d": transposed,
    "attention": attention, "conv_backward": convolution_backward, "norm_backward": norm_backward,
    "embedding_backward": embedding_backward, "attention_backward": attention_backward,
    **dict.fromkeys(STREAMS, stream), **dict.fromkeys(SELDOM, seldom),
    **dict.fromkeys(("max_pool2d", "avg_pool2d"), pooled),
    **dict.fromkeys(("embedding", "gather"), looked_up), **dict.fromkeys(("copy", "transpose"), moved), "cat": joined, "write": written,
    "upsample": resized, "grid_sample": sampled, "pad": padded, "topk": sorted_rows, "fft": spectrum, "solver": solved,
}  # fmt: skip
