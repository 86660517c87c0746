"""Op -> Work, one small function per op kind.

Conventions. A multiply and an add are two FLOPs; an elementary function (exp, tanh, rsqrt) is one. Each input is read
once and each output written once, unless the kind says otherwise (a lookup reads the rows it needs, naive attention
also writes and reads its score matrix). So per element: layer norm 7 (mean, subtract, square, sum, scale, gain, shift),
softmax 5 (max, subtract, exp, sum, divide), dropout 2, ReLU 1.

To add a kind: write one function here and decorate it with `@kind(category)`; `tests/engine/test_work.py` asks for a
hand count. The category is what the fusion planner goes by.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ironlaw.engine.arrays import SCALARS, Number, minimum, total
from ironlaw.engine.types import FORMATS, Op, Tensor, Work
from ironlaw.errors import BadValue, IronlawError, unknown

# One block reduces this many elements by itself; beyond, a reduction over the whole tensor is split over kernels.
# Measured on an H200: x / x.sum() is one compiled kernel at 4,096 elements and three at 786,432.
SMALL_REDUCTION = 8192.0
CATEGORIES = ("elementwise", "rowwise", "reduction", "contraction", "attention", "window", "lookup", "movement", "free", "opaque")


@dataclass(frozen=True, slots=True)
class Count:
    """What a kind's function returns. `reads` and `writes` of None mean: every tensor once."""

    matmul: Number = 0.0
    vector: Number = 0.0
    reads: tuple[Number, ...] | None = None
    writes: tuple[Number, ...] | None = None
    scratch: Number = 0.0  # bytes written to memory and read back inside the op
    launches: Number = 1.0


Tensors = Sequence[Tensor]
Counter = Callable[[Tensors, Tensors, Mapping[str, Any]], Count]
KINDS: dict[str, tuple[str, Counter]] = {}


def kind(category: str, *names: str) -> Callable[[Counter], Counter]:
    """Register a counting function under its own name, or under each of `names`."""

    def register(count: Counter) -> Counter:
        for name in names or (count.__name__,):
            KINDS[name] = (category, count)
        return count

    return register


def category(kind_name: str) -> str:
    if kind_name not in KINDS:
        raise unknown("op kind", kind_name, KINDS, "a function in engine/work.py decorated with @kind")
    return KINDS[kind_name][0]


def op(kind_name: str, name: str, inputs: Tensors, outputs: Tensors, memo: dict[Any, Any] | None = None, **attrs: Any) -> Op:
    """Build an op and count its work. Sizes must be positive; the error names the tensor.

    Who builds many ops may pass a `memo`, so that equal ops are counted once; it must not outlive its arrays, and
    their entries must have been checked.
    """
    shapes = tuple((_hashable(t.shape), t.dtype, t.role) for t in (*inputs, *outputs))
    key = (kind_name, shapes, tuple((name, _hashable_value(attrs[name])) for name in sorted(attrs)))
    counted = memo.get(key) if memo is not None else None
    if counted is None:
        counted = _count(kind_name, name, inputs, outputs, attrs, checked=memo is not None)
        if memo is not None:
            memo[key] = counted
    work, reads, writes = counted
    return Op(name, kind_name, tuple(inputs), tuple(outputs), attrs, work, reads, writes, key)


def _count(kind_name: str, name: str, inputs: Tensors, outputs: Tensors, attrs: Mapping[str, Any], checked: bool) -> tuple[Work, Any, Any]:
    category(kind_name)
    for t in (*inputs, *outputs):
        if t.dtype not in FORMATS:
            raise unknown("number format", t.dtype, FORMATS)
        for d in t.shape:
            if not (d > 0 if isinstance(d, SCALARS) else _is_positive_array(d, checked)):
                raise BadValue(f"tensor {t.name!r} of op {name!r} has shape {t.shape}; every size must be above 0")
    try:
        count = KINDS[kind_name][1](inputs, outputs, attrs)
    except IronlawError:
        raise
    except (LookupError, TypeError, ValueError) as error:
        raise BadValue(_unfit(kind_name, name, inputs, outputs, attrs, error)) from None
    reads = count.reads if count.reads is not None else tuple(t.bytes for t in inputs)
    writes = count.writes if count.writes is not None else tuple(t.bytes for t in outputs)
    read, written = total((*reads, count.scratch)), total((*writes, count.scratch))
    return Work(total((count.matmul, count.vector)), count.matmul, read, written, count.launches), reads, writes


def _is_positive_array(size: Any, checked: bool) -> bool:
    return hasattr(size, "shape") and (checked or bool((size > 0).all()))


