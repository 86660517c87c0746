"""Curves for this machine, from what `ironlaw measure` has just measured."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from math import isfinite
from typing import Any

from ironlaw.backends import find
from ironlaw.backends.kernel import Kernel, Sample
from ironlaw.backends.rows import Row
from ironlaw.calibration.fit import calibrate, fit_curve
from ironlaw.calibration.machine_calibration import Calibration
from ironlaw.engine.device.chains import chain
from ironlaw.engine.device.machine import Hardware, Plan
from ironlaw.errors import IronlawError

# ops of which some must have been measured before curves are worth having: with none for convolutions, say, the nearest curve
# would stand in for them, and be called calibrated
NEEDED = (("linear", "matmul"), ("conv2d",), ("layer_norm", "softmax", "batch_norm"), ("add", "mul", "relu"))

CACHE = 5e7  # bytes: some of the timed curve's samples lie within, some beyond
BESIDE = 200  # rows of products, streams and launches
PER_ROW, PER_PAIR = 0.16, 2e-4  # in fits of one curve


def fit(rows: Sequence[Row], described: Mapping[str, Any], hardware: Hardware, sources: tuple[str, ...]) -> Calibration | None:
    """Curves, if the device has a backend, there are rows of every needed kind, and a small graph can be predicted from them."""
    usable = [row for row in rows if not row.error]
    ops = {row.op for row in usable if row.kind == "op"}
    if find(hardware.backend) is None or not all(ops.intersection(names) for names in NEEDED):
        return None
    try:
        fitted = calibrate(usable, described, hardware, sources, few=True)
    except (ValueError, KeyError, TypeError, ZeroDivisionError):  # no launch row, no cache size, nothing to take a median of
        return None
    return fitted if _predicts(fitted, hardware) else None


def fitting() -> Callable[[int], float]:
    """Rows -> seconds that `fit` will take of them here and now, by one curve's fit that is timed. Half of a thousand rows' time goes to
    how rows are related, which grows with their square; the two constants are those of the H200's rows and the Neoverse-N1's."""
    kernels = (Kernel("timed", data=float(2**i), rows=float(i)) for i in range(10, 30))
    samples = [Sample(kernel, 1e-6 + float(kernel.data) / 1e12 + float(kernel.rows) / 1e9) for kernel in kernels]
    times = []
    for _ in range(2):  # the first loads what fits
        begun = time.perf_counter()
        fit_curve(samples, CACHE)
        times.append(time.perf_counter() - begun)
    one = min(times)
    return lambda rows: one * (PER_ROW * (BESIDE + rows) + PER_PAIR * (BESIDE + rows) ** 2)


def _predicts(fitted: Calibration, hardware: Hardware) -> bool:
    """Whether a small graph of the usual ops gets a time from these curves."""
    graph = chain(("matmul", "add", "relu", "layer_norm", "softmax"), (64, 64), "fp32")
    try:
        seconds = [float(fitted.fitted_cost(op, hardware, Plan()).device) for op in graph.ops]
    except (IronlawError, KeyError, ZeroDivisionError):
        return False
    return all(isfinite(s) and s > 0 for s in seconds)
