"""Act I's settings -> a fabric, what a collective puts on its links, and how long the busiest takes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

from ironlaw import kit
from ironlaw.engine.cluster.loads import Loads, flow_time, subtrees, traffic
from ironlaw.engine.cluster.placement import fragmented
from ironlaw.engine.cluster.topology import Fabric, leaf_spine, sides, three_tiers, torus
from ironlaw.kit import settings
from ironlaw.labs.lab_v2_03_fabric.act1 import local_runs
from ironlaw.registry.interconnects import interconnect
from ironlaw.systems.fields import among, figure, hundredths, times, whole

LEAVES, TIERS, RAILS, TORUS, LOOPBACK = "leaf_spine", "three_tiers", "rails", "torus", "loopback"
KINDS = {
    "ring": "ring all-reduce", "two_level": "two-level all-reduce", "all_gather": "all-gather", "all_to_all": "all-to-all",
    "neighbour": "send to the next host", "permutation": "send halfway round the ring",
}  # fmt: skip
PER_NODE = 8
POD = 8  # leaves


@dataclass(frozen=True)
class Setting:
    """Where the dials of Act I stand. The defaults are the question's own, on the thin spine."""

    shape: str = LEAVES
    kind: str = among(KINDS, "ring", "Traffic", dial="select")
    thin: float = figure(4, "Oversubscription", ": 1", low=1, high=32, dial="span", log=True, steps=[1, 2, 3, 4, 7, 8, 16, 32])
    scattered: float = figure(0, "Ranks placed at random", "%", low=0, high=100, dial="span", step=5, means=hundredths)
    seed: int = whole(1, "Random seed", most=9, dial="span")
    hosts: int = among([2**i for i in range(6, 15)], 1024, "Hosts", dial="span", log=True, whole=True)
    per_leaf: int = among((8, 16, 32, 64), 32, "Hosts per leaf")
    size: float = figure(1000, "Message", "MB", low=1, high=10_000, dial="span", log=True, means=times(1e6))
    rate: float = 0.0  # of one port; 0: as the registry has it

    @property
    def fabric(self) -> Fabric:
        rate = self.rate or interconnect("ici_v4" if self.shape == TORUS else "ndr400").per_direction
        return _fabric(self.shape, self.hosts, self.per_leaf, self.thin, rate)

    @property
    def order(self) -> tuple[int, ...] | None:
        return _order(self.fabric.hosts, self.kind, self.scattered, self.seed, self._node) if self.scattered else None

    @property
    def _node(self) -> int:
        """How many NICs of a node a two-level all-reduce spreads a message over, on the fabric that is drawn; one if that is a plane."""
        return PER_NODE if self.kind == "two_level" and self.shape != RAILS else 1

    @property
    def loads(self) -> Loads:
        share = _loads(self.shape, self.hosts, self.per_leaf, self.kind, self.scattered, self.seed)
        size = self.size / PER_NODE if self.kind == "two_level" and self.shape == RAILS else self.size
        return Loads(share.host * size, tuple(each * size for each in share.tiers))

    @property
    def seconds(self) -> float:
        return float(flow_time(self.fabric, self.loads))

    @property
    def port_seconds(self) -> float:
        """What the hosts' own ports need: the time on a fabric that holds nobody up."""
        return float(self.loads.host) / (self.fabric.rate * self.fabric.ports)

    @property
    def factor(self) -> float:
        return self.seconds / self.port_seconds

    @property
    def tier_seconds(self) -> dict[str, tuple[float, float, float]]:
        """Tier -> (seconds, bytes, bytes per second) of its busiest link; the ports first."""
        fabric, loads = self.fabric, self.loads
        rows = {"ports": (self.port_seconds, float(loads.host), fabric.rate * fabric.ports)}
        for tier, size in zip(fabric.tiers, loads.tiers, strict=True):
            rows[tier.name] = (float(size) / tier.uplink, float(size), tier.uplink)
        return rows

    @property
    def busiest(self) -> str:
        rows = self.tier_seconds
        return max(rows, key=lambda name: (rows[name][0] > rows["ports"][0] * (1 + 1e-9), rows[name][0], name == "ports"))

    def uplink_loads(self) -> list[list[float]]:
        """For every subtree of each tier, what ports could send over its uplinks, over what they carry."""
        fabric, host = self.fabric, float(self.loads.host) / (self.fabric.rate * self.fabric.ports)
        size = self.size / PER_NODE if self.kind == "two_level" and self.shape == RAILS else self.size
        return [
            [size * share / tier.uplink / host for share in subtrees(self.kind, fabric, tier, self.order, self._node)]
            for tier in fabric.tiers
        ]

    def at(self, **changes: Any) -> Setting:
        return replace(self, **changes)


@lru_cache(maxsize=256)
def _fabric(shape: str, hosts: int, per_leaf: int, thin: float, rate: float) -> Fabric:
    if shape == TORUS:
        return torus(rate, *sides(hosts))
    if shape == TIERS:
        leaf = min(per_leaf, hosts)
        return three_tiers(hosts, leaf, min(hosts, POD * leaf), thin, rate)
    count = hosts // PER_NODE if shape == RAILS else hosts
    return leaf_spine(count, min(per_leaf, count), thin, rate)


@lru_cache(maxsize=256)
def _loads(shape: str, hosts: int, per_leaf: int, kind: str, scattered: float, seed: int) -> Loads:
    """The loads of a message of one byte, which a spine's width does not change."""
    one = Setting(
        shape, hosts=hosts, per_leaf=per_leaf, thin=1.0, kind=kind, scattered=scattered, seed=seed, size=1.0, rate=1.0
    )  # fmt: skip
    return traffic(kind, one.fabric, 1.0, one.order, one._node)


@lru_cache(maxsize=32)
def _order(hosts: int, kind: str, scattered: float, seed: int, node: int) -> tuple[int, ...]:
    """Rank i's host; a node's NICs stay together. For a permutation: to whom host i sends."""
    nodes = fragmented(hosts // node, scattered, seed)
    places = tuple(node * place + nic for place in nodes for nic in range(node))
    if kind != "permutation":
        return places
    targets = [0] * hosts
    for rank, place in enumerate(places):
        targets[place] = places[(rank + hosts // 2) % hosts]
    return tuple(targets)


def setting_of(lab: kit.Lab, values: Mapping[str, Any]) -> Setting:
    shape = lab.current_context.slug
    own = local_runs.wire(lab) if shape == LOOPBACK else None
    if own is not None:  # ranks that are leaves of one, under one wire
        return settings.read(Setting, values, shape=shape, hosts=own.ranks, per_leaf=1, thin=float(own.ranks), rate=own.rate)
    return settings.read(Setting, values, shape=LEAVES if shape == LOOPBACK else shape)
