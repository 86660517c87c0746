"""Wires and boxes: which edge paces a ring, and what a message takes on one wire.

A ring is as fast as its slowest edge. Devices of a group share the fast link, groups of a box the bridge, and boxes meet over their NICs,
which all edges that leave a box share.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ironlaw.engine.arrays import Number
from ironlaw.errors import BadValue


@dataclass(frozen=True, slots=True)
class Interconnect:
    """One direction of a wire: the rate it is built for, and what a long message is taken to reach. Bytes per second."""

    slug: str
    name: str
    per_direction: float
    achieved: float
    advertised: float = 0.0  # as its maker prints it
    directions: int = 1  # how many of them the printed figure adds up
    basis: str = ""  # how `achieved` is known: planned, fitted, reported, derived, measured

    @property
    def efficiency(self) -> float:
        return self.achieved / self.per_direction


@dataclass(frozen=True)
class Box:
    """Devices that one chassis holds. `group`: how many the fast link joins; the bridge joins groups, the NICs boxes."""

    slug: str
    name: str
    device: str  # a machine of the registry
    devices: int
    group: int
    link: Interconnect | None = None
    bridge: Interconnect | None = None
    nic: Interconnect | None = None
    nics: int = 0
    start: float = 0.0  # seconds before the first byte of a collective inside the box
    bus: float = 0.0  # bytes/s that its collectives reach on the fast link; 0: what the link achieves
    network_start: float = 0.0  # seconds before the first byte of a collective between boxes
    sums: float = 0.0  # bytes/s of a link while its switch adds up what devices send; 0: the switch only forwards
    sources: tuple[str, ...] = ()
    host_memory: float = 0.0  # bytes/s of its processors' memory, as rated; 0: not known
    host_bytes: float = 0.0  # that this memory holds
    hosts: int = 1  # servers in the box, each with as many of the devices: what starts a job starts it on each

    def __repr__(self) -> str:
        return f"<Box {self.slug}: {self.devices} × {self.device}>"

    def edge(self, a: int, b: int) -> tuple[str, Interconnect]:
        """What joins two ranks, counted through all boxes: ("link" | "bridge" | "nic", its wire)."""
        if a // self.devices != b // self.devices:
            return "nic", self._wire("nic", "boxes")
        if a % self.devices // self.group != b % self.devices // self.group:
            return "bridge", self._wire("bridge", "its groups of devices")
        return "link", self._wire("link", "its devices")

    def _wire(self, kind: str, between: str) -> Interconnect:
        wire: Interconnect | None = getattr(self, kind)
        if wire is None:
            raise BadValue(f"box {self.slug} has no {kind} between {between}; add `{kind} = …` to registry/box/{self.slug}.toml", "box")
        return wire


@dataclass(frozen=True, slots=True)
class Edge:
    """One edge of a ring: the two ranks, what kind of wire, and the bytes per second that it gives the ring."""

    a: int
    b: int
    kind: str
    rate: float


def transfer(size: Number, wire: Interconnect, latency: Number = 0.0) -> Number:
    """Seconds that one message takes: α + M/β."""
    return latency + size / wire.achieved


def ring_edges(box: Box, ranks: int, nics: int | None = None, order: Sequence[int] | None = None) -> tuple[Edge, ...]:
    """The ring's edges in order. Edges that leave one box share its NICs; a box may use fewer than it has."""
    places = _places(ranks, order)
    if ranks < 2:
        return ()
    pairs = list(zip(places, (*places[1:], places[0]), strict=True))
    kinds = [box.edge(a, b) for a, b in pairs]
    leaving: dict[int, int] = {}
    for (a, _), (kind, _) in zip(pairs, kinds, strict=True):
        if kind == "nic":
            leaving[a // box.devices] = leaving.get(a // box.devices, 0) + 1
    used = _nics(box, nics) if leaving else 0
    edges = []
    for (a, b), (kind, wire) in zip(pairs, kinds, strict=True):
        rate = wire.achieved * used / leaving[a // box.devices] if kind == "nic" else wire.achieved
        edges.append(Edge(a, b, kind, rate))
    return tuple(edges)


def binding_edge(box: Box, ranks: int, nics: int | None = None, order: Sequence[int] | None = None) -> Edge:
    """The slowest edge, which paces the ring."""
    edges = ring_edges(box, ranks, nics, order)
    if not edges:
        raise BadValue(f"a ring of {ranks} rank has no edge; give at least 2", "ranks")
    return min(edges, key=lambda edge: edge.rate)


def ring_bandwidth(box: Box, ranks: int, nics: int | None = None, order: Sequence[int] | None = None) -> float:
    """Bytes per second of the ring's slowest edge: the bus bandwidth of a long all-reduce."""
    return binding_edge(box, ranks, nics, order).rate


def _places(ranks: int, order: Sequence[int] | None) -> tuple[int, ...]:
    if order is None:
        return tuple(range(ranks))
    if sorted(order) != list(range(ranks)):
        raise BadValue(f"the order {list(order)!r:.60} does not name each of {ranks} ranks once; list 0 to {ranks - 1}", "order")
    return tuple(order)


def _nics(box: Box, nics: int | None) -> int:
    used = box.nics if nics is None else nics
    if not 1 <= used <= box.nics:
        raise BadValue(f"{used!r} NICs per box; {box.slug} has {box.nics}: give 1 to {box.nics}", "nics")
    return used
