"""S = 1 / (s + (1 − s)/n): what n workers make of a job whose share s only one of them can do.

Amdahl's share is of the run on one worker, Gustafson's of the run on n. They are one law: `scaled_share` turns the first into the second.
"""

from __future__ import annotations

import math

from ironlaw.engine.arrays import Number, largest, ratio, smallest
from ironlaw.engine.device.types import check_positive
from ironlaw.errors import BadValue


def amdahl(serial: Number, n: Number) -> Number:
    """How much faster n workers are on a job of fixed size; `serial` is its share of the run on one worker."""
    check_share("serial share", serial)
    check_workers(n)
    return n / (1.0 + serial * (n - 1.0))


def amdahl_ceiling(fraction: Number) -> Number:
    """The most that can be gained where `fraction` of the time is sped up without limit: 1 / (1 − f)."""
    check_share("fraction that is sped up", fraction)
    return ratio(1.0, 1.0 - fraction)


def gustafson(serial_scaled: Number, n: Number) -> Number:
    """How much faster n workers are on a job that grew with them: n − s′(n − 1); s′ is the serial share of the run on n."""
    check_share("serial share of the run on n workers", serial_scaled)
    check_workers(n)
    return n - serial_scaled * (n - 1.0)


def scaled_share(serial: Number, n: Number) -> Number:
    """The share of the run on n workers that was the share `serial` of the run on one."""
    check_share("serial share", serial)
    check_workers(n)
    return serial * n / (1.0 + serial * (n - 1.0))


def karp_flatt(speedup: Number, n: Number) -> Number:
    """The serial share that a measured speed-up stands for. It rises with n where overhead does; below 0 is better than linear."""
    check_positive("speed-up", speedup)
    check_workers(n)
    if smallest(n) <= 1.0:
        raise BadValue("one worker says nothing about the serial share; measure with 2 or more")
    return (n / speedup - 1.0) / (n - 1.0)


def halvings(serial: float, target: float, n: float, kappa: float = 0.0) -> float:
    """How often the serial share has to be halved for n workers to reach `target`; inf where no share does it."""
    check_share("serial share", serial)
    room = karp_flatt(target, n) - check_positive("crosstalk κ", kappa, zero=True) * n
    if serial <= room:
        return 0.0
    return float(math.ceil(math.log2(serial / room) - 1e-12)) if room > 0 else math.inf


def workers_needed(serial: float, target: float) -> float:
    """The fewest workers that reach `target` where no overhead grows with them; inf at the ceiling and beyond."""
    check_share("serial share", serial)
    check_positive("target", target)
    if target <= 1.0:
        return 1.0
    room = 1.0 / target - serial
    return float(math.ceil((1.0 - serial) / room - 1e-9)) if room > 0 else math.inf


def check_share(what: str, value: Number) -> Number:
    """Refuse a value that is not a share: below 0, above 1, or NaN."""
    if not (smallest(value) >= 0.0 and largest(value) <= 1.0):
        raise BadValue(f"{what} is {value!r}; give a share between 0 and 1")
    return value


def check_workers(n: Number) -> Number:
    """Refuse fewer than one worker."""
    check_positive("workers", n)
    if smallest(n) < 1.0:
        raise BadValue(f"workers is {n!r}; give 1 or more")
    return n
