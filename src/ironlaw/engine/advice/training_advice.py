"""What to change in a training step, in the order of what it costs: nothing first, then build time, accuracy, the shape of the batch.

Every change is another program that is predicted whole: forward, backward, optimiser, host and memory. The list is gone through again
until nothing more helps, since a change may pay only on top of another (autocast, once launching is no longer the bottleneck).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from ironlaw.engine.advice.action import Action
from ironlaw.engine.advice.action_names import AGAIN, AUTOCAST, CHUNKED, FLASH, FUSED, KEPT, LISTS, SCALED, SYNCS, TOGETHER
from ironlaw.engine.advice.gain import gain
from ironlaw.engine.advice.program import Program, Sources
from ironlaw.engine.advice.programs import WIDE
from ironlaw.engine.device.machine import NARROW
from ironlaw.engine.device.prediction import Prediction

LEAST = 1.02  # times as fast: a change that costs nothing is worth a line for less than one that does
ORDER = (SYNCS, AUTOCAST, SCALED, NARROW, CHUNKED, AGAIN, "layout", "compiled", FUSED, LISTS, KEPT, TOGETHER, FLASH)
FREES = 0.95  # of the memory before: less is progress where it does not fit
REMOVES = {SYNCS, LISTS, FUSED, KEPT, TOGETHER}  # work that is left out, and nothing new in its place
CLEAR = 1.2  # times as fast, from which on a change of other kinds is believed where host and device both have less to do
TOGETHER_ONLY = ((AUTOCAST, "compiled"), (SCALED, "compiled"))  # where host and device take about as long, one alone gains nothing


def training_changes(program: Program, sources: Sources) -> Iterator[tuple[str, Program]]:
    """Every program that differs in one thing, in ORDER."""
    peaks = program.machine.peaks
    wide = sources.graph.dtype in WIDE and not program.fmt and not program.steps & {AUTOCAST, SCALED}
    for change in ORDER:
        if change in (AUTOCAST, SCALED):
            if wide and (change == AUTOCAST) == ("bf16" in peaks):
                yield change, replace(program, steps=program.steps | {change})
        elif change == NARROW:
            if wide and NARROW in peaks and NARROW not in (sources.graph.dtype, program.plan.fp32):
                yield change, replace(program, fmt=NARROW)
        elif change == "layout":
            if program.plan.lowering == "eager" and program.machine.dispatch == "queued" and not program.last:
                yield change, replace(program, last=True)
        elif change == "compiled":
            if program.plan.mode == "eager":
                yield change, replace(program, plan=replace(program.plan, mode="compiled"))
        elif change not in program.steps:
            yield change, replace(program, steps=program.steps | {change})


def training_actions(prediction: Prediction, sources: Sources) -> list[Action]:
    """The changes that are sure to help, each on top of the ones before it."""
    program, before = Program(prediction.plan, prediction.hardware), prediction
    actions: list[Action] = []
    taken: set[str] = set()
    found: Action | None = None
    while True:
        found = next(_helping(program, before, sources, taken), None) or (None if actions else _pair(program, before, sources))
        if found is None:
            return actions
        actions.append(found)
        taken |= found.groups
        program, before = found.program, found.after


def tried(prediction: Prediction, sources: Sources, taken: set[str] | frozenset[str] = frozenset()) -> Iterator[Action]:
    """Every single change of the program as it is."""
    yield from _tried(Program(prediction.plan, prediction.hardware), prediction, sources, taken)


def _tried(program: Program, before: Prediction, sources: Sources, taken: set[str] | frozenset[str]) -> Iterator[Action]:
    for change, other in training_changes(program, sources):
        action = Action((change,), gain(before, before), other, before, before)
        if action.frees and before.fits:
            continue
        if action.groups & taken or (after := other.predict(sources)) is None:
            continue
        yield _floored(replace(action, gain=gain(before, after, 1.0, change), after=after))


def _floored(action: Action) -> Action:
    """Where work is left out, the range ends at no gain."""
    ends = action.gain.interval
    if ends is None or not set(action.changes) <= REMOVES or not spares(action):
        return action
    return replace(action, gain=replace(action.gain, interval=(max(1.0, ends[0]), max(1.0, ends[1]))))


def _helping(program: Program, before: Prediction, sources: Sources, taken: set[str]) -> Iterator[Action]:
    return (action for action in _tried(program, before, sources, taken) if helps(action))


def helps(action: Action) -> bool:
    """Faster, and surely so; or what brings it nearer to fitting."""
    before, after = (float(p.memory.total) for p in (action.before, action.after))
    if not action.before.fits:
        return bool(action.after.fits) or after < FREES * before
    least = LEAST if set(action.changes) <= REMOVES else CLEAR
    faster = action.gain.ratio > LEAST and (action.gain.sure or (spares(action) and action.gain.ratio > least))
    return bool(action.after.fits) and faster


def spares(action: Action) -> bool:
    """Whether host and device both have less to do: then it can hardly be slower, however far off the gain is."""
    before, after = action.before, action.after
    return bool(after.busy_s <= before.busy_s) and bool(after.host_s <= before.host_s)


def _pair(program: Program, before: Prediction, sources: Sources) -> Action | None:
    single = dict(training_changes(program, sources))
    for fmt, mode in TOGETHER_ONLY:
        if fmt in single and mode in single:
            other = replace(single[fmt], plan=single[mode].plan)
            after = other.predict(sources)
            if after is not None and helps(action := Action((fmt, mode), gain(before, after, 1.0, mode), other, before, after)):
                return action
    return None
