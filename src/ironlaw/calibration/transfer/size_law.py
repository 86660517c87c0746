"""The sizes that the laws ask for, from an op where it has them, or else from what is known of its kernel."""

from __future__ import annotations

from ironlaw.backends.kernel import Kernel
from ironlaw.calibration.transfer.product_law import OUTPUTS
from ironlaw.engine.arrays import Number, ceil, maximum
from ironlaw.engine.device.sweep import points
from ironlaw.engine.device.types import Op
from ironlaw.engine.device.work import category

HEAVY = ("contraction", "attention")


def heavy(op: Op) -> Op:
    """The product or attention inside a fused op; any other op as it is."""
    return next((part for part in op.attrs.get("parts", ()) if category(part.kind) in HEAVY), op)


def product_sizes(op: Op, kernel: Kernel) -> tuple[Number, Number, Number, Number]:
    """(batch, m, n, k). A kernel inside an op of another kind is taken for a square."""
    main = heavy(op)
    if main.kind in ("linear", "matmul", "bmm", "quantised_linear"):
        x, w, y = main.inputs[0], main.inputs[1], main.outputs[0]
        n, k = points(y.shape[-1]), points(x.shape[-1])
        if main.kind == "bmm" or (len(w.shape) > 2 and main.kind != "quantised_linear"):
            rows = points(y.shape[-2])
            return points(y.size) / (n * rows), rows, n, k
        return 1.0, points(y.size) / n, n, k
    if main.kind == "conv2d":
        w, y = main.inputs[1], main.outputs[0]
        groups = points(main.inputs[0].shape[1]) / points(w.shape[1])
        n = points(y.shape[1]) / groups
        return groups, points(y.size) / (n * groups), n, points(w.shape[1]) * points(w.shape[2]) * points(w.shape[3])
    k = maximum(points(kernel.depth), 16.0)
    outputs = maximum(points(kernel.flops) / (2.0 * k), 1.0)
    return 1.0, outputs**0.5, outputs**0.5, k


def winograd_sizes(op: Op) -> tuple[Number, Number, Number, Number] | None:
    """(tiles, groups, channels in, channels out) of a convolution that Winograd's filtering can do: 3×3 of stride 1; None of any other."""
    main = heavy(op)
    plain = all(main.attrs.get(name, 1) in (1, (1, 1), [1, 1]) for name in ("stride", "dilation"))
    if main.kind != "conv2d" or not plain or tuple(main.inputs[1].shape[2:]) != (3, 3):
        return None
    w, y, x = main.inputs[1], main.outputs[0], main.inputs[0]
    groups = points(x.shape[1]) / points(w.shape[1])
    tiles = points(y.shape[0]) * ceil(points(y.shape[2]) / OUTPUTS) * ceil(points(y.shape[3]) / OUTPUTS)
    return tiles, groups, points(w.shape[1]), points(y.shape[1]) / groups


def attention_sizes(op: Op) -> tuple[Number, Number, Number, Number, Number]:
    """(heads, groups of keys and values, queries, keys, width of a head), heads of all sequences together."""
    main = heavy(op)
    first = 1 if main.kind == "attention_backward" else 0
    q, k = main.inputs[first], main.inputs[first + 1]
    batch = points(q.shape[0])
    return batch * points(q.shape[1]), batch * points(k.shape[1]), points(q.shape[-2]), points(k.shape[-2]), points(q.shape[-1])
