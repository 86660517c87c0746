"""Two ops of any kinds, to walk the fusion tree with. The tree looks at kinds, shapes and what a reduction is over; an op's work does
not matter to it and is not counted here."""

from __future__ import annotations

from ironlaw.engine.device.types import Op, Tensor, Work
from ironlaw.engine.device.work import category
from ironlaw.errors import BadValue

Shape = tuple[int, ...]
OVER = ("row", "all")


def pair(producer: str, consumer: str, shape: Shape, over: str = "row", last: Shape | None = None) -> tuple[Op, Op]:
    """Two ops, the second of which reads what the first makes. `over`: what reductions reduce, "row" or "all"; `last`: the shape of
    the second's result, if it differs from its input's."""
    first = make(producer, "1", Tensor("x", shape, role="input"), over)
    return first, make(consumer, "2", first.outputs[0], over, last)


def siblings(one: str, other: str, shape: Shape, over: str = "row", last: Shape | None = None) -> tuple[Op, Op]:
    """Two ops that read the same tensor."""
    x = Tensor("x", shape, role="input")
    return make(one, "1", x, over), make(other, "2", x, over, last)


def make(kind: str, tag: str, x: Tensor, over: str = "row", shape: Shape | None = None) -> Op:
    """An op on `x`. A reduction leaves one element per row, or one in total; other kinds keep the shape unless `shape` is given."""
    if over not in OVER:
        raise BadValue(f"a reduction over {over!r} is unknown; choose one of {', '.join(OVER)}")
    reduces = category(kind) == "reduction"
    result = shape or (((1,) if over == "all" else (*x.shape[:-1], 1)) if reduces else tuple(x.shape))
    out = Tensor(f"y{tag}", result, x.dtype)
    return Op(f"{kind} {tag}", kind, (x,), (out,), {"over": over} if reduces else {}, Work(), (x.bytes,), (out.bytes,), (kind, tag))
