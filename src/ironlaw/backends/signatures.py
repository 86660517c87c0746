"""What of an op's shape a library's choice of kernel may depend on: a family of like ops, and numbers in which neighbours are near.

A size counts by its logarithm to the base of 2, so that doubling is a step of 1 whatever the size. A yes or no that changes the kernel
(a row that fills no vector, a causal mask) is a step of `APART`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ironlaw.engine.arrays import Number, log2, where
from ironlaw.engine.device.types import Op, Tensor
from ironlaw.formats import BYTES

APART = 2.0
FILLED = 8  # elements that fill a vector of 16 bytes in a two-byte format


@dataclass(frozen=True, slots=True)
class Signature:
    """A family, and where in it an op lies."""

    family: str
    place: tuple[Number, ...]


def signature(op: Op) -> Signature | None:
    """None for a kind of op that is not compared with its neighbours."""
    place = PLACES.get(op.kind)
    if place is None or "parts" in op.attrs:
        return None
    return place(op)


def width(op: Op) -> str:
    """Formats of the same width run alike, but for TF32 and integers."""
    return op.dtype if op.dtype in ("tf32", "fp8", "int8", "int4") else f"{8 * BYTES[op.inputs[0].dtype]:g} bit"


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


def convolution(op: Op) -> Signature:
    x, w, y = op.inputs[0], op.inputs[1], op.outputs[0]
    c, out, each = x.shape[1], y.shape[1], w.shape[1]
    plane, taps = y.shape[2] * y.shape[3], w.shape[2] * w.shape[3]
    stride, dilation = op.attrs.get("stride", 1), op.attrs.get("dilation", 1)
    layout = "nhwc" if op.attrs.get("layout") == "nhwc" else "nchw"
    if each == 1 and c > 1:
        return Signature(f"depthwise {width(op)} {layout}", (*logs(x.shape[0], c, plane, taps, stride), *unaligned(y.shape[3])))
    place = (*logs(x.shape[0], each, out, plane, taps, stride, c / each, dilation), *unaligned(each, plane), APART * (taps == 1))
    return Signature(f"conv {width(op)} {layout}", place)


def attention(op: Op) -> Signature:
    q, k = op.inputs[0], op.inputs[1]
    queries, keys, d = q.shape[-2], k.shape[-2], q.shape[-1]
    steps = (APART * bool(op.attrs.get("causal")), APART * (len(op.inputs) > 3), APART * (op.attrs.get("path") == "math"))
    decoding = isinstance(queries, (int, float)) and queries == 1
    family = f"decode {width(op)}" if decoding else f"attention {width(op)}"
    return Signature(family, (*logs(q.shape[0] * q.shape[1], q.shape[1] / k.shape[1], queries, keys, d), *steps))


def by_rows(op: Op) -> Signature:
    x = op.inputs[0]
    row = op.attrs.get("row", x.shape[-1])
    return Signature(f"{op.kind} {width(op)}", (*logs(x.size / row, row), *unaligned(row)))


def by_planes(op: Op) -> Signature | None:
    x = op.inputs[0]
    if len(x.shape) != 4:
        return None
    layout = f" {op.attrs['layout']}" if op.attrs.get("layout") else ""
    return Signature(f"{op.kind} {width(op)}{layout}", logs(x.shape[0], x.shape[1], x.shape[2] * x.shape[3], op.attrs.get("groups", 1)))


def stream(op: Op) -> Signature | None:
    uneven = not op.inputs or any(_size(t) != _size(op.outputs[0]) for t in op.inputs)
    if uneven or any(op.attrs.get(name) for name in ("strided", "rolled")):
        return None
    return Signature(f"{op.kind} {width(op)}", (*logs(op.outputs[0].size), *unaligned(op.outputs[0].size)))


def _size(t: Tensor) -> Number:
    return t.size if isinstance(t.size, (int, float)) else None


STREAMS: Sequence[str] = (
    "add", "mul", "relu", "gelu", "gelu_tanh", "silu", "tanh", "sigmoid", "power", "neg", "scale", "shift", "hardtanh", "copy", "rsqrt",
)  # fmt: skip
PLACES: dict[str, Callable[[Op], Signature | None]] = {
    **dict.fromkeys(("linear", "matmul", "bmm"), product), "conv2d": convolution, "attention": attention,
    **dict.fromkeys(("layer_norm", "rms_norm", "softmax", "log_softmax"), by_rows),
    **dict.fromkeys(("batch_norm", "group_norm"), by_planes), **dict.fromkeys(STREAMS, stream),
}  # fmt: skip
