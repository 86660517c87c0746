"""What follows from the chip: taken from the machine's own figures, so that another CUDA device gets its own."""

from __future__ import annotations

from math import log2, sqrt

from ironlaw.engine.arrays import Number, maximum, minimum
from ironlaw.engine.device.machine import LASTING, Hardware
from ironlaw.engine.device.types import bytes_per_element
from ironlaw.errors import BadValue

EXPONENTIALS = 16.0  # that a multiprocessor takes a clock: four special function units in each of its four parts, since Volta
# Tile counts at which cuBLAS changes its mind were found on 132 multiprocessors: 128 tiles fill the chip, a product of up to
# 80 is shared out along its depth. Taken as shares of the chip.
COUNTED_ON = 132.0
FILLED, SPLIT = 128.0, 80.0
# Compiled loops get 4.5 of 4.8 TB/s and 23.7 of 33.5 instructions each picosecond (the curve "fused", fitted to rows of h200_sxm/machine)
LOOP_BALANCE = (4.5 / 4.8) / (23.7 / 33.45)
UNKNOWN_CLOCK = 256.0  # FLOPs an exponential where no clock is given (a machine measured by an earlier version): as on Hopper
CACHE_FROM, CACHE_TO = 0.35, 1.5  # shares of the cache between which a working set stops fitting, as in `calibration.curve`
SHARED = 256 * 1024.0  # bytes of cache and shared memory of a multiprocessor on which cuDNN's small states were found


def processors(machine: Hardware) -> float:
    """Multiprocessors (SMs)."""
    if "sms" not in machine.units:
        raise BadValue(f"{machine.slug} has no sms under [units], and its kernels' times depend on them; add sms to its hardware file")
    return float(machine.units["sms"])


def exponential_flops(machine: Hardware) -> float:
    """Tensor-core FLOPs that fit into the time of one exponential: 256 on Hopper (4,096 a clock against 16), 128 on an A100."""
    if "clock" not in machine.units:
        return UNKNOWN_CLOCK
    rate = float(machine.peak("fp16")) / (processors(machine) * float(machine.units["clock"]))
    return 2.0 ** round(log2(rate)) / EXPONENTIALS  # hardware comes in powers of two; a datasheet's clock is not quite its own


def filled_tiles(machine: Hardware) -> float:
    """Tiles of a matrix product that fill the chip."""
    return FILLED * processors(machine) / COUNTED_ON


def split_tiles(machine: Hardware) -> float:
    """The most tiles that a deep product may have and still be split along its depth."""
    return SPLIT * processors(machine) / COUNTED_ON


def balance(machine: Hardware, fmt: str) -> float:
    """Multiply-adds that the chip does while it reads one element; beyond that, arithmetic is the bottleneck."""
    return float(machine.peak(fmt)) / 2.0 / (float(machine.bandwidth) / bytes_per_element(fmt))


def instruction_bytes(machine: Hardware) -> float:
    """Bytes that memory moves while the vector units do one instruction of one lane, as compiled loops get on with both."""
    rate = machine.vector["fp32"] if "fp32" in machine.vector else machine.peak("fp32")
    return LOOP_BALANCE * float(machine.bandwidth) / (float(rate) / 2.0)


def outgrown(data: Number, machine: Hardware) -> Number:
    """The share, from 0 to 1, of a working set that does not stay in the last cache: the same ramp as a curve's."""
    caches = [float(level.size) for level in machine.levels if level.name in LASTING]
    return minimum(maximum((data / caches[-1] - CACHE_FROM) / (CACHE_TO - CACHE_FROM), 0.0), 1.0) if caches else 0.0


def resident_share(machine: Hardware) -> float:
    """How much wider a recurrent state one multiprocessor holds than the one it was found on: weights grow with its square."""
    for level in machine.levels:
        if level.name == "shared":
            return sqrt(float(level.size) / processors(machine) / SHARED)
    return 1.0
