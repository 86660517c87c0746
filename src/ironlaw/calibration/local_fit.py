"""Curves for this machine, from what `ironlaw measure` has just measured."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import isfinite
from typing import Any

from ironlaw.backends import find
from ironlaw.backends.rows import Row
from ironlaw.calibration.fit import calibrate
from ironlaw.calibration.machine_calibration import Calibration
from ironlaw.engine.device.chains import chain
from ironlaw.engine.device.machine import Hardware, Plan
from ironlaw.errors import IronlawError

# ops of which some must have been measured before curves are worth having: with none for convolutions, say, the nearest curve
# would stand in for them, and be called calibrated
NEEDED = (("linear", "matmul"), ("conv2d",), ("layer_norm", "softmax", "batch_norm"), ("add", "mul", "relu"))


def fit(rows: Sequence[Row], described: Mapping[str, Any], hardware: Hardware, sources: tuple[str, ...]) -> Calibration | None:
    """Curves, if the device has a backend, there are rows of every needed kind, and a small graph can be predicted from them."""
    usable = [row for row in rows if not row.error]
    ops = {row.op for row in usable if row.kind == "op"}
    if find(hardware.backend) is None or not all(ops.intersection(names) for names in NEEDED):
        return None
    try:
        fitted = calibrate(usable, described, hardware, sources)
    except (ValueError, KeyError, TypeError, ZeroDivisionError):  # no launch row, no cache size, nothing to take a median of
        return None
    return fitted if _predicts(fitted, hardware) else None


def _predicts(fitted: Calibration, hardware: Hardware) -> bool:
    """Whether a small graph of the usual ops gets a time from these curves."""
    graph = chain(("matmul", "add", "relu", "layer_norm", "softmax"), (64, 64), "fp32")
    try:
        seconds = [float(fitted.fitted_cost(op, hardware, Plan()).device) for op in graph.ops]
    except (IronlawError, KeyError, ZeroDivisionError):
        return False
    return all(isfinite(s) and s > 0 for s in seconds)
