"""Trees built of equal switches for so many hosts: which fit, what they leave of each subtree, and the ports that they take.

A leaf gives as many ports to hosts as its oversubscription allows, in whole nodes, and the fewest to the tier above that keep it. Rails
split the hosts over planes, each a tree of its own.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from ironlaw.engine.cluster.topology import check_radix
from ironlaw.engine.device.types import check_positive
from ironlaw.errors import BadValue

NODE = 8  # devices, and NICs, of a node


@dataclass(frozen=True, slots=True)
class Tree:
    """`thin`: oversubscription of the leaves, and of the pods where there are three tiers. Rates are bytes per second of one port."""

    hosts: int
    radix: int
    thin: tuple[float, ...]
    rate: float
    planes: int = 1
    down: tuple[int, ...] = field(init=False)  # ports of a leaf to hosts, and of a pod's switches to leaves

    def __post_init__(self) -> None:
        check_radix(self.radix, len(self.thin) + 1)
        for each in self.thin:
            check_positive("oversubscription", each)
        if self.hosts % (NODE * self.planes):
            raise BadValue(f"{self.hosts} hosts on {self.planes} planes; give a multiple of {NODE * self.planes}", "hosts")
        object.__setattr__(self, "down", tuple(self._down(each, NODE if not tier else 1) for tier, each in enumerate(self.thin)))

    def _down(self, thin: float, whole: int) -> int:
        most = int(self.radix * thin / (thin + 1) + 1e-9)
        for ports in range(most // whole * whole, 0, -whole):
            if ports + math.ceil(ports / thin - 1e-9) <= self.radix:
                return ports
        raise BadValue(f"switches of {self.radix} ports hold no node of {whole}; take larger ones", "radix")

    @property
    def holds(self) -> int:
        """The most hosts: k²/2 on two tiers without oversubscription, k³/4 on three."""
        return self.planes * math.prod(self.down) * self.radix

    @property
    def fits(self) -> bool:
        return self.hosts <= self.holds

    @property
    def per_plane(self) -> int:
        return self.hosts // self.planes

    @property
    def leaf(self) -> int:
        """Hosts under one leaf."""
        return self.down[0]

    @property
    def leaves(self) -> int:
        """The number of leaves in one plane."""
        return -(-self.per_plane // self.leaf)

    @property
    def leaf_links(self) -> int:
        """Links from one leaf to the tier above; none where one leaf holds all."""
        return math.ceil(self.leaf / self.thin[0] - 1e-9) if self.leaves > 1 else 0

    @property
    def pods(self) -> int:
        """The number of pods in one plane; 1 where a pod holds all of it, or there are only two tiers."""
        return -(-self.leaves // self.down[1]) if len(self.down) == 2 else 1

    def pod_links(self, pod: int) -> int:
        """Links from one pod to the top; the last may have fewer leaves."""
        if self.pods == 1:
            return 0
        leaves = min(self.down[1], self.leaves - pod * self.down[1])
        return math.ceil(leaves * self.leaf_links / self.thin[1] - 1e-9)

    @property
    def links(self) -> tuple[int, int]:
        """Links between switches, in all planes: from leaves, and from pods."""
        return self.planes * self.leaves * self.leaf_links, self.planes * sum(map(self.pod_links, range(self.pods)))

    @property
    def ports(self) -> int:
        """Switch ports in use: one for each host, two for each link between switches."""
        return self.hosts + 2 * sum(self.links)

    @property
    def tiers(self) -> tuple[tuple[str, int, tuple[float, ...]], ...]:
        """(name, hosts of a subtree, bytes per second out of each of one plane), from the leaves up, without tiers that join nothing."""
        found: list[tuple[str, int, tuple[float, ...]]] = []
        if self.leaves > 1:
            found.append(("leaf", self.leaf, (self.leaf_links * self.rate,) * self.leaves))
        if self.pods > 1:
            found.append(("pod", self.leaf * self.down[1], tuple(self.pod_links(pod) * self.rate for pod in range(self.pods))))
        return tuple(found)
