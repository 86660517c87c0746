"""Which limit a placement hits, by how much, and the least change that would do."""

from __future__ import annotations

from dataclasses import replace

from ironlaw import kit
from ironlaw.engine.serving.targets import least
from ironlaw.labs.lab_v2_02_interconnect.act2.groups import ZEROS, Case

FULL, CLIFF, STARVED, COSTLY, WORKS = "memory", "tp_over_cliff", "nic_starved", "costly", "works"
TENSOR_MOST, ALL_MOST = 0.50, 0.25  # shares of the step: the tensor group's, and all communication's
TONES = {FULL: "fail", CLIFF: "fail", STARVED: "fail", COSTLY: "warn", WORKS: "good"}
TITLES = {
    FULL: "It does not fit", CLIFF: "The group is over the cliff", STARVED: "The sum waits for its wires", COSTLY: "It runs, at a price",
    WORKS: "It works",
}  # fmt: skip


def state(case: Case) -> str:
    """The first limit that a placement hits; WORKS where it hits none."""
    placed = case.placed
    if not placed.fits:
        return FULL
    if placed.step.tensor > TENSOR_MOST * placed.step.total:
        return CLIFF
    if placed.step.data > placed.backward_s:
        return STARVED
    return WORKS if placed.communication <= ALL_MOST else COSTLY


def banner(lab: kit.Lab, case: Case) -> dict[str, object]:
    name = state(case)
    return kit.banner(TONES[name], TITLES[name], kit.html(lab.fill(f"act2.{name}", **SLOTS[name](case))))


def cures(case: Case) -> list[str]:
    """The least of each setting that works with all others as they are, in words."""

    def works(changed: Case) -> bool:
        return state(changed) == WORKS

    words = []
    smaller = least([size for size in reversed(case.choices) if size < case.tensor], lambda size: works(case.with_tensor(size)))
    larger = least([size for size in case.choices if size > case.tensor], lambda size: works(case.with_tensor(size)))
    for size in (smaller, larger):
        if size:
            words.append(f"tensor parallelism over {size}")
    zero = least([stage for stage in ZEROS if stage > case.zero], lambda stage: works(replace(case, zero=stage)))
    if zero:
        words.append(f"ZeRO-{zero}")
    nics = least(range(case.nics + 1, case.box.nics + 1), lambda count: works(replace(case, nics=count))) if case.boxes > 1 else None
    if nics:
        words.append(f"{nics} NICs of each box")
    if case.overlap < 1 and works(replace(case, overlap=1.0)):
        words.append("hiding the sum behind the backward pass")
    return words


def _or(words: list[str]) -> str:
    if not words:
        return "no single dial; turn two, or take another box or a smaller model"
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])}, or {words[-1]}"


def _full(case: Case) -> dict[str, object]:
    placed = case.placed
    parts = placed.memory
    return {
        "needed": kit.amount(float(parts.total), "B"), "usable": kit.amount(placed.usable, "B"),
        "over": kit.amount(float(parts.total) - placed.usable, "B"), "weights": kit.amount(float(parts.weights), "B"),
        "gradients": kit.amount(float(parts.gradients), "B"), "optimiser": kit.amount(float(parts.optimiser), "B"),
        "activations": kit.amount(float(parts.activations), "B"), "cures": _or(cures(case)),
    }  # fmt: skip


def _cliff(case: Case) -> dict[str, object]:
    step = case.placed.step
    return {
        "share": kit.amount(100 * step.tensor / step.total, "%"), "most": kit.amount(100 * TENSOR_MOST, "%"), "tensor": case.tensor,
        "where": f"its {case.nics} of {case.box.nics} NICs" if case.crosses else "the slowest wire in its box", "cures": _or(cures(case)),
    }  # fmt: skip


def _starved(case: Case) -> dict[str, object]:
    placed = case.placed
    return {
        "sum": kit.amount(placed.sum_s, "s"), "left": kit.amount(placed.step.data, "s"), "backward": kit.amount(placed.backward_s, "s"),
        "cures": _or(cures(case)),
    }  # fmt: skip


def _costly(case: Case) -> dict[str, object]:
    return {"share": kit.amount(100 * case.placed.communication, "%"), "most": kit.amount(100 * ALL_MOST, "%"), "cures": _or(cures(case))}


def _works(case: Case) -> dict[str, object]:
    placed = case.placed
    return {
        "share": kit.amount(100 * placed.communication, "%"), "most": kit.amount(100 * ALL_MOST, "%"),
        "room": kit.amount(placed.usable - float(placed.memory.total), "B"), "tokens": kit.amount(placed.tokens_per_s, "/s"),
    }  # fmt: skip


SLOTS = {FULL: _full, CLIFF: _cliff, STARVED: _starved, COSTLY: _costly, WORKS: _works}
