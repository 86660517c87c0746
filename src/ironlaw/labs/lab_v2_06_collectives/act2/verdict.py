"""Which limit a step hits, by how much, and the least change that would do."""

from __future__ import annotations

from ironlaw import kit
from ironlaw.labs.lab_v2_06_collectives.act2.buckets import Case
from ironlaw.systems.limits import fail, good, warn
from ironlaw.units import percent

LATENCY_MOST, EXPOSED_MOST, GOAL = 0.50, 0.10, 0.05  # of the communication; of the step; of the step


def _impossible(case: Case) -> dict[str, object]:
    step = case.step
    parts = step.memory
    return {
        "needed": kit.amount(float(parts.total), "B"), "usable": kit.amount(step.usable, "B"),
        "weights": kit.amount(float(parts.weights), "B"),
        "gradients": kit.amount(float(parts.gradients), "B"), "optimiser": kit.amount(float(parts.optimiser), "B"),
        "activations": kit.amount(float(parts.activations), "B"),
    }  # fmt: skip


def _latency(case: Case) -> dict[str, object]:
    step = case.step
    return {
        "share": kit.amount(100 * step.latency_share, "%"), "most": kit.amount(100 * LATENCY_MOST, "%"), "count": f"{step.queue.count:,}",
    }  # fmt: skip


def _buffers(case: Case) -> dict[str, object]:
    step = case.step
    return {"waiting": kit.amount(step.queue.waiting, "B"), "free": kit.amount(step.free, "B")}


def _exposed(case: Case) -> dict[str, object]:
    step = case.step
    return {
        "share": kit.amount(100 * step.exposed_share, "%"), "left": kit.amount(step.queue.exposed, "s"),
        "most": kit.amount(100 * EXPOSED_MOST, "%"), "sum": kit.amount(step.queue.seconds, "s"),
        "backward": kit.amount(step.queue.backward, "s"),
    }  # fmt: skip


def _costly(case: Case) -> dict[str, object]:
    step = case.step
    return {"share": kit.amount(100 * step.exposed_share, "%"), "goal": kit.amount(100 * GOAL, "%")}


def _passed(case: Case) -> dict[str, object]:
    step = case.step
    return {
        "share": kit.amount(100 * step.exposed_share, "%"), "goal": kit.amount(100 * GOAL, "%"),
        "left": kit.amount(step.queue.exposed, "s"),
        "latency": percent(step.latency_share), "sum": kit.amount(step.queue.seconds, "s"),
    }  # fmt: skip


LIMITS = (
    fail("impossible", "It does not fit", lambda case: case.step.free < 0, _impossible),
    fail("latency_bound", "Latency takes most of it", lambda case: case.step.latency_share > LATENCY_MOST, _latency),
    fail("buffers", "The buckets pile up", lambda case: case.step.queue.waiting > case.step.free, _buffers),
    fail("exposed", "The step waits for gradients", lambda case: case.step.exposed_share > EXPOSED_MOST, _exposed),
    warn("costly", "Nearly hidden", lambda case: case.step.exposed_share > GOAL, _costly),
    good("passed", "It is hidden", _passed),
)
