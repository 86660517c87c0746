"""A model that one machine does not hold: what it needs, the fewest machines that hold it, and what else would do."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ironlaw.engine.cluster.pipeline_stages import Group, Stage, smallest_group
from ironlaw.engine.device.memory import footprint
from ironlaw.engine.device.prediction import Prediction
from ironlaw.engine.device.types import Graph
from ironlaw.units import show, show_capacity, show_usable

if TYPE_CHECKING:
    from ironlaw.outputs.prediction_output import GroupStage, MachineGroup, TooLargeJson

ALONE = ("mcu", "npu", "cpu")  # kinds of machines that nobody joins to hold one model


def too_large(rows: list[Prediction]) -> list[TooLargeJson]:
    """For each machine on which no mode holds the graph: `hardware`, `reason` as a sentence, and the `group` that holds it."""
    fitting = {p.hardware.slug for p in rows if p.fits}
    first: dict[str, Prediction] = {}
    for p in rows:
        if p.hardware.slug not in fitting:
            first.setdefault(p.hardware.slug, p)
    return [_answer(p) for p in first.values()]


def _answer(p: Prediction) -> TooLargeJson:
    from ironlaw.registry.boxes import box_with

    graph, has = p.graph, show_usable(p.memory.capacity, p.memory.usable)
    need = show(p.memory.total, "B")
    if p.memory.total <= p.memory.usable and p.memory.requests:
        margin = f"a margin of {p.memory.margin:.0%} on all but its weights"
        need = f"{need} at its peak, and more with what lies free between its tensors and {margin}"
    elif p.memory.total <= p.memory.usable:
        need, has = f"{show(p.memory.weights, 'B')} for its weights", f"{show_capacity(float(p.memory.flash))} of flash"
    lead = f"{graph.name} in {graph.dtype} does not fit into {p.hardware.slug}: it needs {need}, and there are {has}"
    lead = f"{lead}. The times are as if it fitted."
    instead = _larger(graph)
    group = None if p.hardware.kind in ALONE else smallest_group(p, box_with(p.hardware.slug))
    if p.hardware.kind in ALONE or (group and group.devices == 1):  # its tensors fit, and what lies between them does not
        return {"hardware": p.hardware.slug, "reason": f"{lead} T{instead[1:]}", "group": None}
    if group is None:
        alone = "One op alone needs more than a device has, so its weights have to be split."
        return {"hardware": p.hardware.slug, "reason": f"{lead} {alone} T{instead[1:]}", "group": None}
    return {"hardware": p.hardware.slug, "reason": f"{lead} {_sentence(p, group)} Or {instead}", "group": as_json(group)}


def _sentence(p: Prediction, group: Group) -> str:
    held = sorted(stage.bytes for stage in group.stages)
    sizes = f"{show(held[0], 'B')} to {show(held[-1], 'B')} each"
    if group.box:
        sent = show(sum(stage.sends for stage in group.stages), "B")
        wires = " and ".join(dict.fromkeys(group.box.edge(i, i + 1)[1].name for i in range(len(group.hops))))
        hops = f"including {show(sum(group.hops), 's')} to send {sent} over {wires}"
    else:
        hops = "plus the transfers, which we can't predict because the registry has no server with these devices"
    return (
        f"Split into stages, it fits on {group.devices} of them ({sizes}). A pass then takes {show(group.seconds, 's')}"
        f" in {p.plan.mode} mode, {hops}. Once the pipeline is full, a pass ends every {show(group.interval, 's')}."
    )


def as_json(group: Group) -> MachineGroup:
    def each(stage: Stage) -> GroupStage:
        return {"ops": [stage.first, stage.last], "bytes": stage.bytes, "seconds": stage.seconds, "sends_bytes": stage.sends}

    return {
        "devices": group.devices, "box": group.box.slug if group.box else None, "seconds": group.seconds, "transfer_s": sum(group.hops),
        "interval_s": group.interval, "stages": [each(stage) for stage in group.stages],
    }  # fmt: skip


def _larger(graph: Graph) -> str:
    """The next step: the smallest machines that would hold it."""
    from ironlaw.registry.machines import hardware, machines

    able = [m for m in map(hardware, machines()) if graph.dtype in m.peaks and footprint(graph, m).fits]
    names = [m.slug for m in sorted(able, key=lambda m: m.usable)[:3]]
    smaller = "take a smaller batch or context, or a narrower --dtype"
    return f"{smaller}, or a machine that holds it: {', '.join(names)}" if names else f"{smaller}; no machine of the registry holds it"
