"""A captured graph as JSON and back, equal to the last figure. An op's work is counted again from its kind, tensors and attributes."""

from __future__ import annotations

from typing import Any

from ironlaw.engine.device import work
from ironlaw.engine.device.types import Graph, Op, Tensor
from ironlaw.worker.json_values import Json, decode, encode


def to_json(graph: Graph) -> Json:
    """Each tensor once; ops refer to them by number, and to the first op that is equal but for its names in place of its attributes."""
    numbers: dict[Tensor, int] = {}
    firsts: dict[int, int] = {}  # a key, which equal ops share -> the first op

    def number(tensor: Tensor) -> int:
        return numbers.setdefault(tensor, len(numbers))

    def attributes(op: Op, place: int) -> Json:
        first = firsts.setdefault(id(op.key), place)
        return encode(dict(op.attrs)) if first == place else first

    ops = [[op.kind, op.name, [*map(number, op.inputs)], [*map(number, op.outputs)], attributes(op, i)] for i, op in enumerate(graph.ops)]
    return {
        "name": graph.name,
        "dtype": graph.dtype,
        "tensors": [[t.name, list(t.shape), t.dtype, t.role] for t in numbers],
        "ops": ops,
        "settings": encode(dict(graph.settings)),
        "outputs": list(graph.outputs),
    }


def from_json(data: Json) -> Graph:
    tensors = [Tensor(name, tuple(shape), dtype, role) for name, shape, dtype, role in data["tensors"]]
    memo: dict[Any, Any] = {}
    ops: list[Op] = []
    for kind, name, inputs, outputs, attrs in data["ops"]:
        read, made = tuple([tensors[i] for i in inputs]), tuple([tensors[i] for i in outputs])
        if isinstance(attrs, int):
            like = ops[attrs]
            ops.append(Op(name, kind, read, made, like.attrs, like.work, like.reads, like.writes, like.key))
        else:
            ops.append(work.op(kind, name, read, made, memo, **decode(attrs)))
    return Graph(data["name"], tuple(ops), data["dtype"], decode(data["settings"]), tuple(data["outputs"]))
