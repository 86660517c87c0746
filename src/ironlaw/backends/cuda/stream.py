"""Streams on a CUDA device: element-wise ops, copies, lookups, windows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from ironlaw.backends.evidence_ops import OPS
from ironlaw.backends.kernel import Kernel, Sample
from ironlaw.backends.rows import Row
from ironlaw.engine.arrays import Number, is_array
from ironlaw.engine.device.machine import Hardware
from ironlaw.engine.device.types import FORMATS, Op


def stream(op: Op, machine: Hardware) -> Sequence[Kernel]:
    """Each tensor once: element-wise ops, copies, lookups."""
    if op.work.launches == 0:
        return ()
    if op.attrs.get("rolled"):  # one axis after the other
        return (Kernel("roll", op.work.bytes, count=float(op.attrs["rolled"])),)
    return (Kernel(_stream_curve(op), op.work.bytes, op.work.flops),)


def _stream_curve(op: Op) -> str:
    if op.attrs.get("strided"):
        return "strided_columns" if op.attrs["strided"] == "columns" else "strided"
    if op.kind == "cast" and FORMATS[op.outputs[0].dtype] > FORMATS[op.inputs[0].dtype]:
        return "cast_up"  # to a wider format: PyTorch's slower, unvectorised kernel
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


def pool(op: Op, machine: Hardware) -> Sequence[Kernel]:
    """A thread for each output walks its window: the outputs cost by themselves."""
    return (Kernel(op.kind, op.work.bytes, rows=op.outputs[0].size),)


def pad(op: Op, machine: Hardware) -> Sequence[Kernel]:
    """Filled with zeros, then copied into; padding by nothing is a plain copy."""
    if op.inputs[0].shape == op.outputs[0].shape:
        return (Kernel("copy", op.work.bytes),)
    return (Kernel("fill", op.outputs[0].bytes), Kernel("strided", op.work.bytes))


def roll_samples(row: Row, machine: Hardware) -> Iterator[Sample]:
    """One axis after the other, a launch each."""
    kernel = stream(OPS[row.op](row.params), machine)[0]
    if row.busy_s:
        yield Sample(replace(kernel, count=1.0), row.busy_s / kernel.count)


EAGER = {"pad": pad, "avg_pool2d": pool, "max_pool2d": pool}
ROWS = {"roll": roll_samples}
FALLBACK = {
    "transpose": "strided", "gather": "embedding", "avg_pool2d": "max_pool2d", "relu6": "hardtanh", "square": "power", "cube": "power",
    "shift": "scale", "sub": "add", "div": "mul", "broadcast_row": "broadcast", "strided_columns": "strided", "roll": "strided",
}  # fmt: skip
