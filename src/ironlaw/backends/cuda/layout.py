"""Which images of a compiled graph have their channels innermost, and which sums torch.compile takes in two steps because of it.

Where it expects to gain, torch.compile gives every convolution of images its input as NHWC, and what is computed from the result stays
so; an image that was handed in is NCHW, and so is every volume. Else all stays as it was written. A sum over the planes of an NHWC image
runs across the order in memory: with few outputs it is shared out over the chip and joined by a second kernel, and then nothing before it
can be part of it. A group norm sums along the one order or across the other, and may have to turn the image round.

Ported from PyTorch 2.11: `GraphLowering.decide_layout_opt` in torch/_inductor/graph.py, `Reduction.num_splits` in ir.py and
`reduction_split_factor` in choices.py.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import replace

from ironlaw.backends.attention_patterns import recognised
from ironlaw.backends.cuda import norm
from ironlaw.backends.cuda.chip import processors
from ironlaw.backends.cuda.conv import CONVERTED
from ironlaw.backends.cuda.norm import sums_columns
from ironlaw.backends.inductor_fallbacks import called
from ironlaw.engine.arrays import is_array
from ironlaw.engine.device.machine import Hardware
from ironlaw.engine.device.types import Graph, Op
from ironlaw.engine.device.work import UNROLLED, category, traits, with_attrs

CONVOLUTIONS = ("conv2d", "conv_transpose2d")
# time in NHWC over that in NCHW, by kind of convolution, as PyTorch's authors measured
WORTH = {"grouped": 1.358, "default": 0.823, "narrowing": 0.725, "small": 0.783}
SMALL_CHANNELS = 64
FEW_CONVOLUTIONS = 300  # nodes of the compiler's graph for each convolution, from which layouts are left alone
# nodes that an op becomes in the compiler's graph, one by one: counted in graphs of models that Inductor lowered
NODES = norm.NODES | {"attention": 9, "linear": 4, "bmm": 6, "gelu": 7}
OTHERS = 3
# elements that a thread sums at least, rows that it takes at once, warps of a block and elements beside each other
EACH, ROWS_AT_ONCE, THREADS, BESIDE = 32, 4, 256, 128
MOST_EACH = 512
RESIDENT = 2048  # threads of a multiprocessor
UNROLLED_UP_TO = 8  # elements of a sum that is written out: `unroll_reductions_threshold` in torch/_inductor/config.py
FEW_OUTPUTS, LONG_SUM = 2, 8192  # for each multiprocessor, and elements: blocks share sums that are fewer and longer
UNSHARED = ("argmax", "cumsum")  # what is not summed up part by part
ENOUGH_OUTPUTS = 64  # for each multiprocessor: nothing is shared out from there on


def prepared(graph: Graph, machine: Hardware) -> Graph:
    """The graph that the compiler's fusion starts from: attention recognised, layouts chosen, long sums in two steps. Chips that take the
    same sums in two steps share it, and with it the plan of its fusion: the graph remembers."""
    if prepared not in graph.plans:
        graph.plans[prepared] = _on_any_chip(graph)
    common, sums = graph.plans[prepared]
    two_steps = frozenset((i, way) for i, way, each, count in sums if IN_TWO_STEPS[way](each, count, int(processors(machine))))
    if (prepared, two_steps) not in graph.plans:
        ways = dict(two_steps)
        ops = (with_attrs(op, **{ways[i]: True}) if i in ways else op for i, op in enumerate(common.ops))
        graph.plans[prepared, two_steps] = replace(common, ops=tuple(ops))
    ready: Graph = graph.plans[prepared, two_steps]
    return ready


def _on_any_chip(graph: Graph) -> tuple[Graph, list[tuple[int, str, int, int]]]:
    """The graph as every chip has it; and those sums that a chip may take in two steps: which, how ("split" across the order in memory,
    "shared" along it), of how many elements, how many of them."""
    graph = called(recognised(graph))
    last = channels_last(graph)
    inner = innermost(graph.ops) if last else set()
    ops, sums, turned = list(graph.ops), [], set[str]()
    for i, op in enumerate(graph.ops):
        if _stays(op, last):
            ops[i] = with_attrs(op, layout="nchw")
        elif op.kind in CONVOLUTIONS:
            weight = op.inputs[1].name
            ops[i] = with_attrs(op, **{CONVERTED: True}) if weight in turned else op  # all its copies are made by one loop
            turned.add(weight)
        elif (
            category(op.kind) == "reduction"
            and op.attrs.get("over", "row") == "row"
            and not is_array(op.inputs[0].size, op.outputs[0].size)
        ):
            x, y = op.inputs[0], op.outputs[0]
            if op.kind != "cumsum" and x.size <= UNROLLED_UP_TO * y.size:
                ops[i] = with_attrs(op, **{UNROLLED: True})
            elif (crosses := _crosses(op, inner)) or (x.size > LONG_SUM * y.size and op.kind not in UNSHARED):
                sums.append((i, "split" if crosses else "shared", int(x.size / y.size), int(y.size)))
    return replace(graph, ops=tuple(ops)), sums


def _stays(op: Op, last: bool) -> bool:
    """Whether a convolution, or its gradient, is left in NCHW: all are where the compiler expects nothing of NHWC, and volumes always;
    of gradients, those of lines."""
    if op.kind in CONVOLUTIONS:
        return not (last and op.attrs.get("dims", 2) <= 2) and "layout" not in op.attrs
    return op.kind == "conv_backward" and (not last or bool(op.inputs[1].shape[2] == 1 and op.inputs[2].shape[2] == 1))


def _crosses(op: Op, inner: set[str]) -> bool:
    """Whether neighbours in memory belong to different sums."""
    x, y = op.inputs[0], op.outputs[0]
    plane = len(x.shape) == 4 and x.name in inner and not is_array(x.size, y.size) and y.size == x.shape[0] * x.shape[1]
    return plane or sums_columns(op)


def channels_last(graph: Graph) -> bool:
    """Whether torch.compile expects to gain from NHWC: by the arithmetic of each kind of convolution, unless convolutions are few."""
    images = [op for op in graph.ops if op.kind in CONVOLUTIONS and op.attrs.get("dims", 2) != 1]
    if not images:
        return False
    nodes = len(graph.tensors) - sum(len(op.outputs) for op in graph.ops) + sum(NODES.get(op.kind, OTHERS) for op in graph.ops)
    if nodes >= FEW_CONVOLUTIONS * len(images):
        return False
    flops: dict[str, float] = defaultdict(float)
    for op in images:
        if is_array(op.work.matmul_flops):
            return True
        flops[_kind(op)] += op.work.matmul_flops
    return sum(WORTH[kind] * count for kind, count in flops.items()) <= sum(flops.values())


def _kind(op: Op) -> str:
    out, each, height = op.inputs[1].shape[:3]
    if op.attrs.get("groups", 1) > 1 and each > 1:
        return "grouped"
    if out <= SMALL_CHANNELS and each <= SMALL_CHANNELS:
        return "small"
    return "narrowing" if 2 * out <= each and height > 1 else "default"


def innermost(ops: Sequence[Op]) -> set[str]:
    """Names of the images whose channels are innermost, where convolutions keep them so."""
    inner: set[str] = set()
    for op in ops:
        if _makes(op) or any(t.name in inner and len(t.shape) == 4 for t in op.inputs):
            inner |= {t.name for t in op.outputs if len(t.shape) == 4}
    return inner


def parts(summed: int, outputs: int, chip: int) -> int:
    """Into how many parts each sum across the order in memory is cut; 1 where one kernel does it all."""
    if summed <= EACH or outputs >= chip * ENOUGH_OUTPUTS:
        return 1
    work = summed * outputs
    if work < EACH * chip * RESIDENT:
        size = EACH
    elif work < MOST_EACH * chip * RESIDENT:
        blocks = -(-(chip * RESIDENT // THREADS) // -(-outputs // BESIDE))
        size = _even(summed, -(-summed // (ROWS_AT_ONCE * blocks)), 20, EACH)
    else:
        size = _even(summed, MOST_EACH, 50, 1)
    return -(-summed // (ROWS_AT_ONCE * size))


def _even(summed: int, wanted: int, near: int, least: int) -> int:
    """The divisor nearest to the size that is wanted, where one is near."""
    closest = min((d for d in range(1, summed + 1) if summed % d == 0), key=lambda d: abs(d - wanted))
    return max(closest, least) if abs(closest - wanted) < near else wanted


def laid_out(ops: Sequence[Op]) -> tuple[Op, ...]:
    """The same ops; those with a group norm know the layout that it finds ("nhwc") or has to make ("to_nhwc")."""
    if not any(_grouped(op) for op in ops):
        return tuple(ops)
    inner: set[str] = set()
    read = {op.inputs[0].name for op in ops if _makes(op)}
    out = []
    for op in ops:
        innermost = any(t.name in inner for t in op.inputs)
        if innermost or _makes(op):
            inner |= {t.name for t in op.outputs if len(t.shape) == 4}
        turned = any(t.name in read for t in op.outputs)
        out.append(with_attrs(op, layout="nhwc" if innermost else "to_nhwc" if turned else "") if _grouped(op) else op)
    return tuple(out)


def _makes(op: Op) -> bool:
    """Whether it is a convolution in NHWC."""
    return any(part.kind == "conv2d" and part.attrs.get("layout") != "nchw" for part in op.attrs.get("parts", (op,)))


def _grouped(op: Op) -> bool:
    return any(traits(part.kind).grouped for part in op.attrs.get("parts", (op,)))


# whether a chip takes a sum in two steps: of how many elements, how many of them. Where blocks share one along the order in memory, what is
# before it stays in its kernel, and what follows waits until their parts are joined
IN_TWO_STEPS: dict[str, Callable[[int, int, int], bool]] = {
    "split": lambda summed, outputs, chip: parts(summed, outputs, chip) > 1,
    "shared": lambda summed, outputs, chip: outputs < FEW_OUTPUTS * chip and summed > LONG_SUM,
}
