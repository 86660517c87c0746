"""The fusion decision tree: may a producer and the consumer of its output be one kernel, and why.

In this order:

    matmul or convolution → element-wise           epilogue: done on the tile before it is written
    element-wise → element-wise, same shape        pointwise
    anything computed per element → element-wise,
      or → a reduction along the row               vertical: the value is used where it is made
    two consumers of one input, same shape         horizontal: one read serves both (`engine.fusion` looks for those)
    otherwise                                      not

A reduction must finish before what depends on it. Along a row it can stay in one kernel (softmax, layer norm); over the
whole tensor it splits kernels, unless the tensor is small enough for one block.
"""

from __future__ import annotations

from dataclasses import dataclass

from ironlaw.engine.arrays import Number, smallest
from ironlaw.engine.device.compiler_rules import TREE, Rules
from ironlaw.engine.device.types import Op, Tensor
from ironlaw.engine.device.work import EAGER, SMALL_REDUCTION, UNCOMPILED, category, in_pieces

PER_ELEMENT = ("elementwise", "movement", "lookup", "window")  # producers whose outputs are made element by element
FUSED = "fused"


@dataclass(frozen=True, slots=True)
class Verdict:
    """May `producer` and `consumer` be one kernel? `pattern` names the branch of the tree that was taken."""

    producer: str
    consumer: str
    fused: bool
    pattern: str  # epilogue | pointwise | vertical | horizontal | barrier | none
    reason: str


def decide(producer: Op, consumer: Op, rules: Rules = TREE) -> Verdict:  # noqa: C901  the tree, branch by branch in its own order
    """Walk the tree for one producer–consumer edge."""
    if FUSED in (producer.kind, consumer.kind):
        return Verdict(producer.name, consumer.name, False, "none", "one of the two is a fused kernel already")
    before, after = category(producer.kind), category(consumer.kind)
    same = same_size(producer.outputs[0], consumer.outputs[0])

    def verdict(fused: bool, pattern: str, reason: str) -> Verdict:
        if pattern == "vertical" and fused and not rules.vertical:
            fused, pattern, reason = False, "none", f"only neighbours that visit the same elements are joined: {consumer.kind} does not"
        return Verdict(producer.name, consumer.name, fused, pattern, reason)

    if "free" in (before, after):
        return verdict(False, "none", "a view moves nothing and launches nothing: there is nothing to fuse")
    if "opaque" in (before, after):
        return verdict(False, "none", f"nothing is known of what {(producer if before == 'opaque' else consumer).kind} does inside")
    if alone := next((op for op in (producer, consumer) if UNCOMPILED in op.attrs), None):
        whose = "is left to Python" if alone.attrs[UNCOMPILED] == EAGER else "comes from a library"
        return verdict(False, "none", f"the compiler writes no code for this {alone.kind}, because it {whose}")
    if why := _in_memory(producer, consumer, rules):
        return verdict(False, "none", why)
    if before == "contraction" and after == "elementwise":
        if not same:
            return verdict(False, "none", f"{consumer.kind} changes the shape of what {producer.kind} made, so a tile can't finish it")
        if not rules.epilogue:
            return verdict(False, "none", f"{producer.kind} comes from a library that takes no epilogue")
        return verdict(True, "epilogue", f"{consumer.kind} is done on {producer.kind}'s tile before the tile is written")
    if after in ("contraction", "attention"):
        return verdict(
            False, "none", f"{consumer.kind} reads each element many times, so storing {producer.kind} costs less than recomputing it"
        )
    if after in ("window", "lookup") or consumer.attrs.get("rolled"):
        return verdict(False, "none", f"{consumer.kind} reads elements out of order, so {producer.kind} must be stored for it")
    if before == "contraction" and after == "movement":
        return verdict(False, "none", f"{consumer.kind} writes outside {producer.kind}'s tile, so it is a kernel of its own")
    if before == "contraction":
        return verdict(False, "barrier", f"{consumer.kind} needs a whole row, and {producer.kind}'s rows are spread over tiles")
    if before == "reduction" and producer.attrs.get("over", "row") == "all" and not _small(producer.inputs[0]):
        return verdict(False, "barrier", f"{producer.kind} over the whole tensor must finish before {consumer.kind} can start")
    if consumer.attrs.get("split"):
        return verdict(False, "barrier", f"{consumer.kind} is taken in parts, which cut across what {producer.kind} makes")
    if (producer.attrs.get("split") or producer.attrs.get("shared")) and not same:
        return verdict(False, "barrier", f"{producer.kind} is taken in parts and must be joined before {consumer.kind} can start")
    if after == "reduction" and consumer.attrs.get("over", "row") == "all" and not _small(consumer.inputs[0]):
        if before == "elementwise":
            return verdict(
                True, "vertical", f"{consumer.kind} takes {producer.kind}'s elements as they are made; the parts are joined later"
            )
        return verdict(False, "barrier", f"{consumer.kind} over the whole tensor is split over kernels")
    if before == "elementwise" and after == "elementwise" and same:
        return verdict(True, "pointwise", f"{producer.kind} and {consumer.kind} visit the same elements in the same order")
    if rules.recompute and before in PER_ELEMENT and after in ("elementwise", "movement") and _smaller(consumer, producer):
        return verdict(False, "none", f"{consumer.kind} goes over a part of what {producer.kind} makes: a loop of its own")
    if after in ("elementwise", "movement"):
        return verdict(True, "vertical", f"{consumer.kind} uses {producer.kind}'s value where it is made")
    # the consumer reduces along a row
    if before in PER_ELEMENT:
        return verdict(True, "vertical", f"{consumer.kind} reduces along the row that {producer.kind} is making")
    return verdict(True, "vertical", f"{producer.kind} and {consumer.kind} reduce along the same row, which stays on chip")


def _in_memory(producer: Op, consumer: Op, rules: Rules) -> str:
    """Why any consumer must read the producer's result from memory; empty if it need not."""
    if category(producer.kind) == "attention":
        return "a tiled attention kernel is taken from a library as it is"
    if producer.kind == "topk":
        return "sorting is taken from a library as it is"
    if producer.kind == "write":
        return f"{consumer.kind} reads a tensor of which only a part was written: all of it must be in memory"
    if rules.recompute and in_pieces(producer):
        return f"{len(producer.inputs)} tensors are put together by as many kernels"
    return ""


def same_size(a: Tensor, b: Tensor) -> bool:
    return fixed(a.size) == fixed(b.size)


def _smaller(one: Op, other: Op) -> bool:
    return smallest(other.outputs[0].size - one.outputs[0].size) > 0


def fixed(size: Number) -> object:
    # two sweeps have the same size when they do so everywhere; their first and last entries tell
    return size if isinstance(size, (int, float)) else (float(size.flat[0]), float(size.flat[-1]))


def _small(t: Tensor) -> bool:
    return smallest(SMALL_REDUCTION - t.size) >= 0
