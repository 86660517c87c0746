"""Products with weights stored in INT8 or INT4, as PyTorch runs them on a CUDA device."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from ironlaw.backends.cuda.gemm import matrix
from ironlaw.backends.cuda.moe import grouped_matrix
from ironlaw.backends.evidence_ops import stored_product
from ironlaw.backends.kernel import Kernel, Sample
from ironlaw.backends.rows import Row
from ironlaw.engine.device.machine import Hardware
from ironlaw.engine.device.types import FORMATS, Op


def linear(op: Op, machine: Hardware) -> Sequence[Kernel]:
    """As the plain product; PyTorch's own kernels by their own curves, INT8's on FP32 with conversions around it."""
    if op.attrs.get("kernel") != "library":
        return matrix(op, machine)
    x, w, y = op.inputs[0], op.inputs[1], op.outputs[0]
    main = Kernel(f"weight_{w.dtype}", op.work.bytes, op.work.matmul_flops, depth=w.shape[-1])
    if w.dtype == "int4":
        return (main,)
    wide = FORMATS["fp32"]  # what the kernel computes in
    return (
        Kernel("cast", x.bytes + x.size * wide), Kernel("cast", op.inputs[2].bytes * (1.0 + wide / FORMATS[x.dtype])), main,
        Kernel("cast", y.size * wide + y.bytes),
    )  # fmt: skip


def stored_samples(row: Row, machine: Hardware) -> Iterator[Sample]:
    """PyTorch's own kernel without the conversions around it."""
    if row.error:
        return
    (main,) = (k for k in linear(stored_product(row.op, row.params), machine) if k.curve.startswith("weight_"))
    yield Sample(replace(main, count=1.0), max(k.seconds for k in row.kernel_times))


EAGER = {"quantised_linear": linear, "quantised_grouped_matmul": grouped_matrix}
ROWS = dict.fromkeys(("weight_int8_mm", "weight_int4_mm"), stored_samples)
