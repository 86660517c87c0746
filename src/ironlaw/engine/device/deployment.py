"""A decoder's graph as a serving engine runs it, and a deep one from a shallow one.

Three things differ from the graph as a framework runs it: the weights' matrices may be stored in a narrower format than they
are multiplied in; keys and values are kept in a format of their own, and a new token's are written behind the old ones
instead of copying all; and attention's scores stay on chip (tiled) or go through memory as three kernels.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from math import log

from ironlaw.engine.arrays import Number, total
from ironlaw.engine.device.fusion import FusionPlan, Group
from ironlaw.engine.device.types import Graph, Op, Tensor, bytes_per_element
from ironlaw.engine.device.work import op as make_op
from ironlaw.errors import BadValue


def serving(graph: Graph, weights: str = "", cache: str = "", tiled: bool = True) -> Graph:
    """`weights` and `cache` are number formats; empty keeps the graph's own. Arithmetic stays in the graph's format."""
    for fmt in filter(None, (weights, cache)):
        bytes_per_element(fmt)
    kept: dict[str, Tensor] = {}  # what later ops read in another format, or from the cache
    ops: list[Op] = []
    for op in graph.ops:
        inputs = tuple(_input(t, kept, weights, cache) for t in op.inputs)
        if op.kind == "cat" and any(t.role == "cache" for t in op.inputs):
            ops.append(_append(op, inputs, kept, cache or op.outputs[0].dtype))
        elif op.kind == "attention" and not tiled:
            ops += _apart(op, inputs)
        elif all(new is old for new, old in zip(inputs, op.inputs, strict=True)):
            ops.append(op)
        else:
            ops.append(make_op(op.kind, op.name, inputs, op.outputs, **{**op.attrs, "dtype": op.dtype}))
    return Graph(graph.name, tuple(ops), graph.dtype, graph.settings, graph.outputs)


def last_logits(graph: Graph) -> Graph:
    """A prompt as generation runs it: of each sequence [batch, tokens, width] only the last token goes through the head."""
    head = graph.ops[-1]
    if head.kind != "linear" or len(head.inputs[0].shape) != 3:
        return graph
    x, out = head.inputs[0], head.outputs[0]
    last = make_op(
        "linear", head.name, (replace(x, shape=(x.shape[0], 1, x.shape[2])), *head.inputs[1:]),
        (replace(out, shape=(out.shape[0], 1, out.shape[2])),), **head.attrs,
    )  # fmt: skip
    return replace(graph, ops=(*graph.ops[:-1], last))


def _input(t: Tensor, kept: dict[str, Tensor], weights: str, cache: str) -> Tensor:
    if t.name in kept:
        return replace(kept[t.name], shape=t.shape)
    if weights and t.role == "weight" and len(t.shape) > 1:  # gains and biases stay as they are
        return replace(t, dtype=weights)
    return replace(t, dtype=cache) if cache and t.role == "cache" else t


def _append(op: Op, inputs: tuple[Tensor, ...], kept: dict[str, Tensor], fmt: str) -> Op:
    """Instead of a new tensor of all tokens: the new ones, written into the cache."""
    new = next(t for t in inputs if t.role != "cache")
    kept[op.name] = replace(op.outputs[0], dtype=fmt, role="cache")
    return make_op("copy", op.name, (new,), (Tensor(f"{op.name}.new", new.shape, fmt),), dtype=op.dtype)


def _apart(op: Op, inputs: tuple[Tensor, ...]) -> list[Op]:
    """QKᵀ, softmax, PV: three kernels with the scores in memory between them. A causal mask is counted in full."""
    q, k, v = inputs[:3]
    scores = Tensor(f"{op.name}.scores", (*q.shape[:-1], k.shape[-2]), q.dtype)
    shares = replace(scores, name=f"{op.name}.softmax")
    turned = replace(k, shape=(*k.shape[:-2], k.shape[-1], k.shape[-2]))
    return [
        make_op("bmm", scores.name, (q, turned), (scores,), dtype=op.dtype),
        make_op("softmax", shares.name, (scores,), (shares,), dtype=op.dtype),
        make_op("bmm", op.name, (shares, v), op.outputs, dtype=op.dtype),
    ]


@dataclass(frozen=True, slots=True)
class Stack:
    """A model of many equal layers, from a graph that has three: what is outside them, and the one in the middle."""

    outside: tuple[Op, ...]
    first: tuple[Op, ...]
    layer: tuple[Op, ...]
    last: tuple[Op, ...]
    layers: int

    @property
    def ops(self) -> tuple[Op, ...]:
        return (*self.outside, *self.first, *self.layer, *self.last)

    def sum(self, each: Iterable[tuple[Op, Number]]) -> Number:
        """A quantity of every op, over the whole model."""
        inside = {id(op) for op in self.layer}
        return total(value * (self.layers - 2 if id(op) in inside else 1) for op, value in each)


def stack(graph: Graph, layers: int) -> Stack:
    """`graph` has three layers whose ops are named `layers.0.…` to `layers.2.…`; a fused op belongs where it begins."""
    if layers < 3:
        raise BadValue(f"a stack of {layers} layers can't be built from one of three; build the graph itself")
    parts: dict[str, list[Op]] = {"0": [], "1": [], "2": [], "": []}
    for op in graph.ops:
        head, _, rest = op.name.partition(".")
        parts[rest.partition(".")[0] if head == "layers" and rest[:1] in "012" else ""].append(op)
    if not parts["1"]:
        raise BadValue(f"graph {graph.name!r} has no ops named layers.1.…; give one with three layers")
    return Stack(tuple(parts[""]), tuple(parts["0"]), tuple(parts["1"]), tuple(parts["2"]), layers)


def regroup(graph: Graph, names: Iterable[tuple[str, ...]]) -> Graph:
    """`graph` with its ops joined as another's were, group by group, since sizes rarely change what may share a kernel."""
    ops = {op.name: op for op in graph.ops}
    groups = tuple(Group(tuple(ops[name] for name in group), (), "as planned before") for group in names)
    return FusionPlan(graph, groups, ()).graph


def largest_near(total: Callable[[int], float], capacity: float, guess: int, limit: int) -> int:
    """`memory.largest_that_fits` for a total that grows like a power of n and costs something to ask: from a guess, by secants.

    The largest n in 1 … limit with total(n) ≤ capacity; 0 where not even 1 fits.
    """
    low, high = 0, limit + 1  # fits, does not
    if capacity <= 0:
        return low
    known: dict[int, float] = {}
    n = min(max(guess, 1), limit)
    while high - low > 1:
        known[n] = total(n)
        low, high = (n, high) if known[n] <= capacity else (low, n)
        n = _between(known, capacity, low, high)
    return low


def _between(known: Mapping[int, float], capacity: float, low: int, high: int) -> int:
    """The next n to ask: where the power law through the two nearest known points meets the capacity, kept inside the bracket."""
    near = sorted(known, key=lambda n: abs(log(known[n] / capacity)))[:2]
    power = log(known[near[0]] / known[near[-1]]) / log(near[0] / near[-1]) if len(near) > 1 else 1.0
    wanted = near[0] * (capacity / known[near[0]]) ** (1.0 / power) if power > 0 else 0.0
    if len(known) > 16:
        wanted = (low + high) / 2.0  # no power law: halve
    return min(max(int(wanted), low + 1), high - 1)
