"""Op -> Work, one small function per op kind.

Conventions. A multiply and an add are two FLOPs; an elementary function (exp, tanh, rsqrt) is one. Each input is read
once and each output written once, unless the kind says otherwise (a lookup reads the rows it needs, naive attention
also writes and reads its score matrix). So per element: layer norm 7 (mean, subtract, square, sum, scale, gain, shift),
softmax 5 (max, subtract, exp, sum, divide), dropout 2, ReLU 1.

To add a kind: write one function in the file of its subject and decorate it with `@kind(category)`;
`tests/engine/device/test_work.py` asks for a hand count. The fusion planner decides by the category. Its traits (`count.Kind`: what it
keeps for the backward pass, whether it gathers rows, what autocast makes of it) stand in the same line.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from ironlaw.engine.arrays import SCALARS, Number, total
from ironlaw.engine.device.types import FORMATS, Op, Work
from ironlaw.engine.device.work import elements, movement_work, product_work, quantised_work, recurrent_work, solver_work, training_work
from ironlaw.engine.device.work.elements import SMALL_REDUCTION
from ironlaw.engine.device.work.op_count import CATEGORIES, Count, Kind, Kinds, Tensors
from ironlaw.engine.device.work.product_work import conv2d_shape
from ironlaw.errors import BadValue, IronlawError, unknown

__all__ = [
    "CATEGORIES", "EAGER", "KINDS", "LIBRARY", "SMALL_REDUCTION", "STAND_IN", "UNCOMPILED", "UNROLLED", "Count", "Kind", "category",
    "conv2d_shape", "in_pieces", "lowering", "op", "traits", "with_attrs",
]  # fmt: skip

STAND_IN = "stand_in"  # an attribute: the name of the op for which this kind stands in, because it has none of its own
UNCOMPILED = "uncompiled"  # an attribute of what a compiler does not write: whose kernels it takes then, and who calls them
UNROLLED = "unrolled"  # an attribute of a reduction over so few elements that a compiler writes them out
COLLECTIVE, BYTES, RANKS = "collective", "message", "ranks"  # attributes of what ranks do together: its kind, its bytes, how many they are
EAGER, LIBRARY = "eager", "library"  # Python, op by op; the compiled code itself
MOST_PIECES = 8  # tensors that torch.compile puts together in one kernel

# an op kind from outside ironlaw is added the same way: `@KINDS("elementwise")`
KINDS = Kinds()
for _file in (product_work, elements, movement_work, training_work, recurrent_work, quantised_work, solver_work):
    KINDS.update(_file.kind)


def traits(kind_name: str) -> Kind:
    """What is known of an op kind."""
    if kind_name not in KINDS:
        raise unknown("op kind", kind_name, KINDS, "a function in engine/device/work/ decorated with @kind")
    return KINDS[kind_name]


def category(kind_name: str) -> str:
    return traits(kind_name).category


def op(kind_name: str, name: str, inputs: Tensors, outputs: Tensors, memo: dict[Any, Any] | None = None, **attrs: Any) -> Op:
    """Build an op and count its work. Sizes must be positive; the error names the tensor.

    Callers that build many ops may pass a `memo`, so that equal ops are counted once; it must not outlive its arrays, and
    their entries must have been checked.
    """
    shapes = tuple((_hashable(t.shape), t.dtype, t.role) for t in (*inputs, *outputs))
    key = (kind_name, shapes, tuple((name, _hashable_value(attrs[name])) for name in sorted(attrs)))
    counted = memo.get(key) if memo is not None else None
    if counted is None:
        counted = (key, *_count(kind_name, name, inputs, outputs, attrs, checked=memo is not None))
        if memo is not None:
            memo[key] = counted
    key, work, reads, writes = counted  # equal ops have one key: to look it up again takes no comparison
    return Op(name, kind_name, tuple(inputs), tuple(outputs), attrs, work, reads, writes, key)


def lowering(one: Op, mode: str) -> str:
    """Whose kernels an op runs under a lowering, "eager" or "compiled": a compiler leaves some to the library."""
    return "eager" if UNCOMPILED in one.attrs else mode


def in_pieces(one: Op) -> bool:
    """Whether a compiler puts its tensors together by a kernel for each."""
    return one.kind == "cat" and len(one.inputs) > MOST_PIECES


def with_attrs(one: Op, **attrs: Any) -> Op:
    """The same op with further attributes, in its key too; what its work counts by must not be among them."""
    added = tuple((name, _hashable_value(attrs[name])) for name in sorted(attrs))
    return replace(one, attrs={**one.attrs, **attrs}, key=(*one.key, added))


def _count(kind_name: str, name: str, inputs: Tensors, outputs: Tensors, attrs: Mapping[str, Any], checked: bool) -> tuple[Work, Any, Any]:
    category(kind_name)
    for t in (*inputs, *outputs):
        if t.dtype not in FORMATS:
            raise unknown("number format", t.dtype, FORMATS)
        for d in t.shape:
            if not (d > 0 if isinstance(d, SCALARS) else _is_positive_array(d, checked)):
                raise BadValue(f"tensor {t.name!r} of op {name!r} has shape {t.shape}; every size must be above 0")
    try:
        count = KINDS[kind_name].count(inputs, outputs, attrs)
    except IronlawError:
        raise
    except (LookupError, TypeError, ValueError) as error:
        raise BadValue(_explain(kind_name, name, inputs, outputs, attrs, error)) from None
    reads = count.reads if count.reads is not None else tuple(t.bytes for t in inputs)
    writes = count.writes if count.writes is not None else tuple(t.bytes for t in outputs)
    read, written = total((*reads, count.scratch)), total((*writes, count.scratch))
    return Work(total((count.matmul, count.vector)), count.matmul, read, written, count.launches), reads, writes


def _is_positive_array(size: Any, checked: bool) -> bool:
    return hasattr(size, "shape") and (checked or bool((size > 0).all()))


def _explain(kind_name: str, name: str, inputs: Tensors, outputs: Tensors, attrs: Mapping[str, Any], error: Exception) -> str:
    shapes = " and ".join(", ".join(str(t.shape) for t in side) or "nothing" for side in (inputs, outputs))
    settings = ", ".join(f"{key}={value!r}" for key, value in attrs.items()) or "no attributes"
    what = f"no {error}" if isinstance(error, KeyError) else str(error)
    wants = (KINDS[kind_name].count.__doc__ or "").split("\n")[0]
    return (
        f"op {name!r} can't be a {kind_name}: {what}; it has {shapes} (inputs and outputs) and {settings}."
        f"{f' A {kind_name} is: {wants}' if wants else ''} Fix its tensors or attributes"
    )


def _hashable_value(value: Any) -> Any:
    if isinstance(value, (tuple, list)):
        return tuple(_hashable_value(v) for v in value)
    return id(value) if hasattr(value, "shape") else value


def _hashable(shape: tuple[Number, ...]) -> tuple[Any, ...]:
    for d in shape:
        if not isinstance(d, SCALARS):  # a sweep's array stands for itself: the same array object means the same size
            return tuple(d if isinstance(d, SCALARS) else id(d) for d in shape)
    return tuple(shape)
