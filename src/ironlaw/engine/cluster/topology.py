"""Fabrics as capacities: what may leave each subtree of switches, and what crosses the middle.

A tree is tiers of equal subtrees, so that 16,384 hosts cost no more than 16. Oversubscription r: a subtree's uplinks carry 1/r of what
its hosts can send. Rates are bytes per second and direction.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from ironlaw.engine.device.types import check_positive
from ironlaw.errors import BadValue


@dataclass(frozen=True, slots=True)
class Tier:
    """Subtrees of `hosts` hosts each; `uplink`: bytes per second that may leave one of them."""

    name: str
    hosts: int
    uplink: float


@dataclass(frozen=True, slots=True)
class Fabric:
    """Hosts on switches. `ports` of each host, and `across`: bytes per second that cross the narrowest cut through the middle.

    `hops`: links on the way between the two hosts that are farthest apart.
    """

    name: str
    hosts: int
    rate: float  # of one port
    across: float
    tiers: tuple[Tier, ...] = ()
    ports: int = 1
    switches: int = 0
    hops: int = 0
    direct: bool = False  # hosts are joined to each other: what goes to one neighbour has one port


def bisection(fabric: Fabric) -> float:
    """Bytes per second, one way, between two halves."""
    return fabric.across


def leaf_spine(hosts: int, per_leaf: int, oversubscription: float, rate: float) -> Fabric:
    """Leaves of equal size under a spine that joins them all."""
    check_positive("oversubscription", oversubscription)
    if hosts % per_leaf:
        raise BadValue(f"{hosts} hosts do not fill leaves of {per_leaf}; give a multiple of {per_leaf}", "hosts")
    uplink = per_leaf * rate / oversubscription
    half = hosts // per_leaf // 2 * uplink if hosts > per_leaf else hosts // 2 * rate
    return Fabric("leaf and spine", hosts, rate, half, (Tier("leaf", per_leaf, uplink),), hops=4 if hosts > per_leaf else 2)


def three_tiers(hosts: int, per_leaf: int, per_pod: int, oversubscription: float, rate: float) -> Fabric:
    """Leaves joined at full bandwidth into pods, and pods by a top tier with the given oversubscription."""
    pods = leaf_spine(hosts, per_pod, oversubscription, rate)
    inside = leaf_spine(per_pod, per_leaf, 1.0, rate)
    return Fabric("three tiers", hosts, rate, pods.across, (*inside.tiers, Tier("pod", per_pod, pods.tiers[0].uplink)), hops=6)


def fat_tree(radix: int, rate: float, tiers: int = 3, oversubscription: float = 1.0) -> Fabric:
    """The k-ary tree of equal switches: k³/4 hosts on three tiers, k²/2 on two. Oversubscription is between the last two tiers."""
    count = hosts(radix, tiers)
    edge = Tier("edge", radix // 2, radix // 2 * rate / (oversubscription if tiers == 2 else 1.0))
    pod = Tier("pod", radix**2 // 4, radix**2 // 4 * rate / oversubscription)
    across = count / 2 * rate / oversubscription
    return Fabric("fat tree", count, rate, across, (edge, pod)[: tiers - 1], switches=switches(radix, tiers), hops=2 * tiers)


def hosts(radix: int, tiers: int) -> int:
    """The most hosts that a non-blocking tree of such switches holds."""
    check_radix(radix, tiers)
    return radix**3 // 4 if tiers == 3 else radix**2 // 2


def switches(radix: int, tiers: int) -> int:
    check_radix(radix, tiers)
    return 5 * radix**2 // 4 if tiers == 3 else 3 * radix // 2


def thin_tree(radix: int, leaves: int, oversubscription: float) -> tuple[int, int]:
    """(hosts, switches) of two tiers whose leaves give r of r + 1 ports to hosts and the rest to the spine."""
    check_radix(radix, 2)
    up = round(radix / (oversubscription + 1.0))
    if leaves > radix:
        raise BadValue(f"{leaves} leaves; a spine switch of {radix} ports joins at most {radix}", "leaves")
    return leaves * (radix - up), leaves + math.ceil(leaves * up / radix)


def check_radix(radix: int, tiers: int) -> None:
    if radix < 2 or radix % 2 or tiers not in (2, 3):
        raise BadValue(f"a tree of {tiers} tiers of {radix}-port switches; give an even number of ports and 2 or 3 tiers", "radix")


def rail(nodes: int, rails: int, rate: float, per_leaf: int, oversubscription: float = 1.0) -> Fabric:
    """Rail-optimised: NIC i of every node is on plane i, a leaf and spine of its own; between rails traffic goes inside the nodes."""
    plane = leaf_spine(nodes, per_leaf, oversubscription, rate)
    tier = Tier("leaf", per_leaf, plane.tiers[0].uplink * rails)
    return Fabric("rail-optimised", nodes, rate, rails * plane.across, (tier,), ports=rails, hops=plane.hops)


def sides(hosts: int) -> tuple[int, int, int]:
    """The sides of a torus with a power of two of hosts: powers of two, as equal as possible, the longest first."""
    whole = round(math.log2(hosts))
    return 2 ** -(-whole // 3), 2 ** -(-(whole - 1) // 3), 2 ** (whole // 3)


def torus(rate: float, *sides: int) -> Fabric:
    """Two links a dimension and chip; the narrowest cut crosses the longest side, twice because it wraps round."""
    if not sides or min(sides) < 1:
        raise BadValue(f"the torus is {sides!r}; give the length of each side, such as 16, 16, 16", "sides")
    count, longest = math.prod(sides), max(sides)
    cut = count // longest * (2 if longest > 2 else longest - 1)
    ports = sum(2 if side > 2 else side - 1 for side in sides)
    halves = (Tier("half", count // longest * (longest // 2), cut * rate),) if longest > 1 else ()  # hosts are counted along the longest
    return Fabric("torus", count, rate, cut * rate, halves, ports, hops=sum(side // 2 for side in sides), direct=True)


def ring(count: int, rate: float) -> Fabric:
    return torus(rate, count)


def dragonfly(routers: int, per_router: int, links: int, rate: float) -> Fabric:
    """Groups of `routers` that are all joined; a router has `per_router` hosts and `links` to other groups, one between any two."""
    groups = routers * links + 1
    size = routers * per_router
    tier = Tier("group", size, routers * links * rate)
    across = groups // 2 * ((groups + 1) // 2) * rate
    inside = 1 if routers > 1 else 0  # a hop to the router that has the link, and one from where it ends
    return Fabric("dragonfly", size * groups, rate, across, (tier,), switches=routers * groups, hops=3 + 2 * inside)
