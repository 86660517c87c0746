"""A measured machine of made-up figures: an op takes, and lies among what was measured, as the test says. Eager runs only."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from math import log
from typing import Any

from small_graphs import MACHINE, tensor

from ironlaw.engine.device.cost import Cost
from ironlaw.engine.device.host import Host
from ironlaw.engine.device.machine import Hardware, Plan
from ironlaw.engine.device.predict import Prediction, predict
from ironlaw.engine.device.types import Graph
from ironlaw.engine.device.uncertainty import FOUR_IN_FIVE, Doubt, Scatter
from ironlaw.engine.device.work import op

DESK = Host(
    {"default": 0.5},
    entry=0.25,
    graph_start=0.75,
    slug="desk",
    name="A desk",
    source="a bench",
    date="2026-01-01",
    caveats=("a busy machine",),
)
X, W = tensor("x", 4, 8, role="input"), tensor("w", 8, 8, role="weight")
A, B, C = (tensor(name, 4, 8) for name in "abc")
# linear: 512 FLOP, 64 + 128 + 64 bytes. relu: 32 FLOP, 128 bytes
NET = Graph("net", (op("linear", "fc", [X, W], [A]), op("relu", "act", [A], [B])))
LONGER = Graph("longer", (*NET.ops, op("exp", "last", [B], [C])))


def took(data: float, compute: float, place: str, launch: float = 0.5) -> Cost:
    return Cost(data, compute, launch=launch, doubt=Doubt(0.0, "toy", place=place))


@dataclass
class Measured:
    """Ops are sure; whole models come out up to a quarter longer or a fifth shorter, launches up to twice as long or half."""

    costs: Mapping[str, Cost]
    sources: tuple[str, ...] = ("measured here",)
    host: Host = DESK
    common: float = 0.0
    scatter: Mapping[str, Scatter] = field(
        default_factory=lambda: {"eager": Scatter(0.0, log(1.25) / FOUR_IN_FIVE), "host": Scatter(0.0, log(2.0) / FOUR_IN_FIVE)}
    )

    def cost(self, op: Any, hardware: Hardware, plan: Plan) -> Cost:
        return self.costs[op.kind]

    def sustain(self, costs: list[Cost]) -> list[Cost]:
        return costs

    def known(self, hardware: Hardware, plan: Plan) -> dict[Any, Cost]:
        return {}


def measured(graph: Graph, plan: Plan = Plan(host=DESK), **costs: Cost) -> Prediction:  # noqa: B008
    """The toy of `small_graphs`, measured: what an op takes, by its kind."""
    return predict(graph, replace(MACHINE, reserved=1000.0, calibration=Measured(costs)), plan)
