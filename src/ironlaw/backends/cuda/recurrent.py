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
from ironlaw.backends.cuda.gemm import gemm_curve
from ironlaw.backends.evidence_ops import recurrent_layer
from ironlaw.backends.kernel import Kernel, Sample
from ironlaw.backends.rows import Row
from ironlaw.engine.arrays import ceil
from ironlaw.engine.device.machine import NARROW, Hardware
from ironlaw.engine.device.types import FORMATS, Op
from ironlaw.engine.device.work import with_attrs
from ironlaw.engine.device.work.recurrent_work import CELLS, widths

SMALL = {"lstm": 192, "gru": 192, "rnn": 384}  # a state up to this wide stays in one block for the whole sequence
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
ROWS = dict.fromkeys(("lstm", "gru", "rnn_tanh"), recurrent_samples)
