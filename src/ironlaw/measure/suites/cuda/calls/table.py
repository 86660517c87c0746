"""Every call of the sweep by the name of its op. PyTorch is imported with this file, so it is imported only when calls are made."""

from __future__ import annotations

from ironlaw.measure.suites.cuda.calls import (
    attention,
    backward,
    convolution,
    generated,
    moe,
    movement,
    norms,
    pointwise,
    products,
    quantised,
    recurrent,
    rowwise,
    single_calls,
    solvers,
    writes,
)
from ironlaw.measure.suites.cuda.calls.making import Make

SUBJECTS = (
    attention, backward, convolution, generated, moe, movement, norms, pointwise, products, quantised, recurrent, rowwise,
    single_calls, solvers, writes,
)  # fmt: skip
CALLS: dict[str, Make] = {op: make for subject in SUBJECTS for op, make in subject.CALLS.items()}
