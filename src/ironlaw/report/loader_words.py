"""Whether the samples come fast enough: what a loader gives per second, against what the call takes."""

from __future__ import annotations

from ironlaw.engine.device.prediction import Prediction
from ironlaw.errors import BadValue
from ironlaw.systems.value_readers import read_figure
from ironlaw.units import significant

WHEN = " once the loader keeps up"


def read_rate(value: str | float) -> float:
    """`850/s`, `850` or a number: samples per second."""
    text = value.strip().removesuffix("/s") if isinstance(value, str) else value
    return float(read_figure(text, "", False, "850/s"))


def fed(p: Prediction, batch: int | None, rate: float) -> tuple[str, bool]:
    """`The loader gives 850 samples per second and the step could take 2,350: the GPU starves for 64% of the time`; and whether it does."""
    if not batch:
        raise BadValue("`loader` needs the batch size, which this model does not show; give --batch")
    needs = batch / float(p.seconds)
    given = f"The loader gives {significant(rate)} samples per second, and {p.hardware.slug} could take {significant(needs)}"
    if rate >= needs:
        return f"{given}, so it is fast enough.", False
    return (
        f"{given}, so the GPU starves for {1 - rate / needs:.0%} of the time. Speed up the loader first, because nothing else helps.",
        True,
    )
