"""LSTM, GRU and plain recurrent layers as cuDNN runs them: one call, and behind it a product for the inputs of all steps, then
step by step a product with the state and a kernel for the cell; or, where the state is small, one kernel that stays.

Which one it is follows PyTorch's choice (aten/src/ATen/native/cudnn/RNN.cpp, version 2.13) and traces on an H200
(evidence h200_sxm/recurrent). Sizes are plain numbers: nothing sweeps over a recurrent layer.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from ironlaw.backends.cuda.chip import processors, resident_share
from ironlaw.backends.cuda.evidence import seconds_of
from ironlaw.backends.cuda.gemm import gemm_curve, tiles_of
from ironlaw.backends.evidence_ops import recurrent_layer
from ironlaw.backends.kernel import Kernel, Sample
from ironlaw.backends.rows import Row
from ironlaw.engine.arrays import ceil
from ironlaw.engine.device.machine import NARROW, Hardware
from ironlaw.engine.device.types import FORMATS, Op
from ironlaw.engine.device.work import with_attrs
from ironlaw.engine.device.work.recurrent_work import CELLS, wanted, widths

SMALL = {"lstm": 192, "gru": 192, "rnn": 384}  # a state up to this wide stays in one block for the whole sequence
CLEARED_TILES = 8  # of the product of a step's gradient, up to which its result is cleared first
BACK = 0.9  # times as long as forward a kernel that stays takes for the gradient
NAMES = {"_cell": ("elemWiseRNNcell",), "_small": ("blockPersist_fp",), "_persistent": ("RNN_persist_fp", "lstm_tile")}


def persistent(op: Op, machine: Hardware) -> str:
    """The curve of the kernel that runs all steps by itself, or none where cuDNN goes step by step."""
    a, (_, batch, features) = op.attrs, op.inputs[0].shape
    cell, hidden = a["cell"], a["hidden"]
    if hidden <= round(SMALL[cell] * resident_share(machine)) and op.dtype != "bf16":  # cuDNN has none in BF16
        return "rnn_small"
    single = a["layers"] == a["directions"] == 1 and hidden <= 1024 and hidden % 128 == 0 and features % 128 == 0
    batched = batch % 8 == 0 and batch <= 128 and (cell == "lstm" or batch < 96 or hidden < 896)
    return f"{cell}_persistent" if op.dtype == "fp16" and cell != "gru" and single and batched else ""


def recurrent(op: Op, machine: Hardware) -> Sequence[Kernel]:
    if op.attrs.get("backward"):
        return gradients(op, machine)
    a, x = op.attrs, op.inputs[0]
    steps, batch, _ = x.shape
    gates = CELLS[a["cell"]][0] * a["hidden"]
    hidden, times, size = a["hidden"], a["directions"], FORMATS[x.dtype]
    products = []
    for wide in widths(x, a):
        data = (steps * batch * (wide + gates) + gates * wide) * size
        flops = 2.0 * steps * batch * gates * wide
        products.append(Kernel(gemm_curve(op.dtype, (wide, gates)), data, flops, depth=wide, count=times))
    each, alone = 2.0 * batch * gates * hidden, persistent(op, machine)
    moved = batch * (gates + 2.0 * hidden) * size
    fills = Kernel("tiny", 0.0, count=2.0 if a["cell"] == "lstm" else 1.0)  # the states it starts from
    if alone:
        calls = a["layers"] * times
        if alone == "rnn_small":  # a block for each sample walks all weights, step by step; as many at a time as there are multiprocessors
            walked = steps * ceil(batch / processors(machine))
            kept = Kernel(alone, 0.0, rows=walked, depth=walked * gates * hidden, count=calls)
        else:
            kept = Kernel(alone, steps * moved + gates * hidden * size, steps * each, depth=steps, count=calls)
        return (*products, kept, fills)
    data = (batch * (hidden + gates) + gates * hidden) * size
    count = steps * a["layers"] * times
    product = Kernel(gemm_curve(op.dtype, (hidden, gates)), data, each, depth=hidden, count=count)
    cell = Kernel(
        f"{a['cell']}_cell", moved + batch * gates * size, batch * hidden * CELLS[a["cell"]][1], count=steps * a["layers"] * times
    )
    return (*products, product, cell, fills)


def gradients(op: Op, machine: Hardware) -> Sequence[Kernel]:
    """Back through the steps: the cell's gradient, and the product with the weights of the state, as deep as there are
    gates. Then for all steps at once a product for each weight and for what came in, and a walk down the steps for each bias."""
    a, x = op.attrs, op.inputs[0]
    steps, batch, _ = x.shape
    gates = CELLS[a["cell"]][0] * a["hidden"]
    hidden, times, size = a["hidden"], a["directions"], FORMATS[x.dtype]
    tokens = steps * batch

    def product(out: float, deep: float, rows: float, count: float) -> Kernel:
        data = (rows * (out + deep) + out * deep) * size
        return Kernel(gemm_curve(op.dtype, (deep, out)), data, 2.0 * rows * out * deep, depth=deep, count=count)

    of_input = [product(wide, gates, tokens, times) for wide in widths(x, a)][0 if wanted(op.inputs, op.outputs) else 1 :]
    of_weights = [product(width, tokens, gates, times) for wide in widths(x, a) for width in (wide, hidden)]
    bias = Kernel("recurrent_bias", 0.0, depth=tokens, count=a["layers"] * times)
    whole, alone = (*of_input, *of_weights, bias), persistent(op, machine)
    count = steps * a["layers"] * times
    if alone == "rnn_small":
        walked, calls = BACK * steps * ceil(batch / processors(machine)), a["layers"] * times
        alone_back = Kernel(alone, 0.0, rows=walked, depth=walked * gates * hidden, count=calls)
        return *whole, alone_back, Kernel("tiny", 0.0, count=6.0 * calls)
    back = product(hidden, gates, batch, count)
    if op.dtype not in ("fp16", "bf16"):
        back = replace(back, curve="recurrent_back")
    cell = Kernel(f"{a['cell']}_cell", batch * (3.0 * gates + 4.0 * hidden) * size, count=count)
    return (
        *whole,
        back,
        cell,
        Kernel("fill", 0.0, count=count * (tiles_of(batch, hidden) <= CLEARED_TILES)),
        Kernel("tiny", 0.0, count=3.0 * a["layers"] * times),
    )


def recurrent_samples(row: Row, machine: Hardware) -> Iterator[Sample]:
    """The cell's kernel and the ones that stay, each with the seconds of one launch. Products follow the curves of products."""
    if row.error:
        return
    layer = recurrent_layer(row.op, row.params)
    if machine.narrows(layer.kind, layer.dtype):  # measured as PyTorch is set when it starts
        layer = with_attrs(layer, dtype=NARROW)
    for kernel in recurrent(layer, machine):
        for end, words in NAMES.items():
            seconds = seconds_of(row, words)
            if kernel.curve.endswith(end) and seconds:
                yield Sample(replace(kernel, count=1.0), seconds / float(kernel.count))


EAGER = {"recurrent": recurrent}
# cuDNN's products of a step's gradient in FP32 walk all gates in one block, and the sums of its biases all steps: 8.5 us for 1,024 gates
# at 8 and at 32 samples, 9.2 ns for each step from 2,568 steps to 159,744 (h200_sxm, steps of three opened models)
ESTIMATES = {
    "recurrent_back": {"floor": 1.9e-6, "cache": 4.8e12, "main": 4.8e12, "rate": 2e14, "knee": 1e-3, "step": 6.4e-9, "sd": 0.3},
    "recurrent_bias": {"floor": 3e-6, "step": 9.2e-9, "sd": 0.3},
}
ROWS = dict.fromkeys(("lstm", "gru", "rnn_tanh"), recurrent_samples)
