"""Ways to spread a model over the devices of one replica that are worth a try, on machines of one kind."""

from __future__ import annotations

from collections.abc import Iterator

from ironlaw.engine.cluster.links import Box
from ironlaw.engine.device.machine import Hardware
from ironlaw.engine.serving.llm.decoder import Decoder
from ironlaw.engine.serving.llm.layout import Layout, mixed, share
from ironlaw.errors import BadValue
from ironlaw.systems.serving.deployments import box_of, weigh
from ironlaw.systems.serving.search.demand import Demand
from ironlaw.systems.serving.search.fewest import BUDGETS

SHARED = (1, 2, 4, 8)  # devices of one replica that are tried
WIDE = (16, 32)  # and more of them, where no 8 hold the model
STAGES = (2, 4, 8)


def layouts(asked: Demand, machine: Hardware) -> tuple[Layout, ...]:
    """As asked; else those that hold the model, the fewest devices first. Without one, the largest: its refusal says what is missing."""
    joint = box_of(machine)
    if asked.tp or asked.pp or asked.dp or asked.experts:
        groups = asked.dp or 1
        return (Layout(asked.tp or 1, asked.pp or 1, groups, asked.experts or groups > 1),)
    able = [one for one in _tried(asked.decoder, joint, SHARED) if _possible(asked.decoder, one, joint)]
    holding = _holding(asked, machine, able)
    if not holding:
        more = [one for one in _tried(asked.decoder, joint, WIDE) if _possible(asked.decoder, one, joint)]
        holding, able = _holding(asked, machine, more), able + more
    tensor = [one for one in able if one.ways == 1]
    return tuple(holding or tensor[-1:])


def _tried(model: Decoder, joint: Box | None, sizes: tuple[int, ...]) -> Iterator[Layout]:
    """In the order of their devices. Stages are tried where devices meet over slow wires, or one box is not enough."""
    slow = joint is not None and joint.group < joint.devices
    for devices in sizes:
        yield Layout(devices)
        if devices == 1 or joint is None:
            continue
        for stages in STAGES:
            if devices % stages == 0 and (slow or devices > joint.devices):
                yield Layout(devices // stages, stages)
        if mixed(model) and not slow:
            yield Layout(devices, whole=True)
            yield Layout(1, groups=devices, whole=True)
            if devices >= 4:
                yield Layout(devices // 2, groups=2, whole=True)


def _possible(model: Decoder, layout: Layout, joint: Box | None) -> bool:
    if layout.devices > 1 and (
        joint is None or layout.stage_devices > joint.devices or (layout.devices > joint.devices and not joint.nics)
    ):
        return False
    try:
        share(model, layout)
    except BadValue:
        return False
    return True


def _holding(asked: Demand, machine: Hardware, able: list[Layout]) -> list[Layout]:
    weights = asked.weights or asked.arithmetic or ""
    return [
        one
        for one in able
        if weigh(asked.decoder, machine, one, weights, BUDGETS[3], asked.share_of_memory, asked.server.free_memory)[2] > 0
    ]
