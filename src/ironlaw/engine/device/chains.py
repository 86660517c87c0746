"""A row of ops over one tensor, as a learner or a textbook writes it: `chain(("layer_norm", "dropout", "relu"), (1024, 768))`.

Each op takes what the one before it made. add and mul take a second tensor of the same shape, matmul a square weight
[n, n], so that all of them keep the shape; sum reduces the whole tensor to one number, and what follows works on that.
"""

from __future__ import annotations

from collections.abc import Sequence

from ironlaw.engine.arrays import Number
from ironlaw.engine.device.types import Graph, Op, Tensor
from ironlaw.engine.device.work import op as make_op
from ironlaw.errors import BadValue, unknown

PALETTE = ("add", "mul", "relu", "gelu", "sigmoid", "layer_norm", "softmax", "dropout", "sum", "matmul")
BINARY = ("add", "mul")
KINDS = (*PALETTE, "scale", "shift", "copy")  # beside the palette: a multiply and an add by a number, and a plain copy


def chain(kinds: Sequence[str], shape: tuple[Number, Number], dtype: str = "fp16", training: bool = False) -> Graph:
    """`training`: each dropout also writes its mask, one byte per element, for the backward pass."""
    if not kinds:
        raise BadValue("a chain needs at least one op; give some of " + ", ".join(KINDS))
    here = Tensor("x", shape, dtype, "input")
    ops, kept = [], []
    for i, kind in enumerate(kinds, 1):
        if kind not in KINDS:
            raise unknown("op of a chain", kind, KINDS)
        op = _step(kind, i, here, training)
        ops.append(op)
        here = op.outputs[0]
        kept += [t.name for t in op.outputs[1:]]
    return Graph("chain", tuple(ops), dtype, {}, (here.name, *kept))


def _step(kind: str, i: int, x: Tensor, training: bool) -> Op:
    name, out = f"{i} {kind}", Tensor(f"t{i}", x.shape, x.dtype)
    if kind in BINARY:
        return make_op(kind, name, (x, Tensor(f"b{i}", x.shape, x.dtype, "input")), (out,))
    if kind == "matmul":
        return make_op(kind, name, (x, Tensor(f"w{i}", (x.shape[-1], x.shape[-1]), x.dtype, "weight")), (out,))
    if kind == "sum":
        return make_op(kind, name, (x,), (Tensor(f"t{i}", (1, 1), x.dtype),), over="all")
    if kind == "dropout" and training:
        return make_op(kind, name, (x,), (out, Tensor(f"mask{i}", x.shape, "bool")))
    return make_op(kind, name, (x,), (out,))
