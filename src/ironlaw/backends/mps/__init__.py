"""PyTorch on an Apple GPU (MPS): queued, one Metal kernel an op. No profiler sees the device, and no row of evidence exists yet.

A call's time from outside is the kernel's only where it far outlasts a launch: shorter rows say what a launch costs, and give no
sample. torch.compile is not measured there, so a compiled graph's kernels are those of its ops.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ironlaw.backends.backend import PLAIN, Backend
from ironlaw.backends.evidence_ops import OPS
from ironlaw.backends.kernel import Kernel, Sample
from ironlaw.backends.rows import Row
from ironlaw.engine.device.machine import Hardware
from ironlaw.engine.device.types import Op
from ironlaw.engine.device.work import KINDS, category

OUTLASTS = 3.0  # launches that a call must take before its time counts as the kernel's
# a curve that was not measured -> the one whose work is most alike
FALLBACK = {
    "conv2d": "gemm", "attention": "gemm", "conv_backward": "gemm", "attention_backward": "gemm", "grouped_matmul": "gemm",
    "quantised_linear": "gemm", "quantised_grouped_matmul": "gemm", "conv_transpose2d": "gemm", "recurrent": "gemm",
    "log_softmax": "softmax", "mean": "sum", "var": "sum", "amax": "sum", "argmax": "sum", "cross_entropy": "softmax", "cumsum": "sum",
    **{name: "layer_norm" for name, kind in KINDS.items() if kind.family == "norm" and kind.category == "rowwise" and name != "layer_norm"},
}  # fmt: skip


class Mps(Backend):
    name = "mps"
    dispatch = "queued"
    fallback = FALLBACK
    caches = ("l2_bytes", "l3_bytes")
    row_time = "wall_s"

    def lower(self, op: Op, machine: Hardware, mode: str) -> tuple[Kernel, ...]:
        if op.work.launches == 0:
            return ()
        x, y = op.inputs[0], op.outputs[0]
        group = category(op.kind)
        if group in ("contraction", "attention") and op.kind != "fused":
            return (Kernel("gemm" if op.kind in ("linear", "matmul", "bmm") else op.kind, op.work.bytes, op.work.matmul_flops),)
        if group in ("rowwise", "reduction"):
            rows = y.size if group == "reduction" else x.size / op.attrs.get("row", x.shape[-1])
            return (Kernel(op.kind, op.work.bytes, rows=rows),)
        return (Kernel(op.kind, op.work.bytes),)

    def measured(self, row: Row) -> Op | None:
        return OPS[row.op](row.params) if row.kind == "op" and row.op in OPS and row.busy_s and not row.error else None

    def samples(self, rows: Iterable[Row], machine: Hardware) -> Iterator[Sample]:
        rows = list(rows)
        launches = [row.wall_s for row in rows if row.kind == "launch" and row.op in PLAIN and row.wall_s]
        shortest = OUTLASTS * max(launches, default=0.0)
        for row in rows:
            seconds = row.wall_s or 0.0
            if row.kind == "op" and row.op in OPS and not row.error and seconds > shortest:
                yield from (Sample(kernel, seconds) for kernel in self.lower(OPS[row.op](row.params), machine, "eager"))


BACKEND = Mps()
