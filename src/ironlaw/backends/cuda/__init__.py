"""PyTorch on a CUDA device: op -> kernels, by families of ops, one file each.

Counted on real traces (evidence h200_sxm/machine). What matters most:
- a convolution on NCHW tensors runs in NHWC: its input, its weight (unless 1×1) and its output are converted, a kernel
  each; a 1×1 convolution with stride 1 is a matrix product on NCHW as it stands when a plane is a multiple of 8 elements;
- a matrix whose rows are not a multiple of 8 elements (16 bytes in FP16) goes to an older, slower kernel;
- batch norm is three kernels (two of them tiny), attention two (one clears a counter), a very large matmul two; torch.compile
  keeps convolutions in NHWC throughout, so only k×k weights are converted.

A condition on a swept size can't choose one path for all points: each path's kernels get a `count` of 0 or 1 per point.

A family's file has EAGER and COMPILED (op kind -> lowering), ROWS (op of an evidence row -> samples of its kernels) and FALLBACK
(a curve that was not measured -> the one whose work is most alike).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from types import MappingProxyType

from ironlaw.backends.backend import Backend
from ironlaw.backends.cuda import attention, backward, conv, gemm, generated, layout, moe, norm, quantised, recurrent, stream, transposed
from ironlaw.backends.cuda.evidence import Lowering, Samples, plain
from ironlaw.backends.evidence_ops import OPS
from ironlaw.backends.inductor import TRITON, WRITTEN
from ironlaw.backends.kernel import Kernel, Sample, launched
from ironlaw.backends.rows import Row
from ironlaw.backends.signatures import Signature
from ironlaw.engine.device.machine import Hardware
from ironlaw.engine.device.types import Graph, Op
from ironlaw.engine.device.work import category, with_attrs

FAMILIES = (gemm, conv, transposed, attention, norm, stream, generated, moe, recurrent, backward, quantised)
EAGER: dict[str, Lowering] = {kind: lower for family in FAMILIES for kind, lower in getattr(family, "EAGER", {}).items()}
COMPILED: dict[str, Lowering] = {kind: lower for family in FAMILIES for kind, lower in getattr(family, "COMPILED", {}).items()}
ROWS: dict[str, Samples] = {name: samples for family in FAMILIES for name, samples in getattr(family, "ROWS", {}).items()}
FALLBACK: dict[str, str] = {name: other for family in FAMILIES for name, other in getattr(family, "FALLBACK", {}).items()}


# PyTorch sets torch.backends.cudnn.allow_tf32 when it starts; torch.set_float32_matmul_precision("high") adds the products
CONVOLUTIONS = ("conv2d", "conv_transpose2d", "conv_backward", "recurrent")
PRODUCTS = ("linear", "matmul", "bmm", "grouped_matmul")


class Cuda(Backend):
    name = "cuda"
    dispatch = "queued"
    rules = TRITON
    caches = ("l2_bytes", "l3_bytes")
    fallback = FALLBACK
    narrowed = MappingProxyType({"default": CONVOLUTIONS, "tf32": (*CONVOLUTIONS, *PRODUCTS)})

    def lower(self, op: Op, machine: Hardware, mode: str) -> tuple[Kernel, ...]:
        if op.kind == "fused":
            return launched(self._fused(op, machine))
        lower = None
        if mode != "eager":
            lower = COMPILED.get(op.kind) or (generated.generated if category(op.kind) in WRITTEN else None)
        return launched((lower or EAGER.get(op.kind, stream.stream))(op, machine))

    def _fused(self, op: Op, machine: Hardware) -> Sequence[Kernel]:
        """Several ops in one kernel; a contraction among them is a library's."""
        parts: tuple[Op, ...] = op.attrs["parts"]
        heavy = [p for p in parts if category(p.kind) in ("contraction", "attention")]
        if not heavy:
            return generated.written(op, parts, machine)
        main, *rest = self.lower(heavy[0], machine, "compiled")
        return (replace(main, data=op.work.bytes), *rest)

    def prepare(self, graph: Graph, machine: Hardware) -> Graph:
        return layout.prepared(graph, machine)

    def arrange(self, ops: Sequence[Op]) -> tuple[Op, ...]:
        return layout.laid_out(ops)

    def signature(self, op: Op, mode: str) -> Signature | None:
        """A fused op's kernel is that of the contraction in it; torch.compile keeps images in NHWC."""
        heavy = [p for p in op.attrs.get("parts", ()) if category(p.kind) in ("contraction", "attention")]
        op = heavy[0] if heavy else op
        if mode != "eager" and op.kind in ("conv2d", "conv_transpose2d") and op.attrs.get("dims", 2) != 1 and "layout" not in op.attrs:
            op = with_attrs(op, layout="nhwc")
        return super().signature(op, mode)

    def measured(self, row: Row) -> Op | None:
        return OPS[row.op](row.params) if row.kind == "op" and row.op in OPS and row.busy_s and not row.error else None

    def samples(self, rows: Iterable[Row], machine: Hardware) -> Iterator[Sample]:
        """A row is turned into the engine's op and lowered like any other, so that a curve is fitted to exactly the quantities
        it will be evaluated with. Where an op is several kernels, the row's profile says what each took.
        """
        for row in rows:
            if row.kind != "op" or row.error:
                continue
            if row.op in ROWS:
                yield from ROWS[row.op](row, machine)
            elif row.op in OPS:
                yield from plain(row, self.lower(OPS[row.op](row.params), machine, "eager"), row.busy_s)


BACKEND = Cuda()
