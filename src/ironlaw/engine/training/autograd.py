"""What autograd keeps of a forward pass for the backward pass.

`KEEPS` has one line for each kind of op: pairs (what is kept, for the gradient of which input). An input is its place, "out" the
op's output, "second" its second one (a mask, indices). So a product keeps each factor for the other's gradient, a GELU its input, a softmax
its output, an add nothing. What a pair is kept for must need a gradient: a linear layer keeps its input because its weight is trained; a
rotation keeps its cosines and not what it turns. From PyTorch 2.11, tools/autograd/derivatives.yaml.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from ironlaw.engine.arrays import Number, ceil
from ironlaw.engine.device.memory import homes
from ironlaw.engine.device.types import Graph, Op, Tensor
from ironlaw.engine.training.layers import layer_of
from ironlaw.formats import is_float

Pairs = tuple[tuple[int | str, int], ...]
PRODUCT: Pairs = ((0, 1), (1, 0))
INPUT: Pairs = ((0, 0),)
OUTPUT: Pairs = (("out", 0),)
NOTHING: Pairs = ()

KEEPS: Mapping[str, Pairs] = {
    **dict.fromkeys(("linear", "matmul", "conv2d", "mul", "grouped_matmul"), PRODUCT),
    **dict.fromkeys(("relu", "tanh", "sigmoid", "exp", "sqrt", "rsqrt", "softmax", "log_softmax"), OUTPUT),
    **dict.fromkeys(("gelu", "gelu_tanh", "silu", "relu6", "hardtanh", "square", "cube", "abs", "log", "erf", "cos", "sin"), INPUT),
    **dict.fromkeys(("layer_norm", "rms_norm", "group_norm", "batch_norm", "batch_norm_train"), ((0, 0), (0, 1))),
    **dict.fromkeys(("var", "max_pool2d", "avg_pool2d"), INPUT),
    **dict.fromkeys(("add", "sub", "neg", "scale", "shift", "cast", "copy", "transpose", "cat", "pad", "repeat", "view"), NOTHING),
    **dict.fromkeys(("sum", "mean", "cumsum", "fill", "compare", "argmax", "upsample"), NOTHING),
    **dict.fromkeys(("embedding", "gather", "scatter", "write"), ((1, 0),)),
    **dict.fromkeys(("dropout", "topk"), (("second", 0),)),
    "amax": ((0, 0), ("out", 0)),
    "div": ((1, 0), (0, 1), (1, 1)),
    "power": ((0, 0), (1, 0), (0, 1), (1, 1), ("out", 1)),
    "select": ((0, 1), (0, 2)),
    "attention": ((0, 0), (1, 0), (2, 0), ("out", 0)),
    "cross_entropy": (("out", 0), (1, 0)),
}
STATISTICS = ("layer_norm", "rms_norm", "group_norm", "batch_norm", "batch_norm_train", "attention", "max_pool2d")


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
    """The tensors that a gradient flows through: weights, and what is computed from them in floating point."""
    names = {t.name for t in graph.tensors.values() if t.role == "weight"}
    for op in graph.ops:
        if any(t.name in names for t in op.inputs):
            names.update(t.name for t in op.outputs if is_float(t.dtype))
    return names


def kept(graph: Graph, device: str = "cuda") -> Kept:
    """What one forward pass leaves for the backward pass; a tensor that several ops keep counts once.

    `device`: where libraries differ ("cuda" or "cpu"): the format of a norm's statistics and of a dropout's mask.
    """
    home, gradient = homes(graph), trains(graph)
    makers = {t.name: op.name for op in graph.ops for t in op.outputs}
    ops: dict[str, list[int]] = {}
    sizes: dict[str, Number] = {}
    for i, op in enumerate(graph.ops):
        for name, size in _of(op, graph, home, gradient, device):
            sizes.setdefault(name, size)
            ops.setdefault(name, []).append(i)
    tensors = (KeptTensor(n, sizes[n], tuple(ops[n]), layer_of(makers.get(n, graph.ops[ops[n][0]].name))) for n in sizes)
    return Kept(tuple(tensors))


def _of(op: Op, graph: Graph, home: Mapping[str, str], gradient: set[str], device: str) -> Iterator[tuple[str, Number]]:
    """What one op keeps: names of memory and bytes, of each once."""
    wanted = {i for i, t in enumerate(op.inputs) if t.name in gradient}
    if not wanted:
        return
    unknown = op.kind not in KEEPS
    pairs = tuple((i, i) for i in wanted) if unknown else KEEPS[op.kind]
    names: set[str] = set()
    for what, purpose in pairs:
        if purpose in wanted or op.kind == "attention":
            t = _tensor(op, what)
            if t is not None and t.role not in ("weight", "buffer"):
                names.add(home.get(t.name, t.name))
    for name in names:
        t = graph.tensors[name]
        yield name, t.bytes if op.kind != "dropout" or device == "cuda" else t.size * op.inputs[0].bytes / op.inputs[0].size
    if op.kind in STATISTICS or op.attrs.get("weighed"):
        yield f"{op.name} statistics", statistics(op, device)


def _tensor(op: Op, what: int | str) -> Tensor | None:
    if isinstance(what, int):
        return op.inputs[what] if what < len(op.inputs) else None
    place = 0 if what == "out" else 1
    return op.outputs[place] if place < len(op.outputs) else None


def statistics(op: Op, device: str = "cuda") -> Number:
    """Small tensors beside the large ones: a norm's mean and scale, attention's logarithm of each row's sum, a pool's indices, the
    weight that a loss divides by."""
    x = op.inputs[0]
    if op.attrs.get("weighed"):
        return 4.0
    if op.kind == "max_pool2d":
        return 8.0 * op.outputs[0].size
    if op.kind == "attention":
        batch, heads, seq, _ = x.shape
        whole_rows = device == "cuda" and x.dtype == "fp32"  # its kernel pads rows to 32
        return 4.0 * batch * heads * (32 * ceil(seq / 32) if whole_rows else seq)
    width = 4.0 if device == "cuda" else x.bytes / x.size
    if op.kind.startswith("batch_norm"):
        return 2.0 * x.shape[1] * width
    rows = x.shape[0] * op.attrs["groups"] if op.kind == "group_norm" else x.size / op.attrs.get("row", x.shape[-1])
    return (1.0 if op.kind == "rms_norm" else 2.0) * rows * width
