"""Transposed convolutions as cuDNN runs them: the gradient of a convolution's input, in NHWC."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from ironlaw.backends.cuda.conv import CONVERTED
from ironlaw.backends.cuda.evidence import LAYOUT, seconds_of, tiny_seconds
from ironlaw.backends.evidence_ops import OPS
from ironlaw.backends.kernel import Kernel, Sample
from ironlaw.backends.rows import Row
from ironlaw.engine.device.machine import Hardware
from ironlaw.engine.device.types import Op

CONVERSIONS = (*LAYOUT, "nchwToFoldedNhwc", "foldedNhwcToNchw", "foldedNhwcToNhwc", "nhwcToFoldedNhwc", "AddPadding")


def main(op: Op) -> Kernel:
    w = op.inputs[1]
    name = "conv_transpose" if op.dtype in ("fp16", "bf16") else f"conv_transpose_{op.dtype}"
    return Kernel(name, op.work.bytes, op.work.matmul_flops, depth=w.shape[0] * w.shape[2] * w.shape[3])


def conv_transpose(op: Op, machine: Hardware) -> Sequence[Kernel]:
    x, w, y = op.inputs[0], op.inputs[1], op.outputs[0]
    bias = (Kernel("broadcast", 2 * y.bytes, rows=y.size),) if len(op.inputs) > 2 else ()
    if op.attrs.get("layout") == "nhwc":
        return (main(op), *bias)
    return (
        main(op), Kernel("layout", 2 * x.bytes, rows=x.shape[0] * x.shape[1]),
        Kernel("layout", 2 * y.bytes, rows=y.shape[0] * y.shape[1]), Kernel("layout_weight", 2 * w.bytes), *bias,
    )  # fmt: skip


def compiled(op: Op, machine: Hardware) -> Sequence[Kernel]:
    """As a convolution: in NHWC but for the weight; a bias is added by whatever reads the result."""
    if op.attrs.get("layout") == "nchw":
        return tuple(k for k in conv_transpose(op, machine) if k.curve != "broadcast")
    return (main(op),) if CONVERTED in op.attrs else (main(op), Kernel("layout", 2 * op.inputs[1].bytes))


def samples(row: Row, machine: Hardware) -> Iterator[Sample]:
    """The convolution without its conversions."""
    if row.busy_s:
        yield Sample(replace(main(OPS[row.op](row.params)), count=1.0), row.busy_s - tiny_seconds(row) - seconds_of(row, CONVERSIONS))


EAGER = {"conv_transpose2d": conv_transpose}
COMPILED = {"conv_transpose2d": compiled}
ROWS = {"conv_transpose2d": samples}
FALLBACK = {"conv_transpose": "conv", "conv_transpose_tf32": "conv_tf32", "conv_transpose_fp32": "conv_fp32"}
