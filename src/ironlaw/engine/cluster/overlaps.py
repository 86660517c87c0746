"""Gradients summed up and weights gathered beside the passes: what of it is left to see.

Sums go with the backward pass, gathers with the forward pass of one microbatch.
"""

from __future__ import annotations

from ironlaw.engine.cluster.library import collective
from ironlaw.engine.cluster.links import Box
from ironlaw.engine.cluster.volumes import Call


def call_seconds(box: Box, call: Call) -> float:
    """The time of all of a collective's calls in a step."""
    return call.count * float(collective(box, call.kind, call.ranks, call.size, call.per_box))


def exposed(box: Box, group: tuple[Call, ...], ahead: float, back: float, overlap: bool = True, drag: float = 0.0) -> float:
    """Seconds of a step, where a microbatch takes `ahead` forward and `back` backward; all of them without `overlap`. `drag`: the share of
    what is hidden that the passes take longer for it.

    ZeRO-3 gathers weights again for each pass backward; copies of what is sharded sum it up there too.
    """
    if not overlap:
        return sum(call_seconds(box, call) for call in group)
    counts = {call.kind: call.count for call in group}
    each = {kind: sum(call_seconds(box, call) for call in group if call.kind == kind) / count for kind, count in counts.items()}
    if "all_gather" not in each:
        return left(each.get("all_reduce", 0.0), back, drag)
    sums, gathers = counts["reduce_scatter"], counts["all_gather"]
    again = gathers / sums - 1.0 if gathers > sums else 0.0  # gathers beside each sum
    first = min(sums, gathers) if again else 1.0
    beside = each["reduce_scatter"] + again * each["all_gather"] + each.get("all_reduce", 0.0)
    return first * left(each["all_gather"], ahead, drag) + sums * left(beside, back, drag)


def left(seconds: float, window: float, drag: float = 0.0) -> float:
    """What a microbatch's pass of `window` does not hide of them, and what hiding the rest costs."""
    return max(0.0, seconds - window) + drag * min(seconds, window)
