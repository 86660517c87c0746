"""PyTorch on a processor: an op is one call of a library or of a loop, and a call returns when its work is done."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from statistics import median
from typing import Any

from ironlaw.backends.backend import Backend, by_kind
from ironlaw.backends.cpu import lowering
from ironlaw.backends.evidence_ops import OPS
from ironlaw.backends.kernel import Kernel, Sample
from ironlaw.backends.rows import Row
from ironlaw.engine.arrays import Number
from ironlaw.engine.device.host import Host
from ironlaw.engine.device.machine import Hardware
from ironlaw.engine.device.saving import Saving
from ironlaw.engine.device.types import Op
from ironlaw.engine.device.work import KINDS, with_attrs

MODULE = "nn_"  # launch rows of an op as a module's call, beside the bare function
# a curve that was not measured -> the one whose work is most alike
FALLBACK = {
    "conv_nhwc": "conv", "conv_1x1_nhwc": "conv_1x1", "conv_first_nhwc": "conv_first", "conv_grouped_nhwc": "conv_grouped",
    "depthwise_nhwc": "depthwise", "depthwise_strided_nhwc": "depthwise_strided", "depthwise_large_nhwc": "depthwise_large",
    "conv_first": "conv", "conv_grouped": "conv", "depthwise_strided": "depthwise", "depthwise_large": "depthwise", "gemm_few": "gemm",
    "bmm": "gemm", "gemm_few_aliased": "gemm_few", "attention_decode": "attention", "attention_long": "attention",
    "fused_transcendental": "gelu", "fused_softmax": "softmax", "fused": "elementwise", "fused_rows": "layer_norm", "square": "power",
    "cube": "power", "shift": "scale", "sub": "add", "div": "mul", "relu6": "hardtanh", "transpose": "strided",
    "var": "mean", "amax": "sum", "gather": "embedding", "exp": "sigmoid",
    **{name: "batch_norm" for name, kind in KINDS.items() if kind.grouped},
}  # fmt: skip


class Cpu(Backend):
    name = "cpu"
    dispatch = "synchronous"
    fallback = FALLBACK
    caches = ("l3_bytes", "l2_bytes")
    saving = Saving(wide=False, byte_masks=False, row_tile=1)
    row_time = "wall_s"

    def lower(self, op: Op, machine: Hardware, mode: str) -> tuple[Kernel, ...]:
        return lowering.lower(op, mode)

    def launches(self, rows: Sequence[Row]) -> dict[str, float]:
        """A call's own cost is in its curve's floor: what is left is what Python code around the call spends."""
        return {"default": _python_overhead(by_kind(rows))}

    def launch(self, op: Op, host: Host, mode: str, kernels: Number) -> Number:
        """Compiled, nothing of the model's own code is left around the loops; entering them all is paid once."""
        return host.default if mode == "eager" else 0.0

    def measured(self, row: Row) -> Op | None:
        """A call is the work: what was timed from outside."""
        return _op_of(row) if row.kind == "op" and row.op in OPS and row.wall_s and not row.error else None

    def samples(self, rows: Iterable[Row], machine: Hardware) -> Iterator[Sample]:
        """One kernel for each call, timed from outside. Of a compiled call only the loop counts."""
        rows = list(rows)
        entry = next((row.wall_s or 0.0 for row in rows if row.kind == "launch" and row.op == "compiled"), 0.0)
        for row in rows:
            seconds = row.wall_s or row.busy_s
            if row.kind != "op" or row.error or not seconds:
                continue
            if row.op == "generated" and seconds > entry:
                yield Sample(_loop(row.params), seconds - entry)
            elif row.op in OPS:
                kernels = lowering.lower(_op_of(row), "eager")
                if len(kernels) == 1:
                    yield Sample(replace(kernels[0], count=1.0), seconds)


def _python_overhead(launches: Mapping[str, float]) -> float:
    extra = [
        seconds - launches[name.removeprefix(MODULE)]
        for name, seconds in launches.items()
        if name.startswith(MODULE) and name.removeprefix(MODULE) in launches
    ]
    return max(median(extra), 0.0) if extra else 0.0


def _op_of(row: Row) -> Op:
    op = OPS[row.op](row.params)
    return with_attrs(op, layout="nhwc") if row.params.get("layout") == "nhwc" else op


def _loop(p: Mapping[str, Any]) -> Kernel:
    """A loop that torch.compile wrote; what its time depends on is in the row (`transcendental`: elements of
    such a function; `dear` in rows of earlier versions)."""
    elements, rows = p.get("transcendental", p.get("dear", 0.0)), p.get("rows", 0.0)
    name = "fused_softmax" if elements and rows else "fused_transcendental" if elements else "fused_rows" if rows else "fused"
    return Kernel(name, p["read_bytes"] + p["written_bytes"], rows=elements or rows)


BACKEND = Cpu()
