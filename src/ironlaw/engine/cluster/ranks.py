"""Which devices work together in a layout: rank -> its place, its box, and its groups.

Neighbours are of one tensor group, then of one context group, then replicas, then stages: what talks most stays nearest.
"""

from __future__ import annotations

from typing import NamedTuple

from ironlaw.engine.cluster.layouts import Layout
from ironlaw.errors import BadValue


class Place(NamedTuple):
    """Where a rank stands in its layout, each counted from 0."""

    tensor: int
    context: int
    data: int
    stage: int


def place(layout: Layout, rank: int) -> Place:
    if not 0 <= rank < layout.devices:
        raise BadValue(f"rank {rank} is not one of {layout.devices:,} devices; give one from 0 to {layout.devices - 1:,}", "rank")
    rest, tensor = divmod(rank, layout.tensor)
    rest, context = divmod(rest, layout.context)
    stage, data = divmod(rest, layout.data)
    return Place(tensor, context, data, stage)


def rank_at(layout: Layout, at: Place) -> int:
    return at.tensor + layout.tensor * (at.context + layout.context * (at.data + layout.data * at.stage))


def kinship(layout: Layout, a: int, b: int) -> str:
    """What two ranks do together: "self", "tensor", "context", "data", "pipeline" for stages next to each other, or ""."""
    if a == b:
        return "self"
    one, other = place(layout, a), place(layout, b)
    if one.stage != other.stage:
        return "pipeline" if one[:3] == other[:3] and abs(one.stage - other.stage) == 1 else ""
    if one.data != other.data:
        return "data" if one[:2] == other[:2] else ""
    if one.context != other.context:
        return "context" if one.tensor == other.tensor else ""
    return "tensor"
