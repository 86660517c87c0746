"""Which limit a layout hits first, by how much, and what fixes it."""

from __future__ import annotations

from collections.abc import Callable

from ironlaw import kit
from ironlaw.engine.cluster.search import Candidate
from ironlaw.labs.lab_v2_05_parallelism.act2.spread import Case
from ironlaw.systems.limits import fail, good, warn
from ironlaw.systems.training.layout_steps import MICRO, TENSOR
from ironlaw.units import percent

BUBBLE_MOST, CLIFF_MOST, NICS_MOST, NEAR = 0.25, 0.30, 0.10, 1.10  # shares of a step, and how near to the best is near enough


def _stepping(case: Case) -> Candidate:
    assert case.step is not None
    return case.step


def _indivisible(case: Case) -> dict[str, object]:
    return {"refusal": case.refusal}


def _starved(case: Case) -> dict[str, object]:
    return {"batch": f"{case.batch:,}", "data": f"{case.layout.data:,}", "micro": case.micro}


def _full(case: Case) -> dict[str, object]:
    parts = _stepping(case).memory
    total, room = float(parts.total), case.job.capacity
    names = ("weights", "gradients", "optimiser", "activations")
    return {
        "needed": kit.amount(total, "B"), "usable": kit.amount(room, "B"), "over": kit.amount(total - room, "B"),
        **{name: kit.amount(float(getattr(parts, name)), "B") for name in names},
    }  # fmt: skip


def _bubble(case: Case) -> dict[str, object]:
    step = _stepping(case)
    return {
        "share": percent(step.time.bubble / step.time.total), "most": percent(BUBBLE_MOST), "stages": case.pipeline,
        "left": f"{step.micro_batches:,} microbatch{'es' if step.micro_batches > 1 else ''}",
    }  # fmt: skip


def _cliff(case: Case) -> dict[str, object]:
    step = _stepping(case)
    return {
        "share": percent(step.time.tensor / step.time.total), "most": percent(CLIFF_MOST), "tensor": case.tensor,
        "near": case.box.devices,
    }  # fmt: skip


def _nics(case: Case) -> dict[str, object]:
    step = _stepping(case)
    return {
        "share": percent(step.time.data / step.time.total), "most": percent(NICS_MOST), "sent": kit.amount(step.traffic["data"], "B"),
    }  # fmt: skip


def searched(case: Case) -> str:
    """What the search holds fixed."""
    sizes = " or ".join(map(str, TENSOR))
    return f"tensor parallelism over {sizes}, microbatches of {MICRO[0]} and gradients of {case.gradient_bytes} bytes"


def _slow(case: Case) -> dict[str, object]:
    step, best = _stepping(case), case.best
    assert best is not None
    return {
        "longer": kit.times(step.time.total / best.time.total), "mfu": percent(step.speed.mfu),
        "best_mfu": percent(best.speed.mfu), "near": percent(NEAR - 1), "fixed": searched(case),
    }  # fmt: skip


def _works(case: Case) -> dict[str, object]:
    step = _stepping(case)
    best = case.best or step
    return {
        "mfu": percent(step.speed.mfu), "best": percent(best.speed.mfu), "count": f"{len(case.ranking):,}", "fixed": searched(case),
        "room": kit.amount(case.job.capacity - float(step.memory.total), "B"), "step": kit.amount(step.time.total, "s"),
    }  # fmt: skip


def _spends(part: str, most: float) -> Callable[[Case], bool]:
    """Whether a part of the step takes more than this share of it."""
    return lambda case: bool(getattr(_stepping(case).time, part) > most * _stepping(case).time.total)


# first whether it exists, then whether it fits, then what it wastes
LIMITS = (
    fail("starved", "Some replicas have nothing to do", lambda case: case.devices % case.group == 0 and case.starved, _starved),
    fail("indivisible", "It does not divide", lambda case: case.step is None, _indivisible),
    fail("memory", "It does not fit", lambda case: float(case.step.memory.total) > case.job.capacity, _full),
    fail("bubble", "The pipeline waits", _spends("bubble", BUBBLE_MOST), _bubble),
    fail(
        "cliff", "The tensor group is over the cliff",
        lambda case: case.tensor > case.box.devices and _spends("tensor", CLIFF_MOST)(case), _cliff,
    ),
    fail("nics", "The gradients wait for the NICs", _spends("data", NICS_MOST), _nics),
    warn(
        "slow", "It runs, but it could run faster",
        lambda case: case.best is not None and case.step.time.total > NEAR * case.best.time.total, _slow,
    ),
    good("works", "It works", _works),
)  # fmt: skip
