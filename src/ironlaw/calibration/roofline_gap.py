"""Why a measured matrix product stays under its roof, term by term, in seconds.

The roof is max(D/BW, O/R). A product runs as tiles, one per multiprocessor at a time, so the last wave is rarely full
(quantisation); its matrix units run below their datasheet rate (a fitted curve says by how much); every kernel has a floor;
a call from a framework has a launch. What is left is the rest, and it may be negative: the terms are fitted to other runs.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil

from ironlaw.calibration.machine_calibration import BOOST, Calibration
from ironlaw.engine.device.machine import Hardware
from ironlaw.engine.device.roofline import roofline
from ironlaw.engine.device.types import bytes_per_element
from ironlaw.errors import BadValue

# rows × columns of the output that one multiprocessor makes at a time, as vendor libraries have them
TILES = ((256, 128), (192, 128), (128, 128), (128, 64), (64, 64))
SAME_AS_FP16 = ("fp16", "bf16")
NEAR = 0.95  # of the best filling: a larger tile that comes so near is taken, since it reads less


@dataclass(frozen=True, slots=True)
class Tiling:
    """How an output is cut into tiles and waves."""

    tile: tuple[int, int]
    tiles: int
    waves: int
    filled: float  # share of the multiplications in those waves that the product needs


@dataclass(frozen=True, slots=True)
class RooflineGap:
    """A measured time and its parts; they add up to it."""

    measured: float
    roof: float  # max(D/BW, O/R) at the datasheet's figures
    quantisation: float  # tiles and waves that are not full
    rate: float  # matrix units below the datasheet's rate
    power: float  # slower than a smaller product was: the clock falls
    floor: float  # what a kernel takes whatever its size
    launch: float | None  # None where it was not measured apart: then it is in the rest
    rest: float
    tiling: Tiling

    @property
    def parts(self) -> dict[str, float]:
        named = {"quantisation": self.quantisation, "rate": self.rate, "power": self.power, "floor": self.floor}
        return {"roof": self.roof, **named, **({} if self.launch is None else {"launch": self.launch}), "rest": self.rest}


def tilings(m: int, n: int, units: int) -> tuple[Tiling, ...]:
    """Every tile of the list, either way up, on a chip of `units` multiprocessors."""
    if not (m >= 1 and n >= 1 and units >= 1):
        raise BadValue(f"an output of {m}×{n} on {units} multiprocessors can't be tiled; give whole numbers above 0")
    choices = []
    for rows, columns in {size for pair in TILES for size in (pair, pair[::-1])}:
        tiles = ceil(m / rows) * ceil(n / columns)
        waves = ceil(tiles / units)
        choices.append(Tiling((rows, columns), tiles, waves, m * n / (waves * units * rows * columns)))
    return tuple(choices)


def tiling(m: int, n: int, units: int) -> Tiling:
    """The largest tile whose waves are nearly as full as any can be: it wastes little and reads least."""
    choices = tilings(m, n, units)
    enough = NEAR * max(t.filled for t in choices)
    return max((t for t in choices if t.filled >= enough), key=lambda t: (t.tile[0] * t.tile[1], t.tile[0]))


def gemm_gap(
    m: int, n: int, k: int, fmt: str, hardware: Hardware, measured: float, replayed: float | None = None, best: float = 0.0
) -> RooflineGap:
    """The parts of `measured` seconds. `replayed`: the same product from a replayed graph, so that the launch is known apart;
    `best`: the highest rate in FLOP/s that any smaller product reached."""
    if not isinstance(hardware.calibration, Calibration) or "sms" not in hardware.units:
        raise BadValue(f"{hardware.slug} has no measured curves or no number of multiprocessors; the gap is explained for h200_sxm")
    flops = 2.0 * m * n * k
    size = bytes_per_element(fmt)
    at = roofline(flops, (m * k + k * n + m * n) * size, hardware, fmt)
    peak, roof = float(at.peak), float(at.seconds)
    curve = hardware.calibration.curve("gemm" if fmt in SAME_AS_FP16 else f"gemm_{fmt}", "matmul")
    best_tiling = tiling(m, n, round(hardware.units["sms"]))
    on_device = measured if replayed is None else replayed
    ideal = flops / peak
    quantisation = max(ideal / best_tiling.filled - max(roof, ideal), 0.0)
    rate = max(flops * (1.0 + curve.knee / k) / curve.rate - ideal, 0.0)
    rate = max(rate - (roof - ideal), 0.0)  # hidden behind the memory roof where that is the higher one
    steady = 2.0 * on_device > BOOST  # two calls in a row are then long enough for the clock to fall
    power = max(on_device - flops / best, 0.0) if best and steady else 0.0
    floor = curve.floor
    launch = None if replayed is None else measured - replayed
    rest = on_device - (roof + quantisation + rate + power + floor)
    return RooflineGap(measured, roof, quantisation, rate, power, floor, launch, rest, best_tiling)
