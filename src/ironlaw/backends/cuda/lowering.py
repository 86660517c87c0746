"""Op -> kernels, and rows of evidence -> samples of them, by the tables of all families together."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from ironlaw.backends.cuda import (
    attention,
    backward,
    conv,
    gemm,
    generated,
    moe,
    norm,
    quantised,
    recurrent,
    solvers,
    stream,
    transposed,
    windows,
)
from ironlaw.backends.cuda.evidence import Lowering, Samples, by_name, plain
from ironlaw.backends.evidence_ops import OPS
from ironlaw.backends.inductor import WRITTEN
from ironlaw.backends.kernel import Kernel, Sample, launched
from ironlaw.backends.rows import Row
from ironlaw.engine.device.fusion_rules import PER_ELEMENT
from ironlaw.engine.device.machine import Hardware
from ironlaw.engine.device.types import Op
from ironlaw.engine.device.work import STAND_IN, UNCOMPILED, category

FAMILIES = (gemm, conv, transposed, attention, norm, stream, generated, moe, recurrent, backward, quantised, solvers, windows)
EAGER: dict[str, Lowering] = {kind: lower for family in FAMILIES for kind, lower in getattr(family, "EAGER", {}).items()}
COMPILED: dict[str, Lowering] = {kind: lower for family in FAMILIES for kind, lower in getattr(family, "COMPILED", {}).items()}
ROWS: dict[str, Samples] = {name: samples for family in FAMILIES for name, samples in getattr(family, "ROWS", {}).items()}
FALLBACK: dict[str, str] = {name: other for family in FAMILIES for name, other in getattr(family, "FALLBACK", {}).items()}
ESTIMATES: dict[str, dict[str, float]] = conv.ESTIMATES | recurrent.ESTIMATES


# kinds that no sweep measures in every format
GRADIENTS = ("conv_backward", "embedding_backward", "batch_norm_train", "batch_norm_backward", "matmul")
# curves of single kernels that few sweeps measure, and models run in every shape: sums down short columns, products of few rows
WITHIN = ("sum_down", "bmm_fp32_thin", "bmm_small_fp32", "bmm_small", "bmv", "bmv_odd")


def lower(op: Op, machine: Hardware, mode: str) -> tuple[Kernel, ...]:
    if op.kind == "fused":
        return launched(_fused(op, machine))
    if op.attrs.get(STAND_IN) in windows.STOOD_IN and mode == "eager":
        return launched(windows.STOOD_IN[op.attrs[STAND_IN]](op, machine))
    lowering = None
    if mode != "eager" and UNCOMPILED not in op.attrs:
        lowering = COMPILED.get(op.kind) or (generated.generated if category(op.kind) in WRITTEN else None)
    return launched((lowering or EAGER.get(op.kind, stream.stream))(op, machine))


def left_to_library(op: Op) -> bool:
    """Whether a compiled graph calls the library for an op of this kind, as eager code does."""
    return op.kind != "fused" and op.kind not in COMPILED and category(op.kind) not in (*WRITTEN, "free")


def _fused(op: Op, machine: Hardware) -> Sequence[Kernel]:
    """Several ops in one kernel; a contraction among them is a library's."""
    parts: tuple[Op, ...] = op.attrs["parts"]
    heavy = [p for p in parts if category(p.kind) in ("contraction", "attention")]
    if not heavy:
        return generated.written(op, parts, machine)
    main, *rest = lower(heavy[0], machine, "compiled")
    return (replace(main, data=op.work.bytes), *rest)


def measured(row: Row) -> Op | None:
    return OPS[row.op](row.params) if row.kind == "op" and row.op in OPS and row.busy_s and not row.error else None


def within_models(row: Row, machine: Hardware) -> Iterator[Sample]:
    """What was seen of an op inside a model: gradients by the names of their kernels; else a sample where it goes element by element in
    one kernel. Of any other op its family learns."""
    op = OPS[row.op](row.params)
    if op.kind in GRADIENTS:
        yield from ROWS[op.kind](row, machine) if op.kind in ROWS else plain(row, lower(op, machine, "eager"), row.busy_s)
        return
    kernels = lower(op, machine, "eager")
    if not row.busy_s or len(kernels) != 1 or STAND_IN in op.attrs:
        return
    if category(op.kind) in PER_ELEMENT:
        yield Sample(kernels[0], row.busy_s)
    elif kernels[0].curve in WITHIN:
        yield Sample(replace(kernels[0], count=1.0), row.busy_s / kernels[0].count)


# of what was called by itself: words in the names of kernels -> their curves
CALLED = {
    "batch_norm": norm.batch_norm_samples, "norm_backward": backward.norm_samples, "batch_norm_train": backward.batch_norm_samples,
    "conv_backward": backward.conv_samples, "write": stream.write_samples,
}  # fmt: skip


def called(row: Row, machine: Hardware) -> Iterator[Sample]:
    """What a single call says of a kernel that works alone, or has a name that tells."""
    op = OPS[row.op](row.params)
    if op.kind in ("conv2d", "conv_backward") and op.inputs[-1].shape[1] > 1:
        return  # volumes among them, whose kernels are called as those of images: only their neighbours learn of them
    kernels = lower(op, machine, "eager")
    word = windows.WORDS.get(op.attrs.get(STAND_IN, ""))
    if word:
        yield from by_name(row, kernels, {word: kernels[0].curve})
    elif op.kind in CALLED:
        yield from CALLED[op.kind](row, machine)
    elif kernels[0].count == 1 and op.kind != "embedding_backward":
        yield from plain(row, kernels, row.busy_s)


def samples(rows: Iterable[Row], machine: Hardware) -> Iterator[Sample]:
    """A row is turned into the engine's op and lowered like any other, so that a curve is fitted to exactly the quantities
    it will be evaluated with. Where an op is several kernels, the row's profile says what each took.
    """
    for row in rows:
        if row.kind != "op" or row.error:
            continue
        if row.op == "captured":
            yield from within_models(row, machine)
        elif row.op == "called":
            yield from called(row, machine)
        elif row.op in ROWS:
            yield from ROWS[row.op](row, machine)
        elif row.op in OPS:
            yield from plain(row, lower(OPS[row.op](row.params), machine, "eager"), row.busy_s)
