"""What a collective puts on the links of a fabric, and how long the busiest link takes.

T = max over links of bytes / rate, and a latency for each link on the longest way. An all-reduce round a ring leaves a subtree of switches
on as many edges as the order of the ranks makes it; an all-to-all sends to every host outside. Bytes are those that one host sends, or that
leave the busiest subtree.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from ironlaw.engine.arrays import Number, maximum
from ironlaw.engine.cluster.topology import Fabric, Tier
from ironlaw.errors import BadValue, unknown

KINDS = ("ring", "two_level", "all_gather", "all_to_all", "neighbour", "permutation")


@dataclass(frozen=True, slots=True)
class Loads:
    """Bytes on one host's ports, and bytes out of the busiest subtree of each tier."""

    host: Number
    tiers: tuple[Number, ...]


def traffic(kind: str, fabric: Fabric, size: Number, order: Sequence[int] | None = None, per_node: int = 1) -> Loads:
    """One collective over every host of the fabric; `order` places rank i on host order[i].

    two_level: hosts are the NICs of nodes of `per_node` devices, or nodes with a port each; every NIC carries its share of the message.
    permutation: host i sends its message to host order[i]; without an order, to the one half of the fabric away.
    """
    n = fabric.hosts
    if kind not in KINDS:
        raise unknown("traffic", kind, KINDS, field="kind")
    places = range(n) if order is None else order
    if order is not None and sorted(order) != list(range(n)):
        raise BadValue(f"the order does not name each of {n} hosts once; list 0 to {n - 1}", "order")
    if kind == "all_to_all":
        each = size / n
        return Loads((n - 1) * each, tuple(tier.hosts * (n - tier.hosts) * each for tier in fabric.tiers))
    if kind == "permutation":
        targets = [(i + n // 2) % n for i in range(n)] if order is None else order
        return Loads(size, tuple(size * _busiest(tier, n, enumerate(targets)) for tier in fabric.tiers))
    share = {"ring": 2.0 * (n - 1) / n, "all_gather": (n - 1) / n, "neighbour": 1.0}
    if kind == "two_level":
        nodes = n // per_node
        edge = 2.0 * (nodes - 1) / nodes * size / per_node
        return Loads(edge, tuple(edge * _strided(tier, n, per_node, places) for tier in fabric.tiers))
    edge = share[kind] * size
    return Loads(edge, tuple(edge * _leaving(tier, n, places) for tier in fabric.tiers))


def flow_time(fabric: Fabric, loads: Loads, latency: Number = 0.0) -> Number:
    """Seconds that the busiest link takes, and `latency` for each link between the hosts that are farthest apart."""
    longest = loads.host / (fabric.rate * fabric.ports)
    for tier, size in zip(fabric.tiers, loads.tiers, strict=True):
        longest = maximum(longest, size / tier.uplink)
    return longest + latency * fabric.hops


def flow(kind: str, fabric: Fabric, size: Number, order: Sequence[int] | None = None, per_node: int = 1) -> Number:
    return flow_time(fabric, traffic(kind, fabric, size, order, per_node))


def _leaving(tier: Tier, n: int, places: Sequence[int]) -> int:
    """Edges of the ring that leave the busiest subtree."""
    return _busiest(tier, n, ((places[i], places[(i + 1) % n]) for i in range(n)))


def _strided(tier: Tier, n: int, per_node: int, places: Sequence[int]) -> int:
    """The same where rank i's ring goes on at rank i + per_node."""
    return _busiest(tier, n, ((places[i], places[(i + per_node) % n]) for i in range(n)))


def _busiest(tier: Tier, n: int, edges: Iterable[tuple[int, int]]) -> int:
    if n <= tier.hosts:
        return 0
    counts: dict[int, int] = {}
    for a, b in edges:
        if a // tier.hosts != b // tier.hosts:
            counts[a // tier.hosts] = counts.get(a // tier.hosts, 0) + 1
    return max(counts.values(), default=0)


def torus_all_reduce(fabric: Fabric, size: Number) -> Number:
    """Seconds where every link of a torus carries its share: the ring's bytes over all ports of a chip."""
    return 2.0 * (fabric.hosts - 1) / fabric.hosts * size / (fabric.ports * fabric.rate)
