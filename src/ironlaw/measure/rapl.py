"""Joules that a processor reports of itself: the RAPL counters, as Linux shows them under powercap, where they exist and may be read.

A package counts its cores and caches; its memory is counted apart where the zone `dram` exists. Counters go up to their range and
start again from 0.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from ironlaw.errors import BadValue

POWERCAP = Path("/sys/class/powercap")
ZONE = re.compile(r"intel-rapl:\d+(:\d+)?")  # AMD's have this name, too; intel-rapl-mmio counts the same joules once more
COUNTER, RANGE, NAME = "energy_uj", "max_energy_range_uj", "name"
MICRO = 1e-6


@dataclass(frozen=True, slots=True)
class Zone:
    """`range`: microjoules after which the counter starts again."""

    name: str
    counter: Path
    range: int

    def read(self) -> int:
        return int(self.counter.read_text(encoding="ascii"))


@dataclass(frozen=True, slots=True)
class Counters:
    """The zones whose sum is the processor with its memory. `why`: what keeps them from being read, and what to do; then there are none."""

    zones: tuple[Zone, ...] = ()
    why: str = ""

    def read(self) -> tuple[int, ...]:
        return tuple(zone.read() for zone in self.zones)

    def joules(self, before: tuple[int, ...], after: tuple[int, ...]) -> float:
        """Joules between two readings, of which each counter may have started again once."""
        return MICRO * sum(spent(zone.range, *ends) for zone, *ends in zip(self.zones, before, after, strict=True))


def spent(range: int, before: int, after: int) -> int:
    """Microjoules from one reading to the next."""
    if not 0 <= before <= range or not 0 <= after <= range:
        raise BadValue(f"a counter went from {before:,} to {after:,} with a range of {range:,} microjoules; read it again")
    return after - before if after >= before else range + 1 - before + after


def counters(place: Path = POWERCAP) -> Counters:
    """The counters of this machine. A part that can't be read leaves none: a sum without it would be wrong."""
    folders = sorted(path for path in place.glob("intel-rapl:*") if ZONE.fullmatch(path.name))
    zones = []
    for folder in folders:
        try:
            name = (folder / NAME).read_text(encoding="ascii").strip()
            if not name.startswith("package") and name != "dram":
                continue  # core and uncore are parts of a package, psys is more than the processor
            zone = Zone(name, folder / COUNTER, int((folder / RANGE).read_text(encoding="ascii")))
            zone.read()
        except PermissionError:
            return Counters(why=f"{folder / COUNTER} may not be read: Linux keeps it for administrators, who can grant it or run this")
        except (OSError, ValueError) as error:
            return Counters(why=f"{folder} has no readable counter ({error})")
        zones.append(zone)
    if not any(zone.name.startswith("package") for zone in zones):
        return Counters(
            why=f"there is no RAPL counter under {place}: other systems, many virtual machines and most Arm processors have none"
        )
    return Counters(tuple(zones))
