"""A collective as a library runs it: pieces that follow each other down a pipeline, so that start and bytes do not merely add.

Bytes that take x seconds on the busiest wire go in k pieces through h hops, each piece costing c beside its bytes: (k + h)·(c + x/k).
At the best k = √(h·x/c) that is (√α + √x)² with α = h·c. Two numbers for each box, α and the bus bandwidth; never faster than the wire.

Where the box's switch can add (NVLink SHARP), an all-reduce takes the faster of the ring and the switch: each device sends its buffer up
once and its share of the sum once more, which the switch copies to all: M·(1 + 1/N) each way instead of 2·M·(N − 1)/N, after two starts.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from ironlaw.engine.arrays import Number, minimum
from ironlaw.engine.cluster.collectives import bus_factor
from ironlaw.engine.cluster.links import Box, ring_bandwidth, ring_edges
from ironlaw.errors import BadValue


def pipelined(start: Number, seconds: Number) -> Number:
    """(√α + √x)²: α + x + 2·√(α·x)."""
    return start + seconds + 2.0 * (start * seconds) ** 0.5


def collective(box: Box, kind: str, ranks: int, size: Number, per_box: int | None = None, floats: bool = True) -> Number:
    """Seconds of a collective over `ranks` devices that fill boxes, or take `per_box` of each while the others do the same.

    Inside a group of devices the box's own two numbers hold; a wider ring is paced by its slowest edge. A switch adds `floats` only.
    """
    if ranks < 1:
        raise BadValue(f"{ranks} ranks; give at least 1", "ranks")
    if ranks == 1:
        return 0.0 * size
    start, rate = pace(box, ranks, per_box)
    ring = pipelined(start, bus_factor(kind, ranks) * size / rate)
    return minimum(ring, in_switch(box, ranks, size)) if floats and switch_adds(box, kind, ranks, per_box) else ring


def switch_adds(box: Box, kind: str, ranks: int, per_box: int | None = None) -> bool:
    """Whether one switch joins these devices, can add, and is asked for a sum that all of them get."""
    inside = min(ranks, box.group if per_box is None else per_box)
    return kind == "all_reduce" and box.sums > 0 and ranks == inside


def in_switch(box: Box, ranks: int, size: Number) -> Number:
    """Up and down are two starts, and each wire carries the message and one rank's share of it."""
    return pipelined(2.0 * box.start, switch_factor(ranks) * size / box.sums)


def switch_factor(ranks: int) -> float:
    """Bytes on each wire and way over the message, where a switch adds: 1 + 1/N."""
    return 1.0 + 1.0 / ranks


def pace(box: Box, ranks: int, per_box: int | None = None) -> tuple[float, float]:
    """(seconds before the first byte, bytes per second) of the busiest wire. Each doubling of the boxes adds a level to the start."""
    inside = min(ranks, box.devices if per_box is None else per_box)
    fast = _inside(box, inside) if inside > 1 else math.inf
    if inside == ranks:
        return box.start, fast
    if box.nic is None or not box.nics:
        raise BadValue(
            f"{ranks} devices with {inside} in a box need {-(-ranks // inside)} boxes, and {box.slug} has no NIC;"
            f" add nic and nics to registry/box/{box.slug}.toml, or ask for at most {box.devices}", "box",
        )  # fmt: skip
    nics = box.nic.achieved * inside * box.nics / box.devices  # the box's other devices send for groups of their own
    return max(box.network_start, box.start) * math.ceil(math.log2(-(-ranks // inside))), min(fast, nics)


def ring_pace(box: Box, ranks: int, nics: int | None = None, order: Sequence[int] | None = None) -> tuple[float, float]:
    """The same for one ring over devices that fill boxes, in any order, with so many NICs of each box in use."""
    edges = ring_edges(box, ranks, nics, order)
    if not edges:
        raise BadValue(f"a ring of {ranks} rank has no edge; give at least 2", "ranks")
    rate = min(edge.rate for edge in edges)
    if box.bus and any(edge.kind == "link" for edge in edges):
        rate = min(rate, box.bus)
    return start(box, ranks), rate


def start(box: Box, ranks: int) -> float:
    """Seconds before the first byte over devices that fill boxes."""
    boxes = -(-ranks // box.devices)
    return box.start if boxes == 1 else max(box.network_start, box.start) * math.ceil(math.log2(boxes))


def _inside(box: Box, ranks: int) -> float:
    rate = ring_bandwidth(box, ranks)
    return min(rate, box.bus) if box.bus and ranks <= box.group else rate
