"""What an op takes of the device's memory for itself and gives back when it is done.

Convolutions and sorts agree with peaks of the allocator on an H200, one op at a time (evidence h200_sxm/scratch). A recurrent
layer's constants are of inference, which those rows, taken in training mode, do not cover; whole models check them. What an op leaves
beside its result, such as the places that a pool notes down, capture has seen (`settings["beside"]`).
"""

from __future__ import annotations

from ironlaw.backends.cuda.lowering import lower
from ironlaw.engine.arrays import SCALARS, Number, minimum
from ironlaw.engine.device.machine import Hardware
from ironlaw.engine.device.types import Op
from ironlaw.engine.device.work import lowering

CONVERTED = ("conv2d", "conv_transpose2d", "conv_backward")
SORTED, LONG_ROW = 1.75, 4096  # times what a sort returns, where a row is longer than a block sorts: keys and places once more
LIBRARY, KEPT = 32.0 * 2**20, 1.5  # of a recurrent layer: what cuDNN keeps, and so many times the gates of the whole sequence
NARROW, NARROW_KEPT = 128, 5.8  # in FP32, with so many numbers in its state or fewer, it keeps more
GATES = {"lstm": 4, "gru": 3, "rnn": 1}


def scratch(op: Op, machine: Hardware, mode: str) -> Number:
    """Bytes. A convolution holds what it converts to NHWC and its result before it is converted back; of the two gradients, one after the
    other, the same."""
    mode = lowering(op, mode)
    if op.kind in CONVERTED and mode == "eager":
        return sum(kernel.data / 2 * minimum(kernel.count, 1.0) for kernel in lower(op, machine, mode) if kernel.curve.startswith("layout"))
    out = op.outputs[0]
    if op.kind == "recurrent":
        kept = NARROW_KEPT if out.dtype == "fp32" and op.attrs["hidden"] <= NARROW else KEPT
        return LIBRARY + kept * GATES[op.attrs["cell"]] * out.bytes
    if op.kind == "fft":
        return out.bytes
    if op.kind == "topk" and isinstance(out.shape[-1], SCALARS) and LONG_ROW < out.shape[-1] == op.inputs[0].shape[-1]:  # all of it: a sort
        return SORTED * sum(t.bytes for t in op.outputs)
    return 0.0
