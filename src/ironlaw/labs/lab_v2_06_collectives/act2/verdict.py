"""Which limit a step hits, by how much, and the least change that would do."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from ironlaw import kit
from ironlaw.labs.lab_v2_06_collectives.act2.buckets import ALGORITHMS, AS_MADE, SIZES, TENSOR, ZEROS, Case
from ironlaw.systems.limits import either, fail, good, hit, single_fixes, warn
from ironlaw.units import percent

LATENCY_MOST, EXPOSED_MOST, GOAL = 0.50, 0.10, 0.05  # of the communication; of the step; of the step


def passes(case: Case) -> bool:
    return hit(LIMITS, case).tone == "good"


def fixes(case: Case) -> dict[str, Case]:
    """Words -> the step with a single dial turned, which passes with all others as they are."""
    sizes = sorted(SIZES, key=lambda size: abs(size / case.bucket - 1))
    stops: dict[str, list[Any]] = {
        "bucket": [float(f"{size:.3g}") for size in sizes], "algorithm": [name for name in ALGORITHMS if name != case.algorithm],
        "order": [AS_MADE], "width": [2],
    }  # fmt: skip
    return single_fixes(case, passes, stops, stops=stops)


def layout_that_fits(case: Case) -> str:
    """The least change of the layout with which training fits a device, in words."""
    for tensor in (size for size in TENSOR if size >= case.tensor):
        for zero in (stage for stage in ZEROS if stage >= case.zero):
            if replace(case, tensor=tensor, zero=zero).fits():
                parts = [f"tensor parallelism over {tensor}"] if tensor != case.tensor else []
                return " with ".join([*parts, *(["the optimiser's state split (ZeRO-1)"] if zero != case.zero else [])])
    for tensor in (size for size in TENSOR if size >= case.tensor):
        if replace(case, tensor=tensor).fits(3):
            return f"ZeRO-3 with tensor parallelism over {tensor}, which is no plain sum any more"
    return "fewer sequences, shorter ones, or a smaller model"


def _any_of(case: Case) -> kit.Markup:
    return kit.Markup(either(list(fixes(case))[:4], "no single dial; turn two"))


def _impossible(case: Case) -> dict[str, object]:
    step = case.step
    parts = step.memory
    return {
        "needed": kit.amount(float(parts.total), "B"), "usable": kit.amount(step.usable, "B"),
        "weights": kit.amount(float(parts.weights), "B"),
        "gradients": kit.amount(float(parts.gradients), "B"), "optimiser": kit.amount(float(parts.optimiser), "B"),
        "activations": kit.amount(float(parts.activations), "B"), "layout": layout_that_fits(case),
    }  # fmt: skip


def _latency(case: Case) -> dict[str, object]:
    step = case.step
    return {
        "share": kit.amount(100 * step.latency_share, "%"), "most": kit.amount(100 * LATENCY_MOST, "%"), "count": f"{step.queue.count:,}",
        "cures": _any_of(case),
    }  # fmt: skip


def _buffers(case: Case) -> dict[str, object]:
    step = case.step
    return {"waiting": kit.amount(step.queue.waiting, "B"), "free": kit.amount(step.free, "B"), "cures": _any_of(case)}


def _exposed(case: Case) -> dict[str, object]:
    step = case.step
    return {
        "share": kit.amount(100 * step.exposed_share, "%"), "left": kit.amount(step.queue.exposed, "s"),
        "most": kit.amount(100 * EXPOSED_MOST, "%"), "sum": kit.amount(step.queue.seconds, "s"),
        "backward": kit.amount(step.queue.backward, "s"), "cures": _any_of(case),
    }  # fmt: skip


def _costly(case: Case) -> dict[str, object]:
    step = case.step
    return {"share": kit.amount(100 * step.exposed_share, "%"), "goal": kit.amount(100 * GOAL, "%"), "cures": _any_of(case)}


def _passed(case: Case) -> dict[str, object]:
    step = case.step
    return {
        "share": kit.amount(100 * step.exposed_share, "%"), "goal": kit.amount(100 * GOAL, "%"),
        "left": kit.amount(step.queue.exposed, "s"),
        "latency": percent(step.latency_share), "sum": kit.amount(step.queue.seconds, "s"),
    }  # fmt: skip


LIMITS = (
    fail("impossible", "It does not fit", lambda case: case.step.free < 0, _impossible),
    fail("latency_bound", "The wires wait for steps", lambda case: case.step.latency_share > LATENCY_MOST, _latency),
    fail("buffers", "The buckets pile up", lambda case: case.step.queue.waiting > case.step.free, _buffers),
    fail("exposed", "The step waits for the sum", lambda case: case.step.exposed_share > EXPOSED_MOST, _exposed),
    warn("costly", "Nearly hidden", lambda case: case.step.exposed_share > GOAL, _costly),
    good("passed", "It hides", _passed),
)
