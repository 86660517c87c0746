"""What a collective puts on the links of a fabric, and how long the busiest link takes.

T = max over links of bytes / rate, and a latency for each link on the longest way. An all-reduce round a ring leaves a subtree of switches
on as many edges as the order of the ranks makes it; an all-to-all sends to every host outside. Bytes are those that one host sends, or that
leave the busiest subtree.
"""

from __future__ import annotations

from collections.abc import Sequence
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
    if order is not None and sorted(order) != list(range(n)):
        raise BadValue(f"the order does not name each of {n} hosts once; list 0 to {n - 1}", "order")
    tiers = tuple(size * max(shares) for shares in (subtrees(kind, fabric, tier, order, per_node) for tier in fabric.tiers))
    alone = fabric.ports if fabric.direct and kind in ("neighbour", "permutation") else 1  # one way out of several
    return Loads(alone * _sent(kind, n, per_node) * size, tiers)


def _sent(kind: str, n: int, per_node: int) -> float:
    """Bytes that a host sends, over the message's."""
    nodes = n // per_node
    return {
        "ring": 2.0 * (n - 1) / n, "all_gather": (n - 1) / n, "all_to_all": (n - 1) / n,
        "two_level": 2.0 * (nodes - 1) / nodes / per_node,
    }.get(kind, 1.0)  # fmt: skip


def subtrees(kind: str, fabric: Fabric, tier: Tier, order: Sequence[int] | None = None, per_node: int = 1) -> list[float]:
    """Bytes that leave each subtree of a tier, over the message's."""
    n = fabric.hosts
    if kind == "all_to_all":
        inside = [min(tier.hosts, n - first) for first in range(0, n, tier.hosts)]
        return [count * (n - count) / n for count in inside]
    sources: Sequence[int] = range(n)
    if kind == "permutation":
        targets = order or [(i + n // 2) % n for i in range(n)]
    else:
        sources = order or sources
        ahead = per_node if kind == "two_level" else 1
        targets = [*sources[ahead:], *sources[:ahead]]
    each = _sent(kind, n, per_node)
    return [each * count for count in _leaving(tier, n, sources, targets)]


def flow_time(fabric: Fabric, loads: Loads, latency: Number = 0.0) -> Number:
    """Seconds that the busiest link takes, and `latency` for each link between the hosts that are farthest apart."""
    longest = loads.host / (fabric.rate * fabric.ports)
    for tier, size in zip(fabric.tiers, loads.tiers, strict=True):
        longest = maximum(longest, size / tier.uplink)
    return longest + latency * fabric.hops


def flow(kind: str, fabric: Fabric, size: Number, order: Sequence[int] | None = None, per_node: int = 1) -> Number:
    return flow_time(fabric, traffic(kind, fabric, size, order, per_node))


def _leaving(tier: Tier, n: int, sources: Sequence[int], targets: Sequence[int]) -> list[int]:
    """Edges that leave each subtree."""
    size = tier.hosts
    counts = [0] * -(-n // size)
    for a, b in zip([place // size for place in sources], [place // size for place in targets], strict=True):
        if a != b:
            counts[a] += 1
    return counts


def torus_all_reduce(fabric: Fabric, size: Number) -> Number:
    """Seconds where every link of a torus carries its share: the ring's bytes over all ports of a chip."""
    return 2.0 * (fabric.hosts - 1) / fabric.hosts * size / (fabric.ports * fabric.rate)
