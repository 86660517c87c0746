"""1×1 convolutions with stride 1: a matrix product for each image, on NCHW as it stands.

What lies innermost decides the kernel: the plane of an image and the channels of the weight, or the channels alone where a plane is one
pixel. Rows of 16 bytes take the fast kernels, even ones older ones, odd ones the slowest. Several images with odd planes are converted to
NHWC, in TF32 only where there are many channels; channels that fill no vector are filled up with zeros then.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ironlaw.backends.cuda.chip import split_tiles
from ironlaw.backends.kernel import Kernel, multiple
from ironlaw.engine.arrays import is_array, where
from ironlaw.engine.device.machine import Hardware
from ironlaw.engine.device.types import Op, Tensor

VECTORS = {"fp16": 8, "bf16": 8, "tf32": 4}  # elements of 16 bytes
SPLIT_FROM = 576  # channels from which the product of one image is shared out along them
TILE = 64
WIDE = 1024  # channels from which images are converted in TF32


def is_pointwise(x: Tensor, w: Tensor, y: Tensor) -> bool:
    """Whether each pixel of the result depends on one pixel, in a format that tensor cores take."""
    return bool(w.shape[2] == w.shape[3] == 1 and x.shape[2:] == y.shape[2:] and w.shape[1] == x.shape[1])


def alignment(x: Tensor, fmt: str) -> str:
    """How the rows of both operands are aligned: "", "_even" or "_odd"; in TF32 a row that fills no vector is odd."""
    plane = x.shape[2] * x.shape[3]
    rows = (x.shape[1],) if _single(x) else (plane, x.shape[1])
    if all(multiple(row, VECTORS[fmt]) for row in rows):
        return ""
    return "_even" if fmt != "tf32" and all(multiple(row, 2) for row in rows) else "_odd"


def direct(op: Op) -> Kernel:
    """The product on images as they stand."""
    x = op.inputs[0]
    return Kernel(product_curve(x, op.dtype), op.work.bytes, op.work.matmul_flops, depth=x.shape[1])


def product_curve(x: Tensor, fmt: str) -> str:
    return f"conv_1x1{alignment(x, fmt)}{'_tf32' if fmt == 'tf32' else ''}"


def pointwise(op: Op, machine: Hardware) -> Sequence[Kernel]:
    x, w, y = op.inputs[0], op.inputs[1], op.outputs[0]
    n, c, plane = x.shape[0], x.shape[1], y.shape[2] * y.shape[3]
    fmt = "_tf32" if op.dtype == "tf32" else ""
    plain = direct(op)
    if not alignment(x, op.dtype):
        return (plain,)
    tiles = (y.shape[1] + TILE - 1) // TILE * ((plane + TILE - 1) // TILE)
    few = (n == 1) & (tiles <= split_tiles(machine)) & (not _single(x) and multiple(c, VECTORS[op.dtype]) and c >= SPLIT_FROM)
    split = Kernel("tiny", 0.0, count=where(few, 1.0, 0.0))
    if multiple(plane, 2) or _single(x) or (fmt and c < WIDE):
        return plain, split
    several = where(n > 1, 1.0, 0.0)
    padded = 0.0 if multiple(c, VECTORS[op.dtype]) else several
    return (
        replace(plain, count=1.0 - several), split,
        Kernel("layout", 2 * x.bytes, rows=n * c, count=several), Kernel("layout_weight", 2 * w.bytes, count=padded),
        Kernel(f"conv{fmt}", op.work.bytes, op.work.matmul_flops, depth=c, count=several),
        Kernel("layout", 2 * y.bytes, rows=n * y.shape[1], count=several), Kernel("tiny", 0.0, count=2.0 * padded),
    )  # fmt: skip


def multiplies_backward(x: Tensor, w: Tensor, y: Tensor, fmt: str) -> bool:
    """Whether the gradients are products as well: channels that fill no vector are filled up, and everything converted, unless a plane is
    one pixel."""
    if fmt not in VECTORS or not is_pointwise(x, w, y):
        return False
    return _single(x) or all(multiple(channels, VECTORS[fmt]) for channels in w.shape[:2])


def pointwise_backward(op: Op, machine: Hardware) -> Sequence[Kernel]:
    """A product for the input's gradient, where it is wanted, and one for the weight's, whose parts are joined."""
    gradient, x, w = op.inputs
    of_input, of_weight = wanted(op)
    each, data = op.work.matmul_flops / (of_input + of_weight), gradient.bytes + x.bytes + w.bytes
    curve, plane = product_curve(x, op.dtype), x.shape[2] * x.shape[3]
    weights = Kernel(curve, data, each, depth=plane)
    if not alignment(x, op.dtype):
        weights = Kernel("conv_wgrad_tf32" if op.dtype == "tf32" else "conv_wgrad", data, each, depth=x.shape[0] * plane)
    return Kernel(curve, data, each, depth=w.shape[0], count=of_input), replace(weights, count=of_weight), Kernel("tiny", 0.0)


def wanted(op: Op) -> tuple[float, float]:
    """Whether the gradient of a convolution's input is wanted, and that of its weight: 1 or 0."""
    if op.attrs["wanted"] == 2:
        return 1.0, 1.0
    of_input = op.outputs[0].shape == op.inputs[1].shape != op.inputs[2].shape
    return (1.0, 0.0) if of_input else (0.0, 1.0)


def _single(x: Tensor) -> bool:
    """Whether a plane is one pixel."""
    return all(not is_array(size) and size == 1 for size in x.shape[2:4])


FALLBACK = {
    "conv_1x1_even": "conv_1x1", "conv_1x1_odd": "bmm_odd", "conv_1x1_odd_tf32": "conv_1x1_tf32", "conv_1x1_tf32": "conv_tf32",
}  # fmt: skip
