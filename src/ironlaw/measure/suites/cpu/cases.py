"""The wide sweep for a processor: which ops, at which shapes. FP32, as models run there; batch sizes that are usual there.

A case prepares its inputs and returns the call to time. Weights are walked through a pool far larger than the caches, so
they come from memory, as in a model whose layers take turns; activations stay where the last call left them. What is compiled,
and the tiny calls that show what a launch costs, are here; the single ops are in `products` and `movement`.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from typing import Any

from ironlaw.measure.devices.device import Case
from ironlaw.measure.software_host import compiler
from ironlaw.measure.suites.cpu import cpu_movement as moving
from ironlaw.measure.suites.cpu import cpu_products as computing


def cases() -> Iterator[Case]:
    """Every case, kind by kind."""
    weights = computing.Weights()
    yield from computing.linears(weights)
    yield from computing.convolutions(weights)
    yield from moving.pointwise()
    yield from moving.rowwise()
    yield from moving.planes()
    yield from computing.attention()
    yield from computing.products()
    yield from moving.movement()
    yield from loops()


LOOP_SHAPES = [(16, 768), (128, 768), (512, 768), (4096, 768), (64, 3136), (256, 784), (2048, 1024), (8192, 1024)]


def loops() -> Iterator[Case]:
    """Loops that torch.compile writes for a processor; nothing where no C++ compiler is found.

    `transcendental`: how many elements go through a function such as an exponential; `rows`: how many rows are reduced.
    """
    import torch
    import torch.nn.functional as F

    if not compiler():
        return
    written: dict[str, tuple[Callable[..., Any], int, str]] = {
        "scaled_relu": (lambda x: F.relu(x * 1.5 + 0.5), 1, ""), "added_relu": (lambda x, y: F.relu(x + y), 2, ""),
        "gelu": (lambda x: F.gelu(x * 1.5), 1, "transcendental"), "gated": (lambda x, y: F.silu(x) * y, 2, "transcendental"),
        "normed": (lambda x, y: F.layer_norm(x + y, x.shape[-1:]), 2, "rows"), "softmax": (lambda x: F.softmax(x * 0.1, -1), 1, "both"),
    }  # fmt: skip
    for (name, (call, inputs, what)), (rows, cols) in itertools.product(written.items(), LOOP_SHAPES):

        def prepare(call: Callable[..., Any] = call, inputs: int = inputs, rows: int = rows, cols: int = cols) -> Callable[[], Any]:
            return _compiled(call, [torch.randn(rows, cols) for _ in range(inputs)])

        params: dict[str, Any] = {"what": name, "read_bytes": 4 * inputs * rows * cols, "written_bytes": 4 * rows * cols, "dtype": "fp32"}
        params |= {"transcendental": rows * cols} if what in ("transcendental", "both") else {}
        yield Case("generated", params | ({"rows": rows} if what in ("rows", "both") else {}), prepare)


def _compiled(call: Callable[..., Any], inputs: list[Any]) -> Callable[[], Any]:
    import torch

    compiled = torch.compile(call, dynamic=False)
    compiled(*inputs)
    return lambda: compiled(*inputs)


def calls() -> dict[str, Callable[[], Any]]:
    """Ops on tiny tensors, as functions and as modules: what a call costs the host."""
    import torch
    import torch.nn.functional as F

    nn = torch.nn
    x, image, row = torch.randn(8, 8), torch.randn(1, 8, 4, 4), torch.randn(8)
    conv, linear, norm, planes = nn.Conv2d(8, 8, 1), nn.Linear(8, 8), nn.LayerNorm(8), nn.BatchNorm2d(8).eval()
    relu, gelu = nn.ReLU(), nn.GELU()
    entered = {"compiled": _compiled(lambda x: x * 1.5 + 0.5, [x])} if compiler() else {}  # all that a compiled call costs beside its loops
    return entered | {
        "add": lambda: x + x, "mul": lambda: x * x, "relu": lambda: F.relu(x), "gelu": lambda: F.gelu(x), "copy": x.clone,
        "softmax": lambda: F.softmax(x, -1), "layer_norm": lambda: F.layer_norm(x, (8,), norm.weight, norm.bias),
        "linear": lambda: F.linear(x, linear.weight, linear.bias), "conv2d": lambda: F.conv2d(image, conv.weight, conv.bias),
        "batch_norm": lambda: F.batch_norm(image, planes.running_mean, planes.running_var, planes.weight, planes.bias, False),
        "mean": lambda: x.mean(-1), "embedding": lambda: F.embedding(torch.zeros(1, dtype=torch.int64), x), "matmul": lambda: x @ x,
        "sum": row.sum, "view": lambda: x.view(64),
        "nn_relu": lambda: relu(x), "nn_gelu": lambda: gelu(x), "nn_layer_norm": lambda: norm(x), "nn_linear": lambda: linear(x),
        "nn_conv2d": lambda: conv(image), "nn_batch_norm": lambda: planes(image),
    }  # fmt: skip
