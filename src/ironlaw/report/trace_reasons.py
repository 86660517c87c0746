"""Why an operator of a trace may take another time than predicted: what the trace and the prediction themselves say about it."""

from __future__ import annotations

from ironlaw.report.trace_join import Pair
from ironlaw.units import show

SHORT = 10e-6  # seconds below which a kernel's start and end are a good part of it
LAYOUT = ("nchwtonhwc", "nhwctonchw", "transpose", "permute", "layout")
ALIKE = 0.1  # a gap of a tenth needs no reason


def reason(pair: Pair, on_device: bool = True) -> str:
    """Empty where the two agree. `on_device`: whether the trace has kernels, which can be counted."""
    if pair.predicted <= 0 or abs(pair.gap) <= ALIKE * pair.predicted:
        return ""
    predicted, traced = round(sum(float(row.kernels) for row in pair.rows)), len(pair.kernels)
    if any(word in name.lower() for name in pair.kernels for word in LAYOUT) and pair.gap > 0:
        return "a kernel that changes the memory layout runs with it"
    if on_device and predicted != traced:
        return f"{traced} kernel{'s' if traced != 1 else ''} instead of {predicted}"
    if max(pair.measured, pair.predicted) < SHORT:
        return "too short to time well"
    if any(row.place in ("outside", "unknown") for row in pair.rows):
        return "nothing similar was measured, so the prediction is uncertain"
    moved, computed = (sum(float(getattr(row.work, name)) for row in pair.rows) for name in ("bytes", "flops"))
    data, compute = (sum(float(getattr(row, name)) for row in pair.rows) for name in ("data_s", "compute_s"))
    amount, unit = (moved, "B/s") if data >= compute else (computed, "FLOP/s")
    return f"reaches {show(amount / pair.measured, unit)} instead of {show(amount / pair.predicted, unit)}" if pair.measured > 0 else ""
