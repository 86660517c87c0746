"""attainable = min(peak, bandwidth × intensity); ridge = peak / bandwidth.

Per number format and per memory level. What the roofline gives is a bound: attainable / peak is the most that MFU can
be. MFU itself is achieved / peak and needs a measured time (`mfu`).
"""

from __future__ import annotations

from dataclasses import dataclass

from ironlaw.engine.arrays import Number, minimum, plain, where
from ironlaw.engine.device.machine import Hardware
from ironlaw.engine.device.types import check_positive


@dataclass(frozen=True, slots=True)
class Roofline:
    """A point under a roof. `mfu` is the bound attainable / peak."""

    intensity: Number  # FLOP per byte
    attainable: Number  # FLOP/s
    peak: Number  # FLOP/s
    ridge: Number  # FLOP per byte
    seconds: Number  # at the attainable rate

    @property
    def regime(self) -> Number:
        """ "memory" left of the ridge, "compute" from the ridge on."""
        return where(self.intensity < self.ridge, "memory", "compute")

    @property
    def mfu(self) -> Number:
        return self.attainable / self.peak


def roofline(flops: Number, bytes: Number, hardware: Hardware, fmt: str, level: str = "main") -> Roofline:
    """Where work of `flops` over `bytes` stands on a machine's roof for a number format and a memory level."""
    flops, bytes = plain(check_positive("flops", flops)), plain(check_positive("bytes", bytes))
    peak = hardware.peak(fmt)
    bandwidth = hardware.bandwidth if level == "main" else hardware.level(level).bandwidth
    intensity = flops / bytes
    attainable = minimum(peak, bandwidth * intensity)
    return Roofline(intensity, attainable, peak, peak / bandwidth, flops / attainable)


def mfu(flops: Number, seconds: Number, peak: Number) -> Number:
    """Model FLOPs utilisation of a measured run: achieved / peak."""
    check_positive("seconds", seconds)
    return check_positive("flops", flops) / seconds / check_positive("peak", peak)


def gemm_intensity(m: Number, n: Number, k: Number, bytes_per_element: Number) -> Number:
    """2mnk over (mk + kn + mn) elements; 2N/(3B) for a square one."""
    for name, size in (("m", m), ("n", n), ("k", k), ("bytes per element", bytes_per_element)):
        check_positive(name, size)
    return 2.0 * m * n * k / ((m * k + k * n + m * n) * bytes_per_element)
