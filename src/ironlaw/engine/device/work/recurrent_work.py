"""LSTM, GRU and plain recurrent layers, whole sequences in one op."""

from __future__ import annotations

from ironlaw.engine.device.types import FORMATS, Tensor
from ironlaw.engine.device.work.op_count import Attrs, Count, Kinds, Tensors

kind = Kinds()
# cell -> (gates, operations per element of the state). LSTM: the two products added 4, three sigmoids 12, two tanh 2, the
# state's products and sum 3, the output's product 1. GRU: 3 + 8 + 1, the gated candidate 1, the blend 4. Plain: add and tanh.
CELLS = {"lstm": (4, 22.0), "gru": (3, 17.0), "rnn": (1, 2.0)}


@kind("contraction")
def recurrent(x: Tensors, y: Tensors, a: Attrs) -> Count:
    """inputs: [steps, batch, features], then the weights; attrs cell, hidden, layers, directions; of its gradients backward.

    Between its kernels it writes and reads back the gates of all steps, and what one layer hands to the next. Gradients take each product
    twice, but for one that nobody wants: that of what comes in.
    """
    steps, batch, _ = x[0].shape
    gates, each = CELLS[a["cell"]]
    hidden, calls = a["hidden"], a["layers"] * a["directions"]
    tokens = steps * batch
    products = sum(2.0 * tokens * gates * hidden * (wide + hidden) * a["directions"] for wide in widths(x[0], a))
    if a.get("backward"):
        unwanted = 0.0 if wanted(x, y) else 2.0 * tokens * gates * hidden * x[0].shape[-1] * a["directions"]
        products, each = 2.0 * products - unwanted, 2.0 * each
    between = calls * tokens * gates * hidden + (a["layers"] - 1.0) * tokens * hidden * a["directions"]
    return Count(
        matmul=products, vector=each * tokens * hidden * calls, scratch=between * FORMATS[x[0].dtype],
        launches=calls * (1.0 + 2.0 * steps),
    )  # fmt: skip


def widths(x: Tensor, a: Attrs) -> list[float]:
    """Features that go into each layer."""
    return [float(x.shape[-1])] + [float(a["hidden"] * a["directions"])] * (int(a["layers"]) - 1)


def wanted(inputs: Tensors, outputs: Tensors) -> bool:
    """Whether the gradient of what comes in is asked for."""
    return outputs[0].shape == inputs[0].shape
