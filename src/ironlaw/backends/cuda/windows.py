"""What capture has no kind for and evidence has rows of: windows put into columns and back, gradients of pooling and resizing.

Each is one of PyTorch's own kernels, a thread for each element, which takes its time whatever the element's width (evidence
h200_sxm/single_calls). By the names under which capture's stand-ins come.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ironlaw.backends.kernel import Kernel
from ironlaw.engine.device.machine import Hardware
from ironlaw.engine.device.types import FORMATS, Op

# A gradient of resizing is added up by atomics: so many of them on one place take as long as an element does by itself, and elements of two
# bytes, which are added in pairs, so many times as long
CROWD, IN_PAIRS = 11.0, 2.3


def im2col(op: Op, machine: Hardware) -> Sequence[Kernel]:
    """One image after the other: a thread for each window and channel writes the window's elements, one by one."""
    x, y = op.inputs[0], op.outputs[0]
    images = x.size / (x.shape[-1] * x.shape[-2] * x.shape[-3]) if len(x.shape) > 3 else 1.0
    taps = y.shape[-2] / x.shape[-3]
    return Kernel("im2col", op.work.bytes / images, depth=taps, count=images), Kernel("tiny", 0.0)


def col2im(op: Op, machine: Hardware) -> Sequence[Kernel]:
    """A thread for each pixel looks for all windows that hold it."""
    return (Kernel("col2im", op.work.bytes, rows=op.inputs[0].size),)


def pool_backward(op: Op, machine: Hardware) -> Sequence[Kernel]:
    """A thread for each pixel looks for the windows that hold it, however few they are."""
    return (Kernel("avg_pool2d_backward", op.work.bytes, rows=op.outputs[0].size),)


def nearest_backward(op: Op, machine: Hardware) -> Sequence[Kernel]:
    return (Kernel("upsample_nearest_backward", op.work.bytes, rows=op.inputs[0].size),)


def bilinear_backward(op: Op, machine: Hardware) -> Sequence[Kernel]:
    """Zeros, then each element is added to the four pixels it came from."""
    g, y = op.inputs[0], op.outputs[0]
    each = (1.0 + g.size / y.size / CROWD) * (IN_PAIRS if FORMATS[g.dtype] < 4.0 else 1.0)
    return Kernel("upsample_bilinear_backward", op.work.bytes, rows=each * g.size), Kernel("fill", y.bytes)


def sample_backward(op: Op, machine: Hardware) -> Sequence[Kernel]:
    """Zeros; then a thread for each place of the grid adds its gradient to the pixels around it, four in a plane, and reads them for that
    of the place itself, channel by channel."""
    g, x = op.inputs[:2]
    wanted = 1.0 if op.outputs[0].shape == x.shape else 0.0
    each = (1.0 + g.size / x.size / CROWD) * (IN_PAIRS if FORMATS[g.dtype] < 4.0 else 1.0) * 2.0 ** (len(x.shape) - 4)
    added = Kernel("upsample_bilinear_backward", op.work.bytes, rows=each * g.size, count=wanted)
    return Kernel("grid_sample", op.work.bytes, depth=x.shape[1]), added, Kernel("fill", x.bytes, count=wanted)


def unfold_backward(op: Op, machine: Hardware) -> Sequence[Kernel]:
    """Zeros and places, then windows are added up."""
    x, y = op.inputs[0], op.outputs[0]
    return Kernel("unfold_backward", op.work.bytes, rows=x.size), Kernel("fill", y.bytes), Kernel("tiny", 0.0)


STOOD_IN: dict[str, Callable[[Op, Hardware], Sequence[Kernel]]] = {
    "im2col": im2col, "col2im": col2im, "avg_pool2d_backward": pool_backward, "unfold_backward": unfold_backward,
    "grid_sampler_backward": sample_backward,
    "upsample_nearest2d_backward": nearest_backward, "upsample_bilinear2d_backward": bilinear_backward,
}  # fmt: skip
WORDS = {  # in the name of the kernel that works, where others are beside it
    "im2col": "im2col_kernel", "unfold_backward": "unfold_backward", "upsample_bilinear2d_backward": "upsample_bilinear2d_backward",
}  # fmt: skip
FALLBACK = {
    "im2col": "copy", "col2im": "gather_elements", "avg_pool2d_backward": "max_pool2d_backward", "unfold_backward": "gather_elements",
    "upsample_nearest_backward": "gather_elements", "upsample_bilinear_backward": "write_put",
}  # fmt: skip
