"""The calls behind a captured graph's ops, written down so that they can be made again elsewhere, on tensors with memory.

A call is JSON: the name of the function, and its arguments. A tensor among them is its sizes, strides and format, whether it is a weight,
which of the call's storages it lies in, and where. Another process can read it without the model's code.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor

from ironlaw.engine.device.types import Graph
from ironlaw.tracing.capture import captured
from ironlaw.tracing.graph_json import to_json
from ironlaw.tracing.load_target import load
from ironlaw.tracing.recorder import Recorder
from ironlaw.worker.json_values import Json, decode, encode

TENSOR, WORD = "tensor", "torch"  # keys of an object that stands for a tensor, and for a value such as torch.float32


def calls_of(call: Any, args: Sequence[Any] = (), kwargs: Mapping[str, Any] | None = None) -> tuple[Graph, list[Json]]:
    """The graph of a call, and for each of its ops the call that it came from; None where a call came to several ops, or can't be written
    down."""
    heard: dict[int, Json] = {}

    def hear(recorder: Recorder, func: Any, args: Any, kwargs: Any) -> None:
        heard[recorder.call[1]] = written(recorder, func, args, kwargs)

    graph = captured(call, args, kwargs, heard=hear)
    numbers = [number for _, number in graph.settings["calls"]]
    ops = Counter(number for number, op in zip(numbers, graph.ops, strict=True) if op.work.launches)
    return graph, [heard.get(number) if ops[number] == 1 else None for number in numbers]


def written(recorder: Recorder, func: Any, args: Any, kwargs: Any) -> Json:
    """One call; None where an argument has no written form."""
    storages: dict[int, int] = {}

    def one(value: Any) -> Any:
        if isinstance(value, Tensor):
            if value.layout != torch.strided or value.is_conj():
                raise TypeError("a sparse or conjugated tensor")
            place = recorder.place(value)
            name = str(value.dtype).removeprefix("torch.")
            role = recorder.names.get(place, ("", "activation"))[1]
            lies = [storages.setdefault(place, len(storages)), int(value.storage_offset())]
            return {TENSOR: [list(map(int, value.shape)), list(map(int, value.stride())), name, role, *lies]}
        if isinstance(value, (list, tuple)):
            return [one(each) for each in value]
        if isinstance(value, torch.device):
            return {"device": True}  # that of the machine where it is called again
        if isinstance(value, (torch.dtype, torch.layout, torch.memory_format)):
            return {WORD: str(value).removeprefix("torch.")}
        if value is None or isinstance(value, (bool, int, float, str)):
            return value
        raise TypeError(f"a {type(value).__name__}")

    try:
        return {"func": str(func), "args": one(args), "kwargs": {name: one(value) for name, value in kwargs.items()}}
    except TypeError:
        return None


def job(request: Json, send: Callable[[Json], None]) -> Json:
    """What a worker does: the user's file is read there. `request`: as `ironlaw.tracing.capture_job` takes it, for one size."""
    target = load(request["target"], request["input"], request["batch"], request["dtype"], request["seq"], decode(request["set"]))
    graph, calls = calls_of(target.call, target.args, target.kwargs)
    return {"graph": to_json(graph), "calls": encode(calls)}
