"""Where a tensor can live: the fastest memory level that holds all of it and lasts as long as it is needed.

Registers and shared memory belong to one kernel: what is in them is gone when it ends, so a tensor that the next kernel reads is in
a cache or in main memory. A register has no address: no kernel can be handed a tensor there.
"""

from __future__ import annotations

from ironlaw.engine.device.machine import Hardware, Level
from ironlaw.engine.device.types import check_positive

OWN = ("registers", "shared")  # of one kernel, spread over the chip's cores


def ladder(hardware: Hardware) -> tuple[Level, ...]:
    """The machine's levels, fastest first; main memory last, also where nothing else is known."""
    return (*(level for level in hardware.levels if level.name != "main"), hardware.level("main"))


def lives(hardware: Hardware, size: float, passed_on: bool) -> Level | None:
    """The level of a tensor of `size` bytes; None where not even main memory holds it. `passed_on`: a later kernel reads it."""
    check_positive("tensor size", size)
    for level in ladder(hardware):
        room = hardware.usable if level.name == "main" else level.size
        if size <= room and not (passed_on and level.name in OWN):
            return level
    return None
