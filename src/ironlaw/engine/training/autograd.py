"""What autograd keeps of a forward pass for the backward pass, by what each kind of op keeps (`engine.device.work.keeping`)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from ironlaw.engine.arrays import Number
from ironlaw.engine.device.memory import homes
from ironlaw.engine.device.saving import ON_GPU, Saving
from ironlaw.engine.device.types import Graph, Op, Tensor
from ironlaw.engine.device.work import traits
from ironlaw.engine.training.recipes import parameters
from ironlaw.engine.training.training_layers import layer_of
from ironlaw.formats import is_float


@dataclass(frozen=True, slots=True)
class KeptTensor:
    """A tensor (by the name of the memory that it lies in), its bytes, and the ops that keep it, by their place in the graph."""

    name: str
    bytes: Number
    ops: tuple[int, ...]
    layer: str  # of the op that makes it, or the first that keeps it where none does


@dataclass(frozen=True, slots=True)
class Kept:
    """All that is kept; parameters are there anyway and are left out."""

    tensors: tuple[KeptTensor, ...]

    @property
    def bytes(self) -> Number:
        return sum(t.bytes for t in self.tensors)

    @property
    def by_layer(self) -> dict[str, Number]:
        """Bytes of each layer, "" for what stands before, between and after them."""
        layers: dict[str, Number] = {}
        for t in self.tensors:
            layers[t.layer] = layers.get(t.layer, 0.0) + t.bytes
        return layers


def trains(graph: Graph) -> set[str]:
    """The tensors that a gradient flows through: weights that are not frozen, and what is computed from them in floating point."""
    names = {t.name for t in parameters(graph)}
    for op in graph.ops:
        if any(t.name in names for t in op.inputs):
            names.update(t.name for t in op.outputs if is_float(t.dtype))
    return names


def kept(graph: Graph, saving: Saving = ON_GPU) -> Kept:
    """What one forward pass leaves for the backward pass; a tensor that several ops keep counts once.

    `saving`: in what formats the library saves statistics and masks (`backends.require("cpu").saving`); a GPU's unless given.
    """
    home, gradient = homes(graph), trains(graph)
    makers = {t.name: op.name for op in graph.ops for t in op.outputs}
    ops: dict[str, list[int]] = {}
    sizes: dict[str, Number] = {}
    for i, op in enumerate(graph.ops):
        for name, size in _of(op, graph, home, gradient, saving):
            sizes.setdefault(name, size)
            ops.setdefault(name, []).append(i)
    tensors = (KeptTensor(n, sizes[n], tuple(ops[n]), layer_of(makers.get(n, graph.ops[ops[n][0]].name))) for n in sizes)
    return Kept(tuple(tensors))


def _of(op: Op, graph: Graph, home: Mapping[str, str], gradient: set[str], saving: Saving) -> Iterator[tuple[str, Number]]:
    """What one op keeps: names of memory and bytes, of each once."""
    wanted = {i for i, t in enumerate(op.inputs) if t.name in gradient}
    if not wanted:
        return
    keeps = traits(op.kind).keeps
    pairs = tuple((i, i) for i in wanted) if keeps is None else keeps
    names: set[str] = set()
    for what, purpose in pairs:
        if purpose in wanted or op.kind == "attention":
            t = _tensor(op, what)
            if t is not None and t.role not in ("weight", "buffer"):
                names.add(home.get(t.name, t.name))
    for name in names:
        t = graph.tensors[name]
        yield name, t.bytes if op.kind != "dropout" or saving.byte_masks else t.size * op.inputs[0].bytes / op.inputs[0].size
    if traits(op.kind).statistics or op.attrs.get("weighed"):
        yield f"{op.name} statistics", statistics(op, saving)


def _tensor(op: Op, what: int | str) -> Tensor | None:
    if isinstance(what, int):
        return op.inputs[what] if what < len(op.inputs) else None
    place = 0 if what == "out" else 1
    return op.outputs[place] if place < len(op.outputs) else None


def statistics(op: Op, saving: Saving = ON_GPU) -> Number:
    """Small tensors beside the large ones: a norm's mean and scale, attention's logarithm of each row's sum, a pool's indices, the
    weight that a loss divides by."""
    if op.attrs.get("weighed"):
        return 4.0
    count = traits(op.kind).statistics
    return count(op.inputs, op.outputs, op.attrs, saving) if count else 0.0
