"""Operators of a model of equal layers, those of the same place in every layer taken together."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ironlaw.engine.device.complex_work import flops
from ironlaw.engine.device.predict import OpRow, Prediction
from ironlaw.engine.device.work import traits
from ironlaw.tracing.origins import BACKWARD

NUMBER = re.compile(r"(?:^|(?<=[._]))\d+(?=\.)")  # of a layer: blocks.3.norm, stage_3.norm, 3.norm
WEIGHT_GRAD, INPUT_GRAD = " (weight grad)", " (input grad)"
TURN = re.compile(r"(?<=[a-z_])\.\d+$")  # of a call: head.addmm.2 is the second one


def gradients(rows: Sequence[OpRow], phases: Mapping[str, str]) -> dict[str, str]:
    """Whether a product in a backward pass gives a weight's gradient or an input's: autograd calls both by one name."""
    weights: dict[str, set[tuple[int, ...]]] = defaultdict(set)
    found: dict[str, str] = {}
    for row in rows:
        if traits(row.kind).category != "contraction" or "backward" in row.name:  # those that are called one are both, or say which
            continue
        module = row.name.rpartition(":")[0] or TURN.sub("", row.name).rpartition(".")[0]
        if row.name not in phases:
            weights[module] |= {tuple(sorted(t.shape)) for t in row.op.inputs[1:] if len(t.shape) > 1}
        elif phases[row.name] == BACKWARD:
            reads = any(t.role == "weight" for t in row.op.inputs)
            own = not reads and tuple(sorted(row.op.outputs[0].shape)) in weights[module]
            found[row.name] = WEIGHT_GRAD if own else INPUT_GRAD
    return found


@dataclass(frozen=True)
class Place:
    """`layers.*.mlp.down_proj`: how often it runs, and what it takes in all."""

    name: str
    rows: tuple[OpRow, ...]

    @property
    def count(self) -> int:
        return len(self.rows)

    @property
    def kind(self) -> str:
        return self.rows[0].kind

    @property
    def seconds(self) -> float:
        return sum(float(row.seconds) for row in self.rows)

    @property
    def flops(self) -> float:
        return sum(float(flops(row.op)) for row in self.rows)

    @property
    def bytes(self) -> float:
        return sum(float(row.work.bytes) for row in self.rows)

    @property
    def regime(self) -> str:
        """What limits it for most of its time."""
        return max(("memory", "compute"), key=lambda name: sum(float(r.seconds) for r in self.rows if r.regime == name))


def places(p: Prediction) -> Sequence[Place]:
    """The longest first."""
    groups: dict[tuple[str, str], list[OpRow]] = {}
    grads = gradients(p.ops, p.graph.settings.get("phases", {}))
    for row in p.ops:
        name = NUMBER.sub("*", TURN.sub("", row.name)) + grads.get(row.name, "")
        groups.setdefault((name, row.kind), []).append(row)
    return sorted((Place(name, tuple(rows)) for (name, _), rows in groups.items()), key=lambda place: -place.seconds)
