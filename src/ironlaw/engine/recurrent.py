"""LSTM, GRU and plain recurrent layers as cuDNN runs them: one call, and behind it a product for the inputs of all steps, then
step by step a product with the state and a kernel for the cell; or, where the state is small, one kernel that stays.

Which one it is follows PyTorch's choice (aten/src/ATen/native/cudnn/RNN.cpp, version 2.13) and traces on an H200
(evidence h200_sxm/recurrent). Sizes are plain numbers: nothing sweeps over a recurrent layer.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from ironlaw.engine import lowering_cpu
from ironlaw.engine.kernels import Kernel, gemm_curve
from ironlaw.engine.lowering import LOWER
from ironlaw.engine.types import FORMATS, Op, Tensor
from ironlaw.engine.work import Count, Tensors, kind, op

# cell -> (gates, operations an element of the state). LSTM: the two products added 4, three sigmoids 12, two tanh 2, the
# state's products and sum 3, the output's product 1. GRU: 3 + 8 + 1, the gated candidate 1, the blend 4. Plain: add and tanh.
CELLS = {"lstm": (4, 22.0), "gru": (3, 17.0), "rnn": (1, 2.0)}
SMALL = {"lstm": 192, "gru": 192, "rnn": 384}  # a state up to this wide stays in one block for the whole sequence
NAMES = {"_cell": ("elemWiseRNNcell",), "_small": ("blockPersist_fp",), "_persistent": ("RNN_persist_fp", "lstm_tile")}
ROWS = {"lstm": "lstm", "gru": "gru", "rnn_tanh": "rnn"}  # rows of evidence -> cells


@kind("contraction")
def recurrent(x: Tensors, y: Tensors, a: Mapping[str, Any]) -> Count:
    """inputs: [steps, batch, features], then the weights; attrs cell, hidden, layers, directions.

    Between its kernels it writes and reads back the gates of all steps, and what one layer hands to the next.
    """
    steps, batch, _ = x[0].shape
    gates, each = CELLS[a["cell"]]
    hidden, calls = a["hidden"], a["layers"] * a["directions"]
    tokens = steps * batch
    products = sum(2.0 * tokens * gates * hidden * (wide + hidden) * a["directions"] for wide in widths(x[0], a))
    between = calls * tokens * gates * hidden + (a["layers"] - 1.0) * tokens * hidden * a["directions"]
    return Count(
        matmul=products, vector=each * tokens * hidden * calls, scratch=between * FORMATS[x[0].dtype],
        launches=calls * (1.0 + 2.0 * steps),
    )  # fmt: skip


def widths(x: Tensor, a: Mapping[str, Any]) -> list[float]:
    """Features that go into each layer."""
    return [float(x.shape[-1])] + [float(a["hidden"] * a["directions"])] * (int(a["layers"]) - 1)


def persistent(one: Op) -> str:
    """The curve of the kernel that runs all steps by itself, or none where cuDNN goes step by step."""
    a, (_, batch, features) = one.attrs, one.inputs[0].shape
    cell, hidden = a["cell"], a["hidden"]
    if hidden <= SMALL[cell]:
        return "rnn_small"
    single = a["layers"] == a["directions"] == 1 and hidden <= 1024 and hidden % 128 == 0 and features % 128 == 0
    batched = batch % 8 == 0 and batch <= 128 and (cell == "lstm" or batch < 96 or hidden < 896)
    return f"{cell}_persistent" if one.dtype == "fp16" and cell != "gru" and single and batched else ""


def lower_recurrent(one: Op) -> Sequence[Kernel]:
    a, x = one.attrs, one.inputs[0]
    steps, batch, _ = x.shape
    gates = CELLS[a["cell"]][0] * a["hidden"]
    hidden, times, size = a["hidden"], a["directions"], FORMATS[x.dtype]
    fmt = "tf32" if one.dtype == "fp32" else one.dtype  # cuDNN's default
    found = []
    for wide in widths(x, a):
        data = (steps * batch * (wide + gates) + gates * wide) * size
        flops = 2.0 * steps * batch * gates * wide
        found.append(Kernel(gemm_curve(fmt, (wide, gates)), data, flops, depth=wide, count=times))
    each, alone = 2.0 * batch * gates * hidden, persistent(one)
    moved = batch * (gates + 2.0 * hidden) * size
    fills = Kernel("tiny", 0.0, count=2.0 if a["cell"] == "lstm" else 1.0)  # the states it starts from
    if alone:
        calls = a["layers"] * times
        if alone == "rnn_small":  # a block for each few samples walks all weights, step by step
            kept = Kernel(alone, 0.0, rows=steps, depth=steps * gates * hidden, count=calls)
        else:
            kept = Kernel(alone, steps * moved + gates * hidden * size, steps * each, depth=steps, count=calls)
        return (*found, kept, fills)
    data = (batch * (hidden + gates) + gates * hidden) * size
    count = steps * a["layers"] * times
    product = Kernel(gemm_curve(fmt, (hidden, gates)), data, each, depth=hidden, count=count)
    cell = Kernel(
        f"{a['cell']}_cell", moved + batch * gates * size, batch * hidden * CELLS[a["cell"]][1], count=steps * a["layers"] * times
    )
    return (*found, product, cell, fills)


def lower_on_processor(one: Op) -> Sequence[Kernel]:
    """The same products one after the other, as the BLAS takes them, and the cell as one loop over its gates."""
    a, x = one.attrs, one.inputs[0]
    steps, batch, _ = x.shape
    gates, count = CELLS[a["cell"]][0] * a["hidden"], steps * a["layers"] * a["directions"]

    def product(rows: float, wide: float, times: float) -> list[Kernel]:
        inputs = [Tensor("x", (rows, wide), x.dtype), Tensor("w", (gates, wide), x.dtype, "weight")]
        made = op("linear", "product", inputs, [Tensor("y", (rows, gates), x.dtype)])
        return [replace(k, count=k.count * times) for k in lowering_cpu.matrix(made)]

    inputs = [k for wide in widths(x, a) for k in product(steps * batch, wide, a["directions"])]
    cell = Kernel("sigmoid", batch * (gates + 2.0 * a["hidden"]) * FORMATS[x.dtype], count=count)
    return (*inputs, *product(batch, a["hidden"], count), cell)


LOWER["recurrent"] = lower_recurrent
lowering_cpu.LOWER["recurrent"] = lower_on_processor


# ---- from evidence


def of_row(name: str, p: Mapping[str, Any]) -> Op:
    """The op that a row of lstm, gru or rnn_tanh was measured on."""
    cell, both = ROWS[name], 2 if p["both"] else 1
    x = Tensor("x", (p["steps"], p["batch"], p["features"]), p["dtype"], "input")
    attrs = {"cell": cell, "hidden": p["hidden"], "layers": p["layers"], "directions": both}
    gates = CELLS[cell][0] * p["hidden"]
    weights = []
    for layer, wide in enumerate(widths(x, attrs)):
        for way in range(both):
            shapes = ((gates, int(wide)), (gates, p["hidden"]), (gates,), (gates,))
            weights += [Tensor(f"w{layer}.{way}.{i}", shape, p["dtype"], "weight") for i, shape in enumerate(shapes)]
    y = Tensor("y", (p["steps"], p["batch"], p["hidden"] * both), p["dtype"])
    return op("recurrent", name, [x, *weights], [y], **attrs)


def parts(row: Mapping[str, Any]) -> Iterator[tuple[Kernel, float]]:
    """The cell's kernel and the ones that stay, each with the seconds of one launch. Products follow the curves of products."""
    for kernel in lower_recurrent(of_row(row["op"], row["params"])):
        for end, words in NAMES.items():
            seconds = sum(k["seconds"] for k in row.get("list", ()) if any(word in k["name"] for word in words))
            if kernel.curve.endswith(end) and seconds:
                yield kernel, seconds / float(kernel.count)
