"""PyTorch on a CUDA device: op -> kernels, by families of ops, one file each.

Counted on real traces (evidence h200_sxm/machine). What matters most:
- a convolution on NCHW tensors runs in NHWC: its input, its weight (unless 1×1) and its output are converted, a kernel
  each; a 1×1 convolution with stride 1 is a matrix product on NCHW as it stands when a plane is a multiple of 8 elements;
- a matrix whose rows are not a multiple of 8 elements (16 bytes in FP16) goes to an older, slower kernel;
- batch norm is three kernels (two of them tiny), attention two (one clears a counter), a very large matmul two; torch.compile
  keeps convolutions in NHWC throughout, so only k×k weights are converted.

A condition on a swept size can't choose one path for all points: each path's kernels get a `count` of 0 or 1 per point.

A family's file has EAGER and COMPILED (op kind -> lowering), ROWS (op of an evidence row -> samples of its kernels) and FALLBACK
(a curve that was not measured -> the one whose work is most alike). They are imported with the first op: every page asks this file how
a GPU is launched, and few predict.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING

from ironlaw.backends.backend import Backend
from ironlaw.backends.inductor import TRITON

if TYPE_CHECKING:
    from ironlaw.backends.kernel import Kernel, Sample
    from ironlaw.backends.rows import Row
    from ironlaw.backends.signatures import Signature
    from ironlaw.engine.arrays import Number
    from ironlaw.engine.device.machine import Hardware
    from ironlaw.engine.device.types import Graph, Op

# PyTorch sets torch.backends.cudnn.allow_tf32 when it starts; torch.set_float32_matmul_precision("high") adds the products
TIMED = (
    "im2col", "col2im", "avg_pool2d_backward", "unfold_backward", "upsample_nearest2d_backward", "upsample_bilinear2d_backward",
    "grid_sampler_backward",
)  # fmt: skip
CONVOLUTIONS = ("conv2d", "conv_transpose2d", "conv_backward", "recurrent")
PRODUCTS = ("linear", "matmul", "bmm", "grouped_matmul")


class Cuda(Backend):
    name = "cuda"
    dispatch = "queued"
    rules = TRITON
    caches = ("l2_bytes", "l3_bytes")
    timed = TIMED
    narrowed = MappingProxyType({"default": CONVOLUTIONS, "tf32": (*CONVOLUTIONS, *PRODUCTS)})

    @property
    def fallback(self) -> Mapping[str, str]:
        from ironlaw.backends.cuda.lowering import FALLBACK

        return FALLBACK

    @property
    def estimates(self) -> Mapping[str, Mapping[str, float]]:
        from ironlaw.backends.cuda.lowering import ESTIMATES

        return ESTIMATES

    def lower(self, op: Op, machine: Hardware, mode: str) -> tuple[Kernel, ...]:
        from ironlaw.backends.cuda.lowering import lower

        return lower(op, machine, mode)

    def scratch(self, op: Op, machine: Hardware, mode: str) -> Number:
        from ironlaw.backends.cuda.scratch import scratch

        return scratch(op, machine, mode)

    def prepare(self, graph: Graph, machine: Hardware) -> Graph:
        from ironlaw.backends.cuda.layout import prepared

        return prepared(graph, machine)

    def arrange(self, ops: Sequence[Op]) -> tuple[Op, ...]:
        from ironlaw.backends.cuda.layout import laid_out

        return laid_out(ops)

    def signature(self, op: Op, mode: str) -> Signature | None:
        """A fused op's kernel is that of the contraction in it; torch.compile keeps images in NHWC, and writes no transform or sort; cuBLAS
        takes other kernels in FP32 for a product of two activations, which is mostly a weight's gradient."""
        from dataclasses import replace

        from ironlaw.backends.cuda.lowering import left_to_library
        from ironlaw.backends.cuda.stream import as_gathered
        from ironlaw.engine.device.work import STAND_IN, category, lowering, with_attrs

        if op.attrs.get(STAND_IN) in TIMED:
            return None  # it has curves of its own, and few rows
        heavy = [p for p in op.attrs.get("parts", ()) if category(p.kind) in ("contraction", "attention")]
        op = heavy[0] if heavy else op
        mode, op = lowering(op, mode), as_gathered(op)
        if mode != "eager" and op.kind in ("conv2d", "conv_transpose2d") and op.attrs.get("dims", 2) != 1 and "layout" not in op.attrs:
            op = with_attrs(op, layout="nhwc")
        signature = super().signature(op, "eager" if left_to_library(op) else mode)
        if signature and op.kind == "solver":
            from ironlaw.backends.cuda.solvers import by_routine

            return by_routine(op, signature)
        if signature and op.kind == "matmul" and signature.family == "linear 32 bit":
            return replace(signature, family="gradient 32 bit")
        return signature

    def measured(self, row: Row) -> Op | None:
        from ironlaw.backends.cuda.lowering import measured

        return measured(row)

    def samples(self, rows: Iterable[Row], machine: Hardware) -> Iterator[Sample]:
        from ironlaw.backends.cuda.lowering import samples

        return samples(rows, machine)


BACKEND = Cuda()
