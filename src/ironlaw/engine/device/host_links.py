"""Copies between a host and its GPU, and what makes the host wait for the GPU: an op says so by its attributes.

`LINK`: the memory that the host's end lies in. A copy takes its bytes over the wire; from pageable memory the driver copies them once more,
and the call returns when that is done. `WAITS`: the host goes on when the device is through with all that was launched. `LINE`: where in
the code that is.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ironlaw.engine.device.cost import Cost
from ironlaw.engine.device.dispatch import Run, simulate
from ironlaw.engine.device.types import Graph, Op
from ironlaw.engine.device.uncertainty import Doubt
from ironlaw.engine.device.work import op as make_op

LINK, WAITS, LINE = "link", "waits", "line"
# fresh: a result of more than an allocator keeps lies in pages that the system has yet to hand out and to clear
PINNED, PAGEABLE, FRESH = "pinned", "pageable", "fresh"
# Bytes per second and seconds before the first byte of a copy, either way, 4 MiB to 64 MiB (fresh: above what an allocator keeps), over
# PCIe 5.0 x16: registry/evidence/h200_sxm/host_copies.json. Another wire sets another pace for pinned memory; pageable memory is the
# host's to copy, up to that pace. Fresh pages were measured in a virtual machine, where the system is slow to hand them out.
RATES = {PINNED: 53e9, PAGEABLE: 13.6e9, FRESH: 1.5e9}
SPREAD = {PINNED: 0.1, PAGEABLE: 0.25, FRESH: 0.6}  # sd of the logarithm: sizes within a row, and hosts of other speeds
STARTS = {PINNED: 4.5e-6, PAGEABLE: 8e-6, FRESH: 8e-6}
MEASURED_OVER = 63e9  # bytes per second of that wire
KEPT_BY_ALLOCATOR = 32 << 20  # bytes from which on malloc asks the system for pages, which it gives back when freed (glibc)


def rate(way: str, wire: float) -> float:
    """Bytes per second of a long copy. `wire`: of the way between host and device, in one direction."""
    pinned = RATES[PINNED] * wire / MEASURED_OVER
    return pinned if way == PINNED else min(RATES[way], pinned)


def link_cost(op: Op, wire: float, launch: float, fitted: bool) -> Cost:
    """`launch`: what the call costs the host, beside waiting. `fitted`: whether other ops say how sure they are; else this is a bound."""
    way = op.attrs[LINK]
    doubt = Doubt(SPREAD[way], f"copies from {way} memory") if fitted else None
    return Cost(op.outputs[0].bytes / rate(way, wire), 0.0, STARTS[way], 1.0, launch, doubt=doubt)


def without_waits(graph: Graph) -> Graph | None:
    """The same step with values left on the GPU, and batches copied from pinned memory while the GPU works; None where nothing waits."""
    if not any(op.attrs.get(WAITS) for op in graph.ops):
        return None
    ops: list[Op] = []
    gone: set[str] = set()
    for op in graph.ops:
        if not op.attrs.get(WAITS):
            ops.append(op)
        elif _to_device(op):
            attrs = {name: value for name, value in op.attrs.items() if name != WAITS}
            ops.append(make_op(op.kind, op.name, op.inputs, op.outputs, **{**attrs, LINK: PINNED}))
        else:
            gone.update(t.name for t in op.outputs)
    settings = {name: value for name, value in graph.settings.items() if name not in ("calls", "backwards")}
    if "backwards" in graph.settings:
        kept = [not op.attrs.get(WAITS) or _to_device(op) for op in graph.ops]
        settings["backwards"] = tuple(sum(kept[:end]) for end in graph.settings["backwards"])
    return replace(graph, ops=tuple(ops), settings=settings, outputs=tuple(name for name in graph.outputs if name not in gone))


def _to_device(op: Op) -> bool:
    return bool(op.attrs.get(LINK) and op.inputs and op.inputs[0].role == "input")


def waiting(ops: Sequence[Op], run: Run) -> list[tuple[str, float]]:
    """Each line of code that makes the host wait, and by what share the run would be shorter without; the most first."""
    lines = dict.fromkeys(str(op.attrs[LINE]) for op in ops if op.attrs.get(LINE) and op.attrs.get(WAITS))
    shares = []
    for line in lines if run.schedule.dispatch == "queued" else ():
        mine = [op.attrs.get(LINE) == line for op in ops]
        schedule = replace(
            run.schedule,
            waits=[wait and not here for wait, here in zip(run.schedule.waits, mine, strict=True)],
            launches=[0.0 if here else launch for launch, here in zip(run.schedule.launches, mine, strict=True)],
        )
        rest = simulate(schedule, [0.0 if here else kernel for kernel, here in zip(run.kernels, mine, strict=True)])
        shares.append((line, 1.0 - float(rest.wall) / float(run.wall)))
    return sorted(shares, key=lambda pair: -pair[1])
