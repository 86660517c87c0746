"""Act I's settings -> what a collective takes on a box: the engine's rings, kept per setting."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from math import inf
from typing import Any

from ironlaw.engine.cluster.collectives import bus_factor, time
from ironlaw.engine.cluster.expert_exchange import Load, loads
from ironlaw.engine.cluster.library import ring_pace, switch_adds, switch_factor
from ironlaw.engine.cluster.links import Box, Edge, Interconnect, ring_edges
from ironlaw.kit import settings
from ironlaw.labs.lab_v2_02_interconnect.box_of_context import OWN
from ironlaw.registry.timed_wires import step_latency
from ironlaw.systems.fields import among, figure, times, whole

REDUCE, EXCHANGE, SEND = "all_reduce", "all_to_all", "send"
WHAT = {REDUCE: "all-reduce", EXCHANGE: "all-to-all", SEND: "point-to-point"}
SENT = WHAT | {SEND: "message"}  # the same in a sentence
RING, TWO_LEVEL, SWITCH = "ring", "two_level", "in_network"
ALGORITHMS = {RING: "one ring", TWO_LEVEL: "inside, across, inside", SWITCH: "sums in the switch"}
IN_ORDER, CROSSED = "in_order", "crossed"
ORDERS = {IN_ORDER: "in order", CROSSED: "alternating"}
SMALLEST, LARGEST = 1e3, 4e9  # bytes of a message
NAMES = {"link": "NVLink", "bridge": "PCI Express", "nic": "NICs"}


@dataclass(frozen=True)
class Setting:
    """Where the dials of Act I stand."""

    box: Box
    ranks: int = whole(label="Cards in use", least=2, dial="span")
    what: str = among(WHAT, REDUCE, "Collective")
    size: float = figure(1000, "Message", "MB", low=SMALLEST / 1e6, high=LARGEST / 1e6, dial="span", log=True, means=times(1e6))
    nics: int | None = whole(None, "NICs in use per box", dial="span")
    algorithm: str = among(ALGORITHMS, RING, "All-reduce algorithm")
    order: str = among(ORDERS, IN_ORDER, "Order of the ring")
    first: int = whole(0, "Swap card", least=0, dial="span")
    second: int = whole(0, "with card", least=0, dial="span")

    @property
    def places(self) -> tuple[int, ...]:
        """The ring's order: to and fro between groups (or boxes), then two ranks swapped."""
        unit = self.box.devices if self.ranks > self.box.devices else self.box.group
        places = list(range(self.ranks))
        if self.order == CROSSED:
            places.sort(key=lambda rank: (rank % unit, rank // unit))
        if self.first < self.ranks and self.second < self.ranks:
            a, b = places.index(self.first), places.index(self.second)
            places[a], places[b] = places[b], places[a]
        return tuple(places)

    @property
    def boxes(self) -> int:
        return -(-self.ranks // self.box.devices)

    @property
    def used_nics(self) -> int | None:
        return self.nics if self.boxes > 1 else None

    @property
    def edges(self) -> tuple[Edge, ...]:
        """Each at the rate that a collective reaches on it, which for a fast link was fitted to timed rows."""
        edges = ring_edges(self.box, self.ranks, self.used_nics, self.places)
        most = self.box.bus or inf
        return tuple(replace(edge, rate=min(edge.rate, most)) if edge.kind == "link" else edge for edge in edges)

    @property
    def loads(self) -> tuple[Load, ...]:
        """The busiest wire of each kind in an all-to-all."""
        return loads(self.box, self.ranks, self.size, self.used_nics)

    @property
    def binding(self) -> tuple[str, float]:
        """(kind of wire, bytes per second) that everything waits for."""
        if self.what == SEND:
            kind, wire = self.box.edge(0, self.ranks - 1)
            return kind, wire.achieved
        if self.what == EXCHANGE:
            load = max(self.loads, key=lambda each: each.seconds)
            return load.kind, load.rate
        if self.adds:
            return "link", self.box.sums
        if self.levels:
            across = (self.nics or self.box.nics) * self.wire("nic").achieved
            inside = ring_pace(self.box, self.box.devices)[1]
            return ("nic", across) if across < inside else ("link", inside)
        edge = min(self.edges, key=lambda each: each.rate)
        rate = ring_pace(self.box, self.ranks, self.used_nics, self.places)[1]
        return edge.kind if rate >= edge.rate else "link", rate

    @property
    def levels(self) -> bool:
        """Whether it goes inside, across and inside: that takes full boxes."""
        return self.what == REDUCE and self.algorithm == TWO_LEVEL and self.boxes > 1 and self.ranks % self.box.devices == 0

    @property
    def adds(self) -> bool:
        """Whether the switch of a box adds up what its devices send."""
        return self.what == REDUCE and self.algorithm == SWITCH and self.boxes == 1 and switch_adds(self.box, REDUCE, self.ranks)

    @property
    def alpha(self) -> float:
        """Seconds that a step takes beside its bytes: every step waits for the slowest kind of wire in use."""
        if self.what == SEND:
            kinds = {self.box.edge(0, self.ranks - 1)[0]}
        else:
            kinds = {each.kind for each in (self.loads if self.what == EXCHANGE else self.edges)}
        return max(self.step_latency(kind) for kind in kinds)

    def step_latency(self, kind: str) -> float:
        return self.box.start if self.box.slug == OWN else step_latency(kind)

    @property
    def steps(self) -> int:
        """How often α is paid."""
        if self.what == SEND:
            return 1
        if self.what == EXCHANGE:
            return self.ranks - 1
        return 2 if self.adds else 2 * (self.ranks - 1)

    @property
    def latency(self) -> float:
        """What all steps take beside the bytes."""
        if self.levels:
            return 2 * (self.box.devices - 1) * self.step_latency("link") + 2 * (self.boxes - 1) * self.step_latency("nic")
        return self.steps * self.alpha

    @property
    def factor(self) -> float:
        """Bytes that each wire must carry, over the message."""
        return 1.0 if self.what == SEND else float(bus_factor(self.what, self.ranks))

    @property
    def bytes_seconds(self) -> float:
        """What the bytes alone take on the busiest wire."""
        if self.adds:
            return switch_factor(self.ranks) * self.size / self.box.sums
        if self.what == EXCHANGE:
            return max(load.seconds for load in self.loads)
        if self.levels:
            inside, each = ring_pace(self.box, self.box.devices)[1], (self.nics or self.box.nics) * self.wire("nic").achieved
            per_box = self.box.devices
            terms = time(REDUCE, TWO_LEVEL, self.ranks, self.size, 0.0, each / per_box, per_node=per_box, beta_inner=inside)
            return float(terms.bandwidth)
        return self.factor * self.size / self.binding[1]

    @property
    def seconds(self) -> float:
        """The α–β law: steps times α, and bytes over the rate of the slowest wire."""
        return self.latency + self.bytes_seconds

    @property
    def bus(self) -> float:
        """Bus bandwidth, by nccl-tests' convention."""
        return self.factor * self.size / self.seconds

    @property
    def algorithm_bandwidth(self) -> float:
        return self.size / self.seconds

    @property
    def awaited(self) -> str:
        """The wire that everything waits for, in a sentence."""
        kind = self.binding[0]
        return f"the {self.name(kind)}" if kind == "nic" else self.name(kind)

    @property
    def pace(self) -> str:
        """What most of the time goes to: the slowest wire, or the latency of the steps."""
        return self.awaited if self.bytes_seconds >= self.latency else "latency"

    def name(self, kind: str) -> str:
        return "shared memory" if self.box.slug == OWN else NAMES[kind]

    def wire(self, kind: str) -> Interconnect:
        wire: Interconnect | None = getattr(self.box, kind)
        assert wire is not None, f"{self.box.slug} has no {kind}"
        return wire

    def at(self, size: float) -> Setting:
        return replace(self, size=size)


def setting_of(box: Box, values: Mapping[str, Any]) -> Setting:
    ranks = min(round(values["ranks"]), box.devices * (2 if box.nic else 1))
    return settings.read(Setting, values, box=box, ranks=ranks, nics=min(round(values["nics"]), box.nics) if box.nic else None)
