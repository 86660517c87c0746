"""The training half of a system: a step on its wires, the fabric behind the NICs, saves and failures."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import lru_cache

from ironlaw.engine.cluster import two_levels
from ironlaw.engine.cluster.failures import Shares, mtbf
from ironlaw.engine.cluster.jobs import RING, FabricJob, typical_waiting
from ironlaw.engine.cluster.layouts import Layout
from ironlaw.engine.cluster.links import Box
from ironlaw.engine.cluster.search import Candidate, judge
from ironlaw.engine.cluster.shapes import token_flops
from ironlaw.engine.cluster.steps import Compute
from ironlaw.engine.cluster.trees import NODE, Tree
from ironlaw.errors import BadValue
from ironlaw.registry.boxes import box
from ironlaw.registry.runs import unit_between_failures
from ironlaw.systems.training.layout_steps import training_job
from ironlaw.systems.training.shard_times import compute
from ironlaw.systems.whole.design import (
    ASYNC,
    BATCH,
    BOX,
    DETECT,
    MODEL,
    NONE,
    PAUSE,
    PER_PARAMETER,
    RADIX,
    RESTART,
    RUN,
    SEQ,
    STORAGE,
    SURVIVES,
    Design,
    Faster,
)


@dataclass(frozen=True, slots=True)
class Factor:
    """One step of the waterfall: the share that is left of what came before it."""

    name: str
    share: float


def tree(design: Design) -> Tree:
    """Three tiers of switches, the leaves oversubscribed."""
    at = box(BOX)
    assert at.nic is not None
    return Tree(design.gpus, RADIX, (design.thin, 1.0), at.nic.per_direction)


@lru_cache(maxsize=256)
def crowding(gpus: int, thin: float, scattered: float) -> float:
    """A ring over all nodes, over what its ports alone would take, at the median of placements: 1 where no uplink holds it up."""
    nodes = gpus // NODE
    ring = FabricJob("ring", nodes, RING, 1.0, 0.0)
    wait = typical_waiting(tree(Design(gpus=gpus, thin=thin)), (ring,), scattered)["ring"]
    return wait.communication / wait.port


def wires(design: Design, faster: Faster) -> Box:
    """The box with the NICs in use, each as fast as the fabric behind it lets it be."""
    at = box(BOX)
    assert at.link is not None and at.nic is not None
    link = replace(at.link, achieved=faster.nvlink * at.link.achieved, per_direction=faster.nvlink * at.link.per_direction)
    rate = faster.nics / crowding(design.gpus, design.thin, design.scattered)
    nic = replace(at.nic, achieved=rate * at.nic.achieved, per_direction=rate * at.nic.per_direction)
    return replace(at, link=link, nic=nic, nics=design.nics, bus=faster.nvlink * at.bus, sums=faster.nvlink * at.sums)


@lru_cache(maxsize=4096)
def step(design: Design, faster: Faster) -> Candidate:
    """One step of the layout; what does not divide is refused. Only its own fields of the design count: `stepped` leaves out the rest."""
    job = training_job(MODEL, wires(design, faster), BATCH, SEQ)

    def predicted(layout: Layout) -> Compute:
        return compute(job.shape, layout, SEQ, job.box.device, flops=faster.flops, bandwidth=faster.hbm)

    return judge(replace(job, peak=faster.flops * job.peak), design.layout, predicted)


FIELDS = ("gpus", "tensor", "pipeline", "context", "virtual", "recompute", "zero", "nics", "thin", "scattered")


def stepped(design: Design, faster: Faster) -> Candidate | None:
    """None where the layout does not divide: `refusal` says why."""
    try:
        return step(_alone(design), Faster(faster.flops, faster.hbm, faster.nvlink, faster.nics))
    except BadValue:
        return None


def refusal(design: Design) -> str:
    """What does not divide; empty where all does."""
    group = design.tensor * design.pipeline * design.context
    if design.gpus % group:
        return f"{design.gpus:,} devices do not divide into groups of {group:,}"
    try:
        step(_alone(design), Faster())
    except BadValue as error:
        return str(error).partition(": ")[2] or str(error)
    return ""


def _alone(design: Design) -> Design:
    return Design(**{name: getattr(design, name) for name in FIELDS})


def factors(design: Design, one: Candidate, faster: Faster) -> tuple[Factor, ...]:
    """The factors from the peak to the share of it that the model's FLOPs take: their product is the step's MFU."""
    job = training_job(MODEL, BOX, BATCH, SEQ)
    time = one.time
    ideal = BATCH * SEQ * float(token_flops(job.shape, SEQ)) / (design.layout.devices * faster.flops * job.peak)
    busy = time.compute + time.recompute + time.update
    sent = time.tensor + time.context + time.expert + time.pipeline + time.data
    return (
        Factor("kernels below the peak", ideal / time.compute),
        Factor("recomputing, updating", time.compute / busy),
        Factor("communication", busy / (busy + sent)),
        Factor("pipeline bubble", (busy + sent) / time.total),
    )


def peak_tokens(design: Design, faster: Faster) -> float:
    """Tokens per second if every device did nothing but the model's FLOPs at its peak."""
    job = training_job(MODEL, BOX, BATCH, SEQ)
    return design.layout.devices * faster.flops * job.peak / float(token_flops(job.shape, SEQ))


@dataclass(frozen=True, slots=True)
class Saves:
    """What saves take, and what is left of the time."""

    between: float
    drain: float
    shares: Shares


@lru_cache(maxsize=4096)
def saves(gpus: int, saving: str, near: str, near_every: float, far_every: float, mean: float, host: float, storage: float) -> Saves:
    """Saves at two places, near and far. `mean`, `host`, `storage`: times what they are."""
    at = box(BOX)
    assert at.bridge is not None
    state = PER_PARAMETER * float(training_job(MODEL, BOX, BATCH, SEQ).shape.parameters)
    between = mean * float(mtbf(unit_between_failures(RUN), gpus))
    drain = state / (storage * STORAGE)
    copying = state / gpus / (host * at.bridge.achieved)
    drains = saving == ASYNC
    close, far = two_levels.levels(copying, drain, PAUSE, DETECT + RESTART, drains)
    period = two_levels.period(
        close, far, math.inf if near == NONE else near_every, far_every, SURVIVES[near], between, drain if drains else 0.0
    )
    return Saves(between, drain, two_levels.goodput(period))


def saved(design: Design, faster: Faster) -> Saves:
    return saves(
        design.gpus, design.saving, design.near, design.near_every, design.far_every, faster.mtbf, faster.host, faster.storage
    )  # fmt: skip