def _unfit(kind_name: str, name: str, inputs: Tensors, outputs: Tensors, attrs: Mapping[str, Any], error: Exception) -> str:
    shapes = " and ".join(", ".join(str(t.shape) for t in side) or "nothing" for side in (inputs, outputs))
    given = ", ".join(f"{key}={value!r}" for key, value in attrs.items()) or "no attributes"
    what = f"no {error}" if isinstance(error, KeyError) else str(error)
    wants = (KINDS[kind_name][1].__doc__ or "").split("\n")[0]
    return (
        f"op {name!r} can't be a {kind_name}: {what}; it was given {shapes} (inputs and outputs) and {given}."
        f"{f' A {kind_name} is: {wants}' if wants else ''} Mend its tensors or attributes"
    )


def _meet(a: Number, b: Number, what: str) -> None:
    """Two sizes that must be equal; a swept one is taken on trust."""
    if isinstance(a, SCALARS) and isinstance(b, SCALARS) and a != b:
        raise ValueError(f"{what} differ, {a:g} and {b:g}")


def _hashable_value(value: Any) -> Any:
    if isinstance(value, (tuple, list)):
        return tuple(_hashable_value(v) for v in value)
    return id(value) if hasattr(value, "shape") else value


def _hashable(shape: tuple[Number, ...]) -> tuple[Any, ...]:
    # a sweep's array stands for itself: the same array object means the same size
    return tuple(d if isinstance(d, SCALARS) else id(d) for d in shape)


# ---- contractions


@kind("contraction", "matmul", "bmm")
def matmul(x: Tensors, y: Tensors, a: Mapping[str, Any]) -> Count:
    """[…, m, k] × […, k, n]: 2·m·n·k for each matrix of the batch."""
    _meet(x[0].shape[-1], x[1].shape[-2], "the inner sizes")
    return Count(matmul=2.0 * y[0].size * x[0].shape[-1])


@kind("contraction")
def linear(x: Tensors, y: Tensors, a: Mapping[str, Any]) -> Count:
    """[…, k] × [n, k]ᵀ (+ bias): 2·m·n·k, and one add per output where there is a bias."""
    _meet(x[0].shape[-1], x[1].shape[-1], "the inner sizes")
    return Count(matmul=2.0 * y[0].size * x[1].shape[-1], vector=y[0].size if len(x) > 2 else 0.0)


@kind("contraction")
def conv2d(x: Tensors, y: Tensors, a: Mapping[str, Any]) -> Count:
    """Each output takes (C/groups)·kh·kw multiply-adds; the weight is [out, C/groups, kh, kw]."""
    _, per_group, kh, kw = x[1].shape
    groups = a.get("groups") or x[0].shape[1] // per_group
    _meet(x[0].shape[1], per_group * groups, "the channels of input and weight")
    return Count(matmul=y[0].size * (2.0 * per_group * kh * kw), vector=y[0].size if len(x) > 2 else 0.0)


@kind("contraction")
def grouped_matmul(x: Tensors, y: Tensors, a: Mapping[str, Any]) -> Count:
    """Rows […, k], sorted by expert, times [experts, n, k]: each row meets one expert's matrix.

    Rows spread evenly: with fewer rows than experts, only the matrices that are hit are read.
    """
    rows = x[0].size / x[0].shape[-1]
    hit = minimum(1.0, rows / x[1].shape[0])
    reads = (x[0].bytes, x[1].bytes * hit, *(t.bytes for t in x[2:]))
    return Count(matmul=2.0 * y[0].size * x[1].shape[-1], reads=reads)


