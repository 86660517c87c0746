"""What is known of a training step before it runs: which memory a tensor lies in, who reads it last, what is kept and for whom."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from math import prod

from ironlaw.engine.arrays import Number, smallest
from ironlaw.engine.device.memory import held, homes
from ironlaw.engine.device.types import Graph, Op, Tensor
from ironlaw.engine.training.autograd import kept, statistics, trains
from ironlaw.engine.training.loss import in_head, top_of

LINEAR = ("linear", "quantised_linear")
ASKED = ("attention", "rms_norm")  # whose statistics are made only where a gradient asks for them


@dataclass(frozen=True, slots=True)
class Place:
    """One op of the graph, in names of memory. Sizes are bytes."""

    name: str
    head: bool  # makes the logits or the loss
    kind: str
    outputs: tuple[str, ...]
    uses: tuple[str, ...]  # activations that go in
    read: tuple[tuple[str, Number], ...]  # activations that need a gradient, with the bytes that are read of each
    weights: tuple[tuple[str, Number, Number], ...]  # trained ones: elements, bytes
    spread: Number  # bytes of a trained mask's gradient before it is summed over a batch that shares the mask
    flows: tuple[str, ...]  # outputs whose gradient comes back; none: nothing happens in the backward pass
    extra: tuple[str, ...]  # statistics that it keeps
    aside: Number  # bytes of statistics that nobody keeps: there while it runs
    unpacked: Number  # bytes of a weight that is stored in fewer bits, while it is multiplied with
    leaves: tuple[str, ...]  # kept tensors that go after its backward pass
    first: bool  # whether its output is its own memory, not an input's written over
    viewed: tuple[str, ...]  # activations whose gradient from here is a view of a matrix


@dataclass(frozen=True, slots=True)
class Outline:
    places: tuple[Place, ...]
    sizes: Mapping[str, Number]
    kept: frozenset[str]
    last: Mapping[str, int]  # the last op that reads it
    ends: Mapping[int, tuple[str, ...]]  # the same by op
    of_head: frozenset[str]  # made by head and loss
    inputs: tuple[str, ...]  # the batch itself, which the caller holds
    loss: frozenset[str]  # the loss, which the caller holds as well; its gradient is there throughout the backward pass


def outline(graph: Graph) -> Outline:
    """The outline of a graph that ends in a loss."""
    home, trained, all_kept = homes(graph), trains(graph), kept(graph).tensors
    top = top_of(graph)
    sizes: dict[str, Number] = {name: t.bytes for name, t in graph.tensors.items()} | {t.name: t.bytes for t in all_kept}
    inputs = tuple(t.name for t in graph.tensors.values() if t.role == "input")
    shapes = {name: t.shape for name, t in graph.tensors.items()}
    leaves: dict[int, list[str]] = {}
    extra: dict[int, list[str]] = {}
    for one in all_kept:
        if one.name not in inputs:
            leaves.setdefault(one.ops[0], []).append(one.name)
        if one.name not in graph.tensors:
            extra.setdefault(one.ops[0], []).append(one.name)

    def of(i: int, op: Op) -> Place:
        outputs = tuple(home.get(t.name, t.name) for t in op.outputs if t.role == "activation")
        reads = [(home.get(t.name, t.name), t) for t in op.inputs]
        needs = any(t.name in trained for t in op.inputs)
        return Place(
            op.name, in_head(op.name, top), op.kind, outputs, tuple(name for name, t in reads if t.role == "activation"),
            tuple((name, t.bytes) for name, t in reads if t.name in trained and t.role == "activation"),
            tuple((t.name, t.size, t.bytes) for _, t in reads if t.role == "weight" and t.name in trained), _spread(op, trained),
            tuple(home.get(t.name, t.name) for t in op.outputs if t.name in trained) if needs else (),
            tuple(extra.get(i, ())), 0.0 if i in extra or op.kind in ASKED else statistics(op),
            op.attrs.get("unpacked", 0.0),
            tuple(leaves.get(i, ())), not any(name in outputs for name, _ in reads),
            tuple(name for name, t in reads[:1] if _flattened(op, t, shapes.get(name))),
        )  # fmt: skip

    places = tuple(of(i, op) for i, op in enumerate(graph.ops))
    last: dict[str, int] = {}
    for i, op in enumerate(graph.ops):
        last.update((home.get(t.name, t.name), i) for t in (*op.outputs, *op.inputs) if t.role == "activation")
    for name, i in held(graph).items():  # by the names of the model's own code
        last[name] = max(last.get(name, i), i)
    for place, op in zip(places, graph.ops, strict=True):  # the caller's names for what a loss is taken of live until it is there
        if place.head:
            given = (home.get(t.name, t.name) for t in op.inputs if t.role == "activation" and not top)
            last.update(dict.fromkeys((*place.outputs, *given), len(places) - 1))
    of_head = frozenset(name for place in places if place.head for name in (*place.outputs, *place.extra))
    ends: dict[int, tuple[str, ...]] = {}
    loss = frozenset(home.get(name, name) for name in graph.outputs)
    for name, i in last.items():
        if name not in loss:
            ends[i] = (*ends.get(i, ()), name)
    return Outline(places, sizes, frozenset(t.name for t in all_kept), last, ends, of_head, inputs, loss)


def _flattened(op: Op, read: Tensor, made: tuple[Number, ...] | None) -> bool:
    """Whether a linear layer turns its input into a matrix, and the matrix that comes back into a view."""
    return op.kind in LINEAR and (len(read.shape) > 2 or (made is not None and len(made) > 2))


def _spread(op: Op, trained: Collection[str]) -> Number:
    if op.kind != "attention" or len(op.inputs) < 4 or op.inputs[3].role != "weight" or op.inputs[3].name not in trained:
        return 0.0
    q, k, _, mask = op.inputs[:4]
    scores = prod(q.shape[:-1]) * k.shape[-2]
    return scores * mask.bytes / mask.size if smallest(scores - mask.size) > 0 else 0.0


def in_chunks(known: Outline, graph: Graph, chunks: int) -> Outline:
    """The outline of `graph`, which is the outlined one with head and loss in chunks: what stands before them is the same."""
    first = next(i for i, place in enumerate(known.places) if place.head)
    parts = {t.name: t.bytes for op in graph.ops[first:] for t in op.outputs}
    parts |= {t.name: t.bytes for op in graph.ops[first:] for t in op.inputs if t.role == "input"}
    head = [replace(place, read=tuple((name, size / chunks) for name, size in place.read)) for place in known.places[first:]]
    return replace(known, places=(*known.places[:first], *head), sizes={**known.sizes, **parts})
