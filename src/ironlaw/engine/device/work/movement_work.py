"""Windows, lookups and movement, and ops known only as a whole."""

from __future__ import annotations

from ironlaw.engine.arrays import log2, maximum, total
from ironlaw.engine.device.work.keeping import INDICES, INPUT, NOTHING, SECOND, indices
from ironlaw.engine.device.work.op_count import Attrs, Count, Kinds, Tensors, per_element
from ironlaw.errors import BadValue

kind = Kinds()


@kind("window", "max_pool2d", keeps=INPUT, statistics=indices)
@kind("window", "avg_pool2d", keeps=INPUT)
def pool2d(x: Tensors, y: Tensors, a: Attrs) -> Count:
    """kernel² comparisons or additions per output."""
    kh, kw = a["kernel"]
    return Count(vector=y[0].size * float(kh * kw))


@kind("lookup", "embedding", "gather", keeps=INDICES, steps=7)
def lookup(x: Tensors, y: Tensors, a: Attrs) -> Count:
    """inputs: the table, then the indices. The rows that are looked up are read, not the table."""
    return Count(reads=(y[0].bytes, x[1].bytes))


@kind("lookup", "topk", keeps=SECOND)
@kind("lookup", "scatter", keeps=INDICES)
def route(x: Tensors, y: Tensors, a: Attrs) -> Count:
    return Count()


kind("movement", "copy", "transpose", "cat", "repeat", "upsample", keeps=NOTHING)(per_element(0.0))
kind("movement", "pad", keeps=NOTHING, steps=6)(per_element(0.0))
kind("movement", "grid_sample")(per_element(0.0))


@kind("movement", keeps=INDICES)
def write(x: Tensors, y: Tensors, a: Attrs) -> Count:
    """inputs: the tensor that is written into, then the new values and indices. What is touched moves, not the tensor; attr `touched`:
    elements, where they are not as many as the new values; `accumulate`: added to what is there."""
    touched = a.get("touched", x[1].size if len(x) > 1 else 0.0) * (x[0].bytes / x[0].size)
    return Count(reads=(touched if a.get("accumulate") else 0.0, *(t.bytes for t in x[1:])), writes=(touched,))


@kind("free", keeps=NOTHING)
def view(x: Tensors, y: Tensors, a: Attrs) -> Count:
    """A new shape over the same bytes: nothing moves, nothing is launched."""
    return Count(reads=tuple(0.0 for _ in x), writes=tuple(0.0 for _ in y), launches=0.0)


@kind("contraction")
def fused(x: Tensors, y: Tensors, a: Attrs) -> Count:
    """Several ops in one kernel; built by `merged_op.merge`."""
    raise BadValue("a fused op is built by merged_op.merge from the ops inside it; call il.fuse(graph)")


@kind("contraction")
def block(x: Tensors, y: Tensors, a: Attrs) -> Count:
    """A whole graph as one launch; `predict.one_launch` gives the counts."""
    return Count(matmul=a["matmul"], vector=a["vector"], reads=a["reads"], writes=a["writes"])


@kind("opaque")
def fft(x: Tensors, y: Tensors, a: Attrs) -> Count:
    """A Fourier transform along rows of `row` elements: 5·n·log₂ n for each of n complex ones (Cooley and Tukey 1965), as FFTW counts."""
    row = a.get("row", x[0].shape[-1])
    return Count(vector=5.0 * x[0].size * log2(maximum(row, 2.0)))


@kind("opaque")
def unknown(x: Tensors, y: Tensors, a: Attrs) -> Count:
    """Nothing is known about what it does: each tensor once, no arithmetic."""
    return Count()


@kind("opaque")
def custom(x: Tensors, y: Tensors, a: Attrs) -> Count:
    """An operator whose author says what it costs: `flops`, of matrix products where `unit` is "matrix"; `bytes` in all, or every tensor
    once."""
    matrix = a["unit"] == "matrix"
    moved = total([t.bytes for t in (*x, *y)])
    share = a["bytes"] / moved if "bytes" in a else 1.0  # spread over its tensors
    return Count(
        matmul=a["flops"] if matrix else 0.0,
        vector=0.0 if matrix else a["flops"],
        reads=tuple(share * t.bytes for t in x),
        writes=tuple(share * t.bytes for t in y),
    )
