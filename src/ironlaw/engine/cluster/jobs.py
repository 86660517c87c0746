"""Jobs that share a tree of switches: what each puts on the links, and how long it waits for the slowest.

A job takes whole nodes, and NIC i of a node talks to NIC i of others. Jobs that meet on an uplink get equal parts of it, and none more than
its NICs can send. Where a share c of the flows meet in pairs on a link, c/2 of the links stand idle: that much is lost, at the least.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain, pairwise
from typing import NamedTuple

from ironlaw.engine.cluster.placement import fragmented
from ironlaw.engine.cluster.trees import NODE, Tree
from ironlaw.errors import BadValue, unknown

RING, EXCHANGE, LINE = "two_level", "all_to_all", "neighbour"
KINDS = (RING, EXCHANGE, LINE)
PLACEMENTS = 41  # drawn, so that a median does not hang on one of them; an odd number has one in the middle


@dataclass(frozen=True, slots=True)
class FabricJob:
    """`size`: bytes that a NIC sends to the next node of a ring or a line, or that a device has for all of its group.

    `group`: nodes that exchange, or that a line is long; a ring goes round all nodes. `compute`: seconds of a step without communication.
    """

    name: str
    nodes: int
    kind: str
    size: float
    compute: float
    group: int = 0

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise unknown("traffic of a job", self.kind, KINDS, field="kind")
        if self.kind != RING and (self.group < 1 or self.nodes % self.group):
            raise BadValue(f"{self.name}: {self.nodes} nodes in groups of {self.group}; give a divisor of {self.nodes}", "group")

    @property
    def port_bytes(self) -> float:
        """Out of one NIC in a step; the ends of a line send one way only, the others both."""
        if self.kind == EXCHANGE:
            return self.size * (self.group - 1) / self.group
        if self.kind == LINE:
            return self.size * min(2, self.group - 1)
        return self.size if self.nodes > 1 else 0.0

    def leaving(self, at: Sequence[int]) -> dict[int, float]:
        """Subtree -> bytes that one NIC of all its nodes send out of it in a step, where node i of the job is in subtree at[i]."""
        if self.kind == RING:
            flows = Counter(here for here, there in zip(at, [*at[1:], *at[:1]], strict=True) if here != there)
            return {subtree: count * self.size for subtree, count in flows.items()}
        groups = [at[first : first + self.group] for first in range(0, self.nodes, self.group)]
        if self.kind == LINE:  # each end of a pair sends to the other
            meet = [pair for group in groups for pair in pairwise(group) if pair[0] != pair[1]]
            return {subtree: count * self.size for subtree, count in Counter(chain.from_iterable(meet)).items()}
        out: dict[int, float] = {}
        for group in groups:  # members of a group in a subtree × those outside it, not pair by pair
            for subtree, members in Counter(group).items():
                if members < self.group:
                    out[subtree] = out.get(subtree, 0.0) + members * (self.group - members) * self.size / self.group
        return out


@dataclass(frozen=True, slots=True)
class Waiting:
    """One job on the fabric: seconds that its ports need, and that its busiest uplink of each tier needs."""

    job: FabricJob
    port: float
    uplinks: tuple[tuple[str, float], ...]

    @property
    def communication(self) -> float:
        return max((self.port, *(seconds for _, seconds in self.uplinks)))

    @property
    def step(self) -> float:
        return self.job.compute + self.communication

    @property
    def share(self) -> float:
        """The share of the step that is communication."""
        return self.communication / self.step


class Uplink(NamedTuple):
    """What leaves one subtree. `load`: bytes per second that its jobs' ports could send, over what it carries; above 1 they wait for it."""

    load: float
    seconds: dict[str, float]  # job -> what its bytes take here


def uplinks(tree: Tree, jobs: Sequence[FabricJob], order: Sequence[int], collisions: float = 0.0) -> dict[str, list[Uplink]]:
    """Tier -> each of its subtrees in one plane; the planes are alike."""
    if not 0.0 <= collisions < 1.0:
        raise BadValue(f"the share of the flows is {collisions!r}; give one from 0 to below 1", "collisions")
    needed = sum(job.nodes for job in jobs)
    if needed > len(order) or len(order) * NODE != tree.hosts:
        raise BadValue(f"jobs of {needed} nodes on {len(order)}, and {tree.hosts} hosts at {NODE} per node; give each job a place", "jobs")
    nics = NODE // tree.planes
    found: dict[str, list[Uplink]] = {}
    for name, hosts, rates in tree.tiers:
        leaving: list[dict[str, float]] = [{} for _ in rates]
        wanted: list[dict[str, float]] = [{} for _ in rates]
        first = 0
        for job in jobs:
            at = [node // (hosts // nics) for node in order[first : first + job.nodes]]
            for subtree, size in job.leaving(at).items():
                leaving[subtree][job.name] = nics * size
                wanted[subtree][job.name] = nics * size * tree.rate / job.port_bytes
            first += job.nodes
        usable = [rate * (1.0 - collisions / 2.0) for rate in rates]
        found[name] = [_uplink(*each) for each in zip(leaving, wanted, usable, strict=True)]
    return found


def _uplink(leaving: dict[str, float], wanted: dict[str, float], capacity: float) -> Uplink:
    shares = fair_shares(capacity, wanted)
    return Uplink(sum(wanted.values()) / capacity, {job: size / shares[job] for job, size in leaving.items()})


def fair_shares(capacity: float, wanted: dict[str, float]) -> dict[str, float]:
    """Equal parts of a capacity; whoever wants less than its part leaves the rest to the others."""
    shares: dict[str, float] = {}
    for left, name in zip(range(len(wanted), 0, -1), sorted(wanted, key=lambda each: wanted[each]), strict=True):
        shares[name] = min(wanted[name], (capacity - sum(shares.values())) / left)
    return shares


def waiting(tree: Tree, jobs: Sequence[FabricJob], order: Sequence[int], collisions: float = 0.0) -> dict[str, Waiting]:
    """Every job on its nodes: those that `order` lists, one job after the other."""
    tiers = uplinks(tree, jobs, order, collisions)

    def slowest(job: str, tier: str) -> float:
        return max(each.seconds.get(job, 0.0) for each in tiers[tier])

    return {job.name: Waiting(job, job.port_bytes / tree.rate, tuple((tier, slowest(job.name, tier)) for tier in tiers)) for job in jobs}


def typical_waiting(tree: Tree, jobs: Sequence[FabricJob], scattered: float, collisions: float = 0.0) -> dict[str, Waiting]:
    """Each job at its median over drawn placements of a share `scattered` of all nodes; in rack order there is only one placement."""
    seeds = range(PLACEMENTS if scattered else 1)
    draws = [waiting(tree, jobs, fragmented(tree.hosts // NODE, scattered, seed), collisions) for seed in seeds]
    return {job.name: sorted((draw[job.name] for draw in draws), key=lambda one: one.communication)[len(draws) // 2] for job in jobs}
