"""An all-to-all, in which every device has something for every other: no ring, so what counts is which wire has most to carry.

A device's bytes for its own group go over its link, for the rest of its box over its bridge; what leaves a box shares the box's NICs.
"""

from __future__ import annotations

from dataclasses import dataclass

from ironlaw.engine.cluster.library import pipelined, start
from ironlaw.engine.cluster.links import Box
from ironlaw.errors import BadValue


@dataclass(frozen=True, slots=True)
class Load:
    """Bytes that one wire of a kind has to carry in each direction, and the bytes per second that it gives them."""

    kind: str
    size: float
    rate: float

    @property
    def seconds(self) -> float:
        return self.size / self.rate


def loads(box: Box, ranks: int, size: float, nics: int | None = None) -> tuple[Load, ...]:
    """The busiest wire of each kind: `ranks` devices that fill boxes, `size` bytes of each, an equal part for every device."""
    if ranks < 2:
        raise BadValue(f"{ranks} rank has nobody to send to; give at least 2", "ranks")
    part = size / ranks
    inside = min(ranks, box.devices)
    near, beyond = min(ranks, box.group) - 1, (inside - 1) // box.group * box.group  # of the last device, whose group may not be full
    wires = []
    if near:
        wire = box.edge(0, 1)[1]
        wires.append(Load("link", near * part, min(wire.achieved, box.bus) if box.bus else wire.achieved))
    if beyond:
        wires.append(Load("bridge", beyond * part, box.edge(0, box.group)[1].achieved))
    if ranks > box.devices:
        used = box.nics if nics is None else nics
        if not 1 <= used <= box.nics:
            raise BadValue(f"{used!r} NICs per box; {box.slug} has {box.nics}: give 1 to {box.nics}", "nics")
        leaving = max(count * (ranks - count) for count in _boxes(box, ranks))
        wires.append(Load("nic", leaving * part, used * box.edge(0, box.devices)[1].achieved))
    return tuple(wires)


def _boxes(box: Box, ranks: int) -> tuple[int, ...]:
    """Devices in use of each box."""
    whole, rest = divmod(ranks, box.devices)
    return (box.devices,) * whole + ((rest,) if rest else ())


def all_to_all(box: Box, ranks: int, size: float, nics: int | None = None) -> float:
    """Seconds, with the box's start."""
    return float(pipelined(start(box, ranks), max(load.seconds for load in loads(box, ranks, size, nics))))
