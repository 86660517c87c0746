"""A captured graph as JSON and back, equal to the last figure. An op's work is counted again from its kind, tensors and attributes."""

from __future__ import annotations

from typing import Any

from ironlaw.engine.device import work
from ironlaw.engine.device.types import Graph, Tensor
from ironlaw.worker.json_values import Json, decode, encode


def to_json(graph: Graph) -> Json:
    """Each tensor once; ops refer to them by number."""
    numbers: dict[Tensor, int] = {}

    def number(tensor: Tensor) -> int:
        return numbers.setdefault(tensor, len(numbers))

    ops = [[op.kind, op.name, [*map(number, op.inputs)], [*map(number, op.outputs)], encode(dict(op.attrs))] for op in graph.ops]
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
    ops = tuple(
        work.op(kind, name, tuple(tensors[i] for i in inputs), tuple(tensors[i] for i in outputs), memo, **decode(attrs))
        for kind, name, inputs, outputs, attrs in data["ops"]
    )
    return Graph(data["name"], ops, data["dtype"], decode(data["settings"]), tuple(data["outputs"]))
