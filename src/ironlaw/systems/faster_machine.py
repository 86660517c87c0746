"""A machine of the registry with faster arithmetic or faster memory than it has."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache

from ironlaw.engine.device.machine import Hardware
from ironlaw.registry.machines import hardware, registered
from ironlaw.registry.transfers import taught

ACHIEVED = "achieved."  # how a file's measured rates are named among its figures


def faster(name: str, flops: float = 1.0, bandwidth: float = 1.0) -> Hardware:
    """`faster("h100_sxm", bandwidth=1.1)`: main memory so many times as fast; `flops`: arithmetic, with the clock and the power for it.

    Nobody measured such a machine: it is predicted from its figures."""
    return _faster(name, flops, bandwidth) if (flops, bandwidth) != (1.0, 1.0) else hardware(name)


@lru_cache(maxsize=64)
def _faster(name: str, flops: float, bandwidth: float) -> Hardware:
    base = hardware(name)
    peaks, sparse, vector = ({fmt: flops * rate for fmt, rate in table.items()} for table in (base.peaks, base.sparse, base.vector))
    units = {unit: flops * value if unit == "clock" else value for unit, value in base.units.items()}
    figures = {
        key: replace(figure, value=figure.value * (bandwidth if key == ACHIEVED + "bandwidth" else flops))
        if key.startswith(ACHIEVED)
        else figure
        for key, figure in base.figures.items()
    }
    changed = replace(
        base, peaks=peaks, sparse=sparse, vector=vector, units=units, figures=figures, bandwidth=bandwidth * base.bandwidth,
        power=flops * base.power,
    )  # fmt: skip
    return replace(changed, calibration=None, taught=taught(changed, registered))
