"""Which limit a layout hits first, by how much, and what would do."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from ironlaw import kit
from ironlaw.labs.lab_v2_05_parallelism.act2.spread import CONTEXT, PIECES, STAGES, TENSOR, Case
from ironlaw.units import significant

INDIVISIBLE, STARVED, FULL, BUBBLE, CLIFF, NICS, SLOW, WORKS = (
    "indivisible", "starved", "memory", "bubble", "cliff", "nics", "slow", "works",
)  # fmt: skip
BUBBLE_MOST, CLIFF_MOST, NICS_MOST, NEAR = 0.25, 0.30, 0.10, 1.10  # shares of a step, and how near to the best is near enough
TONES = {
    INDIVISIBLE: "fail", STARVED: "fail", FULL: "fail", BUBBLE: "fail", CLIFF: "fail", NICS: "fail", SLOW: "warn", WORKS: "good",
}  # fmt: skip
TITLES = {
    INDIVISIBLE: "It does not divide", STARVED: "Some replicas have nothing to do", FULL: "It does not fit",
    BUBBLE: "The pipeline waits", CLIFF: "The tensor group is over the cliff", NICS: "The gradients wait for the NICs",
    SLOW: "It runs, and could run faster", WORKS: "It works",
}  # fmt: skip


def state(case: Case) -> str:
    """The first limit that a layout hits: first whether it exists, then whether it fits, then what it wastes."""
    if case.devices % case.group == 0 and case.starved:
        return STARVED
    step = case.step
    if step is None:
        return INDIVISIBLE
    if float(step.memory.total) > case.job.capacity:
        return FULL
    time, total = step.time, step.time.total
    if time.bubble > BUBBLE_MOST * total:
        return BUBBLE
    if case.tensor > case.box.devices and time.tensor > CLIFF_MOST * total:
        return CLIFF
    if time.data > NICS_MOST * total:
        return NICS
    return WORKS if case.best is None or total <= NEAR * case.best.time.total else SLOW


def banner(lab: kit.Lab, case: Case) -> dict[str, object]:
    name = state(case)
    return kit.banner(TONES[name], TITLES[name], kit.html(lab.fill(f"act2.{name}", **SLOTS[name](case))))


def cures(case: Case) -> list[str]:
    """Single dials, turned as little as will do with all others as they are: whether that runs and fits, in words."""
    fine = (SLOW, WORKS)
    words = []
    for options, name, text in (
        (STAGES, "pipeline", "{} stages"), (PIECES, "virtual", "{} pieces of a stage"), (TENSOR, "tensor", "tensor parallelism over {}"),
        (CONTEXT, "context", "context parallelism over {}"), ((0, 1, 2, 3), "zero", "ZeRO-{}"),
    ):  # fmt: skip
        now = getattr(case, name)
        others = sorted((option for option in options if option != now), key=lambda option: abs(options.index(option) - options.index(now)))
        found = next((option for option in others if state(_with(case, name, option)) in fine), None)
        if found is not None:
            words.append(text.format(found))
    if case.recompute != "full" and state(replace(case, recompute="full")) in fine:
        words.append("recomputing all of a layer")
    if not case.overlap and state(replace(case, overlap=True)) in fine:
        words.append("summing gradients up beside the backward pass")
    more = next((count for count in range(case.nics + 1, case.box.nics + 1) if state(replace(case, nics=count)) in fine), None)
    if more:
        words.append(f"{more} NICs of each box")
    return words


def _with(case: Case, name: str, value: int) -> Case:
    change: dict[str, Any] = {name: value}
    return replace(case, **change)


def _or(words: list[str]) -> str:
    if not words:
        return "no single dial; turn two or three"
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])}, or {words[-1]}"


def _percent(share: float) -> str:
    return f"{significant(100 * share)} %"


def _indivisible(case: Case) -> dict[str, object]:
    return {"refusal": case.refusal, "cures": _or(cures(case))}


def _starved(case: Case) -> dict[str, object]:
    return {"batch": f"{case.batch:,}", "data": f"{case.layout.data:,}", "micro": case.micro, "cures": _or(cures(case))}


def _full(case: Case) -> dict[str, object]:
    parts = case.memory
    assert parts is not None
    total, room = float(parts.total), case.job.capacity
    names = ("weights", "gradients", "optimiser", "activations")
    return {
        "needed": kit.amount(total, "B"), "usable": kit.amount(room, "B"), "over": kit.amount(total - room, "B"),
        **{name: kit.amount(float(getattr(parts, name)), "B") for name in names}, "cures": _or(cures(case)),
    }  # fmt: skip


def _bubble(case: Case) -> dict[str, object]:
    step = case.step
    assert step is not None
    return {
        "share": _percent(step.time.bubble / step.time.total), "most": _percent(BUBBLE_MOST), "stages": case.pipeline,
        "left": f"{step.micro_batches:,} micro-batch{'es' if step.micro_batches > 1 else ''}", "cures": _or(cures(case)),
    }  # fmt: skip


def _cliff(case: Case) -> dict[str, object]:
    step = case.step
    assert step is not None
    return {
        "share": _percent(step.time.tensor / step.time.total), "most": _percent(CLIFF_MOST), "tensor": case.tensor,
        "near": case.box.devices, "cures": _or(cures(case)),
    }  # fmt: skip


def _nics(case: Case) -> dict[str, object]:
    step = case.step
    assert step is not None
    return {
        "share": _percent(step.time.data / step.time.total), "most": _percent(NICS_MOST), "sent": kit.amount(step.traffic["data"], "B"),
        "cures": _or(cures(case)),
    }  # fmt: skip


def _slow(case: Case) -> dict[str, object]:
    step, best = case.step, case.best
    assert step is not None and best is not None
    return {
        "longer": kit.times(step.time.total / best.time.total), "mfu": _percent(step.speed.mfu), "best": str(best.layout),
        "best_mfu": _percent(best.speed.mfu), "near": _percent(NEAR - 1),
    }  # fmt: skip


def _works(case: Case) -> dict[str, object]:
    step = case.step
    assert step is not None
    best = case.best or step
    return {
        "mfu": _percent(step.speed.mfu), "best": _percent(best.speed.mfu), "count": f"{len(case.ranking):,}",
        "room": kit.amount(case.job.capacity - float(step.memory.total), "B"), "step": kit.amount(step.time.total, "s"),
    }  # fmt: skip


SLOTS = {
    INDIVISIBLE: _indivisible, STARVED: _starved, FULL: _full, BUBBLE: _bubble, CLIFF: _cliff, NICS: _nics, SLOW: _slow, WORKS: _works,
}  # fmt: skip
