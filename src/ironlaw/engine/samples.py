"""Evidence rows -> samples for the fit: (kernel, seconds).

A row is turned into the engine's op and lowered like any other, so that a curve is fitted to exactly the quantities it
will be asked with. Where an op is several kernels, the row's kernel list says what each took.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from ironlaw.engine import quantise, recurrent
from ironlaw.engine.kernels import Kernel
from ironlaw.engine.lowering import lower
from ironlaw.engine.lowering_cpu import lower as lower_cpu
from ironlaw.engine.rows import OPS
from ironlaw.engine.types import Op

__all__ = ["OPS", "Sample", "samples"]
TINY = ("Memset", "splitKreduce")
LAYOUT = ("nchwToNhwc", "nhwcToNchw")
# rows whose kernels are told apart where their ops are
APART = dict.fromkeys(recurrent.ROWS, recurrent.parts) | dict.fromkeys(quantise.ROWS, quantise.parts)


@dataclass(frozen=True, slots=True)
class Sample:
    kernel: Kernel
    seconds: float


def samples(rows: list[dict[str, Any]], backend: str = "cuda") -> Iterator[Sample]:
    """All samples that op rows with a device time give."""
    if backend != "cuda":
        yield from _calls(rows)
        return
    for row in rows:
        if row["kind"] == "op" and row["op"] == "generated" and "error" not in row:
            yield from _generated(row)
        if row["kind"] == "op" and row["op"] == "adamw" and row.get("kernels"):
            yield _adamw(row)
        if row["kind"] == "op" and row["op"] in APART and "error" not in row:
            yield from (Sample(replace(kernel, count=1.0), seconds) for kernel, seconds in APART[row["op"]](row))
        if row["kind"] != "op" or row["op"] not in OPS or "error" in row:
            continue
        seconds = row.get("busy_s") or _by_the_way(row)
        if not seconds:
            continue
        yield from _split(row, OPS[row["op"]](row["params"]), seconds)


def _calls(rows: list[dict[str, Any]]) -> Iterator[Sample]:
    """On a processor a call is its work: one kernel each, timed from outside. Of a compiled call only the loop is wanted."""
    entry = next((row["wall_s"] for row in rows if row["kind"] == "launch" and row["op"] == "compiled"), 0.0)
    for row in rows:
        seconds = row.get("wall_s") or row.get("busy_s", 0.0)
        if row["kind"] != "op" or "error" in row or not seconds:
            continue
        if row["op"] == "generated" and seconds > entry:
            yield Sample(_loop(row["params"]), seconds - entry)
        elif row["op"] in OPS:
            kernels = lower_cpu(_laid_out(row))
            if len(kernels) == 1:
                yield Sample(replace(kernels[0], count=1.0), seconds)


def _laid_out(row: dict[str, Any]) -> Op:
    made = OPS[row["op"]](row["params"])
    nhwc = row["params"].get("layout") == "nhwc"
    return replace(made, attrs={**made.attrs, "layout": "nhwc"}) if nhwc else made


def _loop(p: dict[str, Any]) -> Kernel:
    """A loop that torch.compile wrote; what its time depends on is in the row."""
    dear, rows = p.get("dear", 0.0), p.get("rows", 0.0)
    name = "fused_softmax" if dear and rows else "fused_dear" if dear else "fused_rows" if rows else "fused"
    return Kernel(name, p["read_bytes"] + p["written_bytes"], rows=dear or rows)


def _generated(row: dict[str, Any]) -> Iterator[Sample]:
    """A kernel that torch.compile wrote: its traffic is in the row."""
    p = row["params"]
    if row.get("kernels") != 1:
        return
    data, rows = p["read_bytes"] + p["written_bytes"], p.get("rows", 0.0)
    name = "fused" if not rows else "fused_reduction" if p.get("over") == "plane" else "fused_rows"
    yield Sample(Kernel(name, data, rows=rows), row["busy_s"])


ADAMW = (2, 3, 2, 4, 2, 2, 2, 4)  # tensors read and written by its eight passes: decay, mean, square, …


def _adamw(row: dict[str, Any]) -> Sample:
    """The mean launch of a step: a list of tensors at a time, pass by pass."""
    p, launches = row["params"], row["kernels"]
    return Sample(Kernel("foreach", 4.0 * p["tensors"] * p["size"] * sum(ADAMW) / launches), row["busy_s"] / launches)


# op -> words in a kernel's name -> the curve that it is a sample of
PARTS: dict[str, dict[str, str]] = {
    "layer_norm_backward": {"GammaBeta": "layer_norm_weights", "grad_input": "layer_norm_backward"},
    "sdpa_backward": {"bprop": "attention_backward", "dot_do_o": "attention_dot", "convert_dq": "attention_dq"},
    "conv_backward": {"dgrad": "conv_dgrad", "wgrad": "conv_wgrad", "_hss_": "conv_wgrad"},
    "batch_norm_train": {"collect_statistics": "batch_norm_stats", "transform_input": "batch_norm"},
    "max_pool2d_backward": {"max_pool_backward": "max_pool2d_backward"},
    "embedding_backward": {"embedding_backward": "embedding_backward"},
    "topk": {"gatherTopK": "topk", "SortKVInPlace": "topk_sort"},
    "sort": {", 32, 4, long": "sort_short", ", 32, long": "sort_block", "Onesweep": "sort_pass"},
    "grouped_mm": {"device_kernel": "grouped_gemm"},
    "histogram": {"kernelHistogram1D": "histogram"},
    "sum_columns": {"reduce_kernel": "sum_columns"},
}


def _parts(row: dict[str, Any], kernels: tuple[Kernel, ...]) -> Iterator[Sample]:
    """One sample for each part of an op whose kernels have telling names."""
    for curve in dict.fromkeys(PARTS[row["op"]].values()):
        words = [word for word, name in PARTS[row["op"]].items() if name == curve]
        seconds = sum(k["seconds"] for k in row["list"] if any(word in k["name"] for word in words))
        wanted = [k for k in kernels if k.curve == curve]
        if wanted and seconds:
            yield Sample(replace(wanted[0], count=1.0), seconds / wanted[0].count)


def _by_the_way(row: dict[str, Any]) -> float | None:
    """A matmul in a format that no profile covers: replayed in a graph, or called when it far outlasts a launch."""
    if row["op"] != "matmul" or row["params"]["dtype"] not in ("fp8", "int8"):
        return None
    return row.get("graph_s") or (row["wall_s"] if row.get("wall_s", 0.0) > 2e-4 else None)


def _split(row: dict[str, Any], made: Op, seconds: float) -> Iterator[Sample]:
    nhwc = row["params"].get("layout") == "nhwc"
    kernels = lower(made, compiled=nhwc or row["op"] in ("sdpa_masked", "generated_norm"))
    listed = row.get("list", [])
    if row["op"] in PARTS:
        yield from _parts(row, kernels)
        return
    if row["op"] == "roll":
        yield Sample(replace(kernels[0], count=1.0), seconds / kernels[0].count)
        return
    if row["op"] == "layer_norm" and row.get("kernels", 1) > 1:
        return  # rows that fill no vector take other kernels, and one row makes no curve
    tiny = sum(k["seconds"] for k in listed if any(t in k["name"] for t in TINY))
    layout = sum(k["seconds"] for k in listed if any(t in k["name"] for t in LAYOUT))
    into = [k for k in listed if LAYOUT[0] in k["name"]]
    out = [k for k in listed if LAYOUT[1] in k["name"]]
    heavy = [k for k in kernels if k.curve not in ("tiny", "layout", "layout_weight", "layout_first", "copy", "broadcast")]
    if row["op"] == "batch_norm":
        rest = sum(sorted((k["seconds"] for k in listed), reverse=True)[1:])
        yield Sample(replace(kernels[0], count=1.0), seconds - rest)
        yield Sample(Kernel("tiny", 0.0), rest / 2)
        return
    if row["op"] == "group_norm":
        sums = [k["seconds"] for k in listed if "elementwise" not in k["name"]]
        if sums:
            yield Sample(kernels[0], max(sums))
        return
    if row["op"] == "generated_norm":
        normed = [k for k in listed if "group_norm" in k["name"]]
        stream = [k["seconds"] for k in normed if "triton_poi" in k["name"]]
        sums = [k["seconds"] for k in normed if "triton_poi" not in k["name"]]
        yield from (Sample(kernel, max(found)) for kernel, found in ((kernels[0], sums), (kernels[-1], stream)) if found)
        return
    if row["op"] == "sdpa_masked":
        yield Sample(heavy[0], max(k["seconds"] for k in listed))  # the other kernels bring the mask into shape
        return
    if row["op"] != "conv2d":
        if len(heavy) == 1 or len(kernels) == 1:
            yield Sample((heavy or list(kernels))[0], seconds - tiny)
        return
    bias = sum(k["seconds"] for k in listed if "elementwise_kernel" in k["name"])
    if len(heavy) == 1 and (nhwc or bool(layout) == any(k.curve == "layout" for k in kernels)):
        times, launched = heavy[0].count, sum(k.count for k in kernels)
        if times == 1 or abs(row["kernels"] - launched) <= 1:  # group by group, where cuDNN does it too
            yield Sample(replace(heavy[0], count=1.0), (seconds - tiny - layout - bias) / times)
    wanted = [k for k in kernels if k.curve == "layout" and k.count == 1]
    if not nhwc and len(wanted) == 2 and out and sum(k["count"] for k in out) == 1:
        yield Sample(wanted[1], out[0]["seconds"])
        weights = [k for k in kernels if k.curve == "layout_weight"]
        if into and into[0]["count"] == 1 and not weights:
            yield Sample(wanted[0], into[0]["seconds"])
        elif into and into[0]["count"] == 2 and weights and weights[0].data > 8 * wanted[0].data:
            yield Sample(weights[0], into[0]["seconds"] - 1.6e-6)  # the input's share is its floor
