"""Operators of a model of equal layers, those of the same place in every layer taken together."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from ironlaw.engine.device.predict import OpRow, Prediction

NUMBER = re.compile(r"(?:^|(?<=[._]))\d+(?=\.)")  # of a layer: blocks.3.norm, stage_3.norm, 3.norm
TURN = re.compile(r"(?<=[a-z_])\.\d+$")  # of a call: head.addmm.2 is the second one


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
        return sum(float(row.work.flops) for row in self.rows)

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
    for row in p.ops:
        groups.setdefault((NUMBER.sub("*", TURN.sub("", row.name)), row.kind), []).append(row)
    return sorted((Place(name, tuple(rows)) for (name, _), rows in groups.items()), key=lambda place: -place.seconds)
