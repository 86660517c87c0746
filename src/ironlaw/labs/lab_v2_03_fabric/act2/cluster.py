"""Act II's settings -> switches, and three jobs that share them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

from ironlaw import kit
from ironlaw.engine.cluster.jobs import Uplink, Waiting, uplinks
from ironlaw.engine.cluster.placement import fragmented
from ironlaw.engine.cluster.trees import NODE, Tree
from ironlaw.registry.boxes import box, boxes
from ironlaw.systems.fields import among, figure, hundredths, switch
from ironlaw.systems.training.fabric_jobs import DENSE, EXPERTS, HOSTS, NODES, PIPELINE, fabric_jobs, shared_fabric, shared_tree

NAMES = {DENSE: "dense model", EXPERTS: "experts", PIPELINE: "pipeline"}
RADIXES = (32, 64, 128)
THIN = (1, 1.5, 2, 3, 4, 7, 8)
GBITS = (200, 400, 800)
LAB_02 = "lab_v2_02_interconnect"
BAD_DAY = 0.10  # of the nodes sit wherever one was free


@dataclass(frozen=True)
class Case:
    """Where the dials of Act II stand. The defaults are the question's own, on the thin spine."""

    radix: int = among(RADIXES, 64, "Ports per switch")
    tiers: int = among({2: "two", 3: "three"}, 2, "Tiers")
    leaf_thin: float = among(THIN, 4.0, "Oversubscription of a leaf", dial="select", shown="{:g}:1")
    pod_thin: float = among(THIN, 1.0, "Oversubscription of a pod", dial="select", shown="{:g}:1")
    rails: bool = switch(False, "Rails (NIC i on plane i)")
    scattered: float = figure(0, "Nodes placed at random", "%", low=0, high=100, dial="span", step=5, means=hundredths)
    gbits: int = among(GBITS, 400, "Port rate, Gb/s")
    experts: int = among((8, 64, 128, 256, 512), 256, "Experts, one per device", dial="select")
    top_k: int = among((1, 2, 4, 8), 2, "Experts per token")
    collisions: float = figure(0, "Flows that collide on a link", "%", low=0, high=30, dial="span", step=5, means=hundredths)

    @property
    def rate(self) -> float:
        return self.gbits * 1e9 / 8

    @property
    def tree(self) -> Tree:
        thin = (self.leaf_thin,) if self.tiers == 2 else (self.leaf_thin, self.pod_thin)
        return shared_tree(self.radix, thin, self.rate, self.rails)

    @property
    def waiting(self) -> Mapping[str, Waiting]:
        return shared_fabric(self.tree, self.scattered, self.collisions, self.experts, self.top_k)

    @property
    def full(self) -> Mapping[str, Waiting]:
        """The same jobs side by side on a spine that holds nobody up."""
        return shared_fabric(shared_tree(rate=self.rate), 0.0, 0.0, self.experts, self.top_k)

    @property
    def factors(self) -> dict[str, float]:
        return {name: one.step / self.full[name].step for name, one in self.waiting.items()}

    @property
    def uplinks(self) -> dict[str, list[Uplink]]:
        return _uplinks(self.tree, self.scattered, self.collisions, self.experts, self.top_k)

    @property
    def on_a_bad_day(self) -> Case:
        """The same fabric once the scheduler could not keep jobs together; each job is at its median over placements."""
        return self.at(scattered=max(self.scattered, BAD_DAY))

    def at(self, **changes: Any) -> Case:
        return replace(self, **changes)


@lru_cache(maxsize=128)
def _uplinks(tree: Tree, scattered: float, collisions: float, experts: int, top_k: int) -> dict[str, list[Uplink]]:
    return uplinks(tree, fabric_jobs(experts, top_k), fragmented(HOSTS // NODE, scattered), collisions)


def jobs_at(case: Case, tier: str, subtree: int) -> list[str]:
    """Whose nodes are under a leaf or in a pod."""
    hosts = next(count for name, count, _ in case.tree.tiers if name == tier)
    nodes = hosts * case.tree.planes // NODE
    order, first, found = fragmented(HOSTS // NODE, case.scattered), 0, []
    for name, count in NODES.items():
        if any(node // nodes == subtree for node in order[first : first + count]):
            found.append(name)
        first += count
    return found


def offers(lab: kit.Lab) -> list[kit.Offer]:
    """The ports of the box that Lab V2-02 saved."""
    slug = (lab.ledger.design(LAB_02) or {}).get("box")
    nic = box(slug).nic if slug in boxes() else None
    return [kit.Offer(LAB_02, "box", {"gbits": round(8 * nic.per_direction / 1e9)})] if nic else []