def conv2d_shape(
    x: tuple[Number, ...], out: int, kernel: tuple[int, int], stride: int = 1, padding: tuple[int, int] = (0, 0), dilation: int = 1
) -> tuple[Number, ...]:
    """[n, c, h, w] -> the shape after a convolution or a pooling window."""
    height, width = ((size + 2 * pad - dilation * (k - 1) - 1) // stride + 1 for size, k, pad in zip(x[2:], kernel, padding, strict=True))
    return (x[0], out, height, width)


# ---- attention


@kind("attention")
def attention(x: Tensors, y: Tensors, a: Mapping[str, Any]) -> Count:
    """softmax(QKᵀ)V with q [b, h, s, d], k and v [b, h_kv, t, d]; two matmuls of 2·b·h·s·t·d each.

    tiled (flash): the s×t scores never leave the chip. naive: QKᵀ writes them, softmax reads and writes, PV reads,
    so traffic is (1 + s/d) times the tiled one for s = t. A causal mask is counted in full, as PyTorch does.
    """
    q, k, v = x[0], x[1], x[2]
    scores = q.size / q.shape[-1] * k.shape[-2]
    both = 2.0 * scores * (q.shape[-1] + v.shape[-1])
    naive = a.get("impl", "flash") == "naive"
    scratch = 2.0 * scores * FORMATS[q.dtype] if naive else 0.0
    return Count(matmul=both, vector=5.0 * scores, scratch=scratch, launches=3.0 if naive else 1.0)


@kind("elementwise")
def rotary(x: Tensors, y: Tensors, a: Mapping[str, Any]) -> Count:
    """x·cos + rotate(x)·sin in one kernel: two multiplies and an add."""
    return Count(vector=3.0 * y[0].size)


# ---- normalisation and softmax: a reduction along the row, then element-wise


def _per_element(flops: float) -> Counter:
    def count(x: Tensors, y: Tensors, a: Mapping[str, Any]) -> Count:
        return Count(vector=flops * y[0].size)

    return count


kind("rowwise", "layer_norm", "group_norm")(_per_element(7.0))
kind("rowwise", "rms_norm")(_per_element(4.0))  # square, sum, scale, gain
kind("rowwise", "softmax", "log_softmax")(_per_element(5.0))
kind("elementwise", "batch_norm")(_per_element(4.0))  # inference: subtract, scale, gain, shift; no statistics


# ---- element-wise, with broadcasting: each input is read once at its own size

for _flops, _names in (
    (0.0, ("cast", "fill")),
    (1.0, ("relu", "neg", "abs", "sqrt", "rsqrt", "exp", "log", "tanh", "erf", "cos", "sin", "square", "cube", "scale", "shift")),
    (1.0, ("add", "sub", "mul", "div", "greatest", "least", "compare", "select", "power")),
    (2.0, ("relu6", "hardtanh")),
    (4.0, ("sigmoid",)),  # negate, exp, add, divide
    (5.0, ("silu", "gelu")),  # gelu: scale, erf, add, multiply, halve
    (8.0, ("gelu_tanh",)),  # cube, scale, add, scale, tanh, add, multiply, halve
):
    kind("elementwise", *_names)(_per_element(_flops))


@kind("elementwise")
def dropout(x: Tensors, y: Tensors, a: Mapping[str, Any]) -> Count:
    """Compare-and-zero, scale. In training a second output, the mask of one byte an element, is written too."""
    return Count(vector=2.0 * y[0].size)


# ---- reductions: attr `over` is "row" (the last axis, or any axes that leave rows apart) or "all"


@kind("reduction", "sum", "mean", "amax", "cumsum", "argmax")
def reduce(x: Tensors, y: Tensors, a: Mapping[str, Any]) -> Count:
    """One operation per element that goes in."""
    return Count(vector=1.0 * x[0].size)


@kind("reduction")
def var(x: Tensors, y: Tensors, a: Mapping[str, Any]) -> Count:
    """Sum for the mean, subtract, square, sum."""
    return Count(vector=4.0 * x[0].size)


@kind("reduction")
def cross_entropy(x: Tensors, y: Tensors, a: Mapping[str, Any]) -> Count:
    """log-softmax over the classes (5 an element), then one pick per row."""
    return Count(vector=5.0 * x[0].size + x[1].size)


@kind("window", "max_pool2d", "avg_pool2d")
def pool2d(x: Tensors, y: Tensors, a: Mapping[str, Any]) -> Count:
    """kernel² comparisons or additions per output."""
    kh, kw = a["kernel"]
    return Count(vector=y[0].size * float(kh * kw))


# ---- lookups: the rows that are asked for, not the table


@kind("lookup", "embedding", "gather")
def lookup(x: Tensors, y: Tensors, a: Mapping[str, Any]) -> Count:
    """inputs: the table, then the indices."""
    return Count(reads=(y[0].bytes, x[1].bytes))


@kind("lookup", "topk", "scatter")
def route(x: Tensors, y: Tensors, a: Mapping[str, Any]) -> Count:
    return Count()


# ---- movement: bytes and no arithmetic

kind("movement", "copy", "transpose", "cat", "pad", "repeat", "upsample")(_per_element(0.0))


@kind("free")
def view(x: Tensors, y: Tensors, a: Mapping[str, Any]) -> Count:
    """A new shape over the same bytes: nothing moves, nothing is launched."""
    return Count(reads=tuple(0.0 for _ in x), writes=tuple(0.0 for _ in y), launches=0.0)


@kind("contraction")
def fused(x: Tensors, y: Tensors, a: Mapping[str, Any]) -> Count:
    """Several ops in one kernel; `fusion.merge` makes them."""
    raise BadValue("a fused op is made by fusion.merge from the ops inside it; call il.fuse(graph)")


@kind("contraction")
def block(x: Tensors, y: Tensors, a: Mapping[str, Any]) -> Count:
    """A whole graph as one launch; `predict.one_launch` gives the counts."""
    return Count(matmul=a["matmul"], vector=a["vector"], reads=a["reads"], writes=a["writes"])
