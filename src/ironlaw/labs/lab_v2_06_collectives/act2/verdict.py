"""Which limit a step hits, by how much, and the least change that would do."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from ironlaw import kit
from ironlaw.labs.lab_v2_06_collectives.act2.buckets import ALGORITHMS, AS_MADE, FORMATS, SIZES, TENSOR, ZEROS, Case
from ironlaw.units import percent

IMPOSSIBLE, LATENCY, BUFFERS, EXPOSED, COSTLY, PASSED = "impossible", "latency_bound", "buffers", "exposed", "costly", "passed"
LATENCY_MOST, EXPOSED_MOST, GOAL = 0.50, 0.10, 0.05  # of the communication; of the step; of the step
TONES = {IMPOSSIBLE: "fail", LATENCY: "fail", BUFFERS: "fail", EXPOSED: "fail", COSTLY: "warn", PASSED: "good"}
TITLES = {
    IMPOSSIBLE: "It does not fit", LATENCY: "The wires wait for steps", BUFFERS: "The buckets pile up",
    EXPOSED: "The step waits for the sum",
    COSTLY: "Nearly hidden", PASSED: "It hides",
}  # fmt: skip


def state(case: Case) -> str:
    """The first limit that a step hits; PASSED where it hits none."""
    step = case.step
    if step.free < 0:
        return IMPOSSIBLE
    if step.latency_share > LATENCY_MOST:
        return LATENCY
    if step.queue.waiting > step.free:
        return BUFFERS
    if step.exposed_share > EXPOSED_MOST:
        return EXPOSED
    return PASSED if step.exposed_share <= GOAL else COSTLY


def banner(lab: kit.Lab, case: Case) -> dict[str, object]:
    name = state(case)
    return kit.banner(TONES[name], TITLES[name], kit.html(lab.fill(f"act2.{name}", **SLOTS[name](case))))


def cures(case: Case) -> Iterator[tuple[str, Case]]:
    """Single dials that, turned with all others as they are, make it pass: in words, and the setting."""
    turned: list[tuple[str, Case]] = []
    sizes = sorted(SIZES, key=lambda size: abs(size / case.bucket - 1))
    turned += [(f"buckets of {kit.amount(float(f'{size:.3g}'), 'B')}", replace(case, bucket=float(f"{size:.3g}"))) for size in sizes]
    turned += [(f"sums by {ALGORITHMS[name]}", replace(case, algorithm=name)) for name in ALGORITHMS if name != case.algorithm]
    turned += [("buckets as they are made", replace(case, order=AS_MADE))] if case.order != AS_MADE else []
    turned += [(f"gradients in {FORMATS[2]}", replace(case, width=2))] if case.width != 2 else []
    kinds = set()
    for words, changed in turned:
        kind = words.split()[0] + words.split()[1]
        if kind not in kinds and state(changed) == PASSED:
            kinds.add(kind)
            yield words, changed


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


def _or(words: list[str]) -> str:
    if not words:
        return "no single dial; turn two"
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])}, or {words[-1]}"


def _cures(case: Case) -> kit.Markup:
    return kit.Markup(_or([words for words, _ in cures(case)][:4]))


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
        "cures": _cures(case),
    }  # fmt: skip


def _buffers(case: Case) -> dict[str, object]:
    step = case.step
    return {"waiting": kit.amount(step.queue.waiting, "B"), "free": kit.amount(step.free, "B"), "cures": _cures(case)}


def _exposed(case: Case) -> dict[str, object]:
    step = case.step
    return {
        "share": kit.amount(100 * step.exposed_share, "%"), "left": kit.amount(step.queue.exposed, "s"),
        "most": kit.amount(100 * EXPOSED_MOST, "%"), "sum": kit.amount(step.queue.seconds, "s"),
        "backward": kit.amount(step.queue.backward, "s"), "cures": _cures(case),
    }  # fmt: skip


def _costly(case: Case) -> dict[str, object]:
    step = case.step
    return {"share": kit.amount(100 * step.exposed_share, "%"), "goal": kit.amount(100 * GOAL, "%"), "cures": _cures(case)}


def _passed(case: Case) -> dict[str, object]:
    step = case.step
    return {
        "share": kit.amount(100 * step.exposed_share, "%"), "goal": kit.amount(100 * GOAL, "%"),
        "left": kit.amount(step.queue.exposed, "s"),
        "latency": percent(step.latency_share), "sum": kit.amount(step.queue.seconds, "s"),
    }  # fmt: skip


SLOTS = {IMPOSSIBLE: _impossible, LATENCY: _latency, BUFFERS: _buffers, EXPOSED: _exposed, COSTLY: _costly, PASSED: _passed}
