"""Which images of a compiled graph have their channels innermost.

torch.compile gives a convolution its input as NHWC, and what is computed from its result stays so; an image that was handed in is
NCHW. A group norm is where it tells: it sums along the one order or across the other, and may have to turn the image round.
"""

from __future__ import annotations

from collections.abc import Sequence

from ironlaw.engine.device.types import Op
from ironlaw.engine.device.work import with_attrs


def laid_out(ops: Sequence[Op]) -> tuple[Op, ...]:
    """The same ops; those with a group norm know the layout that it finds ("nhwc") or has to make ("to_nhwc")."""
    if not any(_has(op, "group_norm") for op in ops):
        return tuple(ops)
    inner: set[str] = set()
    read = {op.inputs[0].name for op in ops if _has(op, "conv2d")}
    out = []
    for op in ops:
        innermost = any(t.name in inner for t in op.inputs)
        if innermost or _has(op, "conv2d"):
            inner |= {t.name for t in op.outputs if len(t.shape) == 4}
        turned = any(t.name in read for t in op.outputs)
        out.append(with_attrs(op, layout="nhwc" if innermost else "to_nhwc" if turned else "") if _has(op, "group_norm") else op)
    return tuple(out)


def _has(op: Op, kind: str) -> bool:
    return op.kind == kind or any(part.kind == kind for part in op.attrs.get("parts", ()))
