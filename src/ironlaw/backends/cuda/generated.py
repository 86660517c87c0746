"""Kernels that torch.compile writes for a CUDA device: by their reduction, or a plain stream whatever the layout."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from ironlaw.backends.cuda import norm
from ironlaw.backends.cuda.chip import instruction_bytes
from ironlaw.backends.cuda.norm import joining, sums_columns
from ironlaw.backends.evidence_ops import OPS
from ironlaw.backends.kernel import Kernel, Sample
from ironlaw.backends.rows import Row
from ironlaw.engine.arrays import Number, is_array, maximum, total, where
from ironlaw.engine.device.fusion_rules import same_size
from ironlaw.engine.device.machine import Hardware
from ironlaw.engine.device.types import Op
from ironlaw.engine.device.work import UNROLLED, category, traits

SECTOR = 32.0  # bytes, the least that is fetched from memory
LONG_GROUP = 8192  # elements of a group from which torch.compile sums it in parts


# Instructions for an element, beyond reading and writing it, in FP32 as Triton compiles them: divisions, roots and library functions are
# many. In proportion to each other after gelu_tanh and bn_relu of evidence h200_sxm/machine, which arithmetic binds; others as their
# work is counted.
INSTRUCTIONS = {
    **norm.INSTRUCTIONS, "gelu": 26.0, "gelu_tanh": 26.0, "silu": 12.0, "sigmoid": 11.0, "tanh": 20.0, "erf": 20.0, "cos": 32.0,
    "sin": 32.0, "exp": 6.0, "log": 8.0, "sqrt": 8.0, "rsqrt": 6.0, "div": 8.0, "power": 20.0,
}  # fmt: skip
FUNCTIONS = {  # of rows: what each function does
    "relu": ("relu",), "mul_add_relu": ("mul", "add", "relu"), "gelu_tanh": ("gelu_tanh",), "silu_mul": ("silu", "mul"),
    "bn_relu": ("batch_norm", "relu"), "bn_add_relu": ("batch_norm", "add", "relu"),
}  # fmt: skip


def instructions(parts: Sequence[Op], again: Sequence[tuple[Op, Number]] = ()) -> Number:
    """Of the ops in a kernel, and of what it computes again for each element that it makes."""
    return total(map(_own, parts)) + total(_own(p) / p.outputs[0].size * size for p, size in again)


def _own(op: Op) -> Number:
    return INSTRUCTIONS[op.kind] * op.outputs[0].size if op.kind in INSTRUCTIONS else op.work.vector_flops


def generated(op: Op, machine: Hardware) -> Sequence[Kernel]:
    """A kernel that the compiler writes by itself: as its reduction does, or a plain stream whatever the layout."""
    return written(op, (op,), machine)


def written(op: Op, parts: Sequence[Op], machine: Hardware) -> Sequence[Kernel]:
    """By its first reduction, or by a group norm among them. A row kernel's arithmetic counts as the bytes that could move meanwhile."""
    if long := [p for p in parts if traits(p.kind).grouped]:
        return _groups(op, long[0])
    rows = [p for p in parts if category(p.kind) in ("rowwise", "reduction") and not sums_columns(p) and UNROLLED not in p.attrs]
    if rows:
        first, x = rows[0], rows[0].inputs[0]
        many = first.outputs[0].size if category(first.kind) == "reduction" else x.size / first.attrs.get("row", x.shape[-1])
        whole = any(same_size(t, x) for t in op.outputs)  # a row that is summed and written again
        name = "fused_reduction" if category(first.kind) == "reduction" and not whole else "fused_rows"
        joined = [joining(p) for p in rows if p.attrs.get("over", "row") == "all"] + [
            Kernel("tiny", 0.0) for p in rows if p.attrs.get("split")
        ]
        busy = instruction_bytes(machine) * instructions(parts, op.attrs.get("again", ()))
        return (Kernel(name, maximum(op.work.bytes, busy), op.work.flops, many), *joined)
    return (Kernel("fused", op.work.bytes, instructions(parts, op.attrs.get("again", ()))),)


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


COMPILED = {"max_pool2d": generated, "avg_pool2d": generated}
ROWS = {"generated": generated_samples, "generated_norm": generated_norm_samples}
FALLBACK = {
    "fused": "elementwise", "fused_rows": "rms_norm", "fused_reduction": "mean", "group_sums": "fused_reduction",
    "group_sums_nhwc": "fused_reduction", "group_sums_uneven": "fused_reduction", "group_affine": "fused", "group_turned": "fused",
}  # fmt: skip
