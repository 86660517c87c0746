"""attainable = min(peak, bandwidth × intensity); ridge = peak / bandwidth.

Per number format, per memory level and per kind of work: matrix products have the matrix units' peak, all else the vector
units'. What the roofline gives is a bound: attainable / peak is the most that MFU can be. MFU itself is achieved / peak and
needs a measured time (`mfu`).
"""

from __future__ import annotations

from dataclasses import dataclass

from ironlaw.engine.arrays import SCALARS, Number, maximum, minimum, plain, where
from ironlaw.engine.device.machine import Hardware
from ironlaw.engine.device.types import Op, Work, check_positive


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


def roofline(flops: Number, bytes: Number, hardware: Hardware, fmt: str, level: str = "main", work: str = "matrix") -> Roofline:
    """Where `flops` over `bytes` stand on a machine's roof for a number format, a memory level and a kind of work (matrix | vector)."""
    flops, bytes = plain(check_positive("flops", flops)), plain(check_positive("bytes", bytes))
    peak = hardware.rate(fmt, work)
    bandwidth = hardware.bandwidth if level == "main" else hardware.level(level).bandwidth
    intensity = flops / bytes
    attainable = minimum(peak, bandwidth * intensity)
    return Roofline(intensity, attainable, peak, peak / bandwidth, flops / attainable)


def transfer(op: Op, hardware: Hardware) -> Number:
    """The seconds that an op's bytes take: D/BW.

    Where activations have a memory of their own, weights come at main memory's rate and all else at that one's. One processor asks for
    the bytes of both, so the two times add up.
    """
    if not hardware.activations:
        return op.work.bytes / hardware.bandwidth
    stored = op.stored_bytes
    return stored / hardware.bandwidth + (op.work.bytes - stored) / hardware.activation_bandwidth


def arithmetic(work: Work, hardware: Hardware, fmt: str) -> Number:
    """The least seconds that a work's arithmetic takes: O/R.

    Matrix units and vector units run side by side, so the longer of the two counts; where both are the same units, their sum.
    """
    if isinstance(work.matmul_flops, SCALARS) and work.matmul_flops == 0:
        return work.flops / hardware.vector_peak(fmt)
    if not hardware.has_matrix_units(fmt):
        return work.flops / hardware.peak(fmt)
    products = work.matmul_flops / hardware.peak(fmt)
    rest = work.vector_flops
    return products if isinstance(rest, SCALARS) and rest <= 0 else maximum(products, rest / hardware.vector_peak(fmt))


def mfu(flops: Number, seconds: Number, peak: Number) -> Number:
    """Model FLOPs utilisation of a measured run: achieved / peak."""
    check_positive("seconds", seconds)
    return check_positive("flops", flops) / seconds / check_positive("peak", peak)


def gemm_intensity(m: Number, n: Number, k: Number, bytes_per_element: Number) -> Number:
    """2mnk over (mk + kn + mn) elements; 2N/(3B) for a square one."""
    for name, size in (("m", m), ("n", n), ("k", k), ("bytes per element", bytes_per_element)):
        check_positive(name, size)
    return 2.0 * m * n * k / ((m * k + k * n + m * n) * bytes_per_element)
