"""What to do next: every change of a program predicted, the one that gains most taken, and the rest tried again on top of it.

A change is offered where "no gain" lies outside its interval; one that would surely slow the program down is named too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

from ironlaw.engine.advice import training_advice
from ironlaw.engine.advice.action import GROUPS, Action, ChangeWords
from ironlaw.engine.advice.action_names import DEVICES, SHARDED, SYNCS
from ironlaw.engine.advice.finding import finding
from ironlaw.engine.advice.gain import gain
from ironlaw.engine.advice.program import EIGHT, HALF, KERNELS, Program, Sources
from ironlaw.engine.advice.programs import WIDE, fused_kernels
from ironlaw.engine.advice.slower import why_slower
from ironlaw.engine.device.machine import NARROW, Hardware
from ironlaw.engine.device.prediction import Prediction
from ironlaw.engine.device.types import Graph
from ironlaw.engine.device.work.solver_work import WAITED_FOR
from ironlaw.units import show, significant

MOST = 3  # actions
LEAST = 1.05  # times as fast: less is not worth a line
SIMPLER = 1.03  # a change that costs less may gain so much less than another of its group, and is taken
PROBABLY = 0.95  # times as fast: below that it is said to be slower, probably
UNKNOWN = (
    "A lower bound has no range, so no gain can be predicted. Ask for a machine that was measured, or to which measurements carry over."
)
NOTHING = "None of the changes tried is sure to gain 5%."


@dataclass(frozen=True)
class Advice:
    """`actions`: each on top of those before it; another machine, which comes last, on top of `steps`. `slower`: changes that would
    slow the program down as it is. `unsure`: those of which nobody can say whether they help."""

    prediction: Prediction
    actions: tuple[Action, ...]
    slower: tuple[Action, ...]
    unsure: tuple[Action, ...]
    elsewhere: tuple[Action, ...] = ()  # every other machine that was tried, with the program as it is, the fastest first
    beside: str = ""  # what holds it up outside of the program
    when: str = ""  # what has to be done before any action helps

    @property
    def finding(self) -> str:
        """Where the time goes, in one sentence."""
        return " ".join(filter(None, (finding(self.prediction), self.beside)))

    @property
    def steps(self) -> tuple[Action, ...]:
        """The actions that are taken one after another, on the machine at hand."""
        return tuple(action for action in self.actions if not {"machine", DEVICES, SHARDED} & set(action.changes))

    @property
    def together(self) -> float:
        """How many times as fast with all steps taken, for each item."""
        ratio = 1.0
        for action in self.steps:
            ratio *= action.gain.ratio
        return ratio

    @property
    def probably_slower(self) -> list[tuple[tuple[Action, ...], str]]:
        """Other ways to launch it that are slower at the point figure, though not in all of the range, by the reason."""
        reasons: dict[str, list[Action]] = {}
        for action in self.unsure:
            if set(action.changes) <= {"eager_graphs", "compiled", "graphs"} and action.gain.ratio < PROBABLY:
                reasons.setdefault(why_slower(action), []).append(action)
        return [(tuple(actions), why) for why, actions in reasons.items()]

    @property
    def reason(self) -> str:
        """Why nothing is offered; empty where something is."""
        return "" if self.actions else UNKNOWN if self.prediction.interval is None else NOTHING

    def __repr__(self) -> str:
        """A line for where the time goes, one for each action, one for each change that makes it slower."""
        lines = [self.finding, *(f"{i}. {summary(action)}" for i, action in enumerate(self.actions, 1))]
        lines += [self.reason] if self.reason else []
        return "\n".join([*lines, *(f"slower: {summary(action)}; {why_slower(action)}" for action in self.slower)])

    def to_dict(self) -> dict[str, Any]:
        """As JSON takes it."""
        return {
            "finding": self.finding, "hardware": self.prediction.hardware.slug, "mode": self.prediction.plan.mode,
            "actions": [action.to_dict() for action in self.actions], "together": self.together, "reason": self.reason or None,
            "slower": [{**action.to_dict(), "reason": why_slower(action)} for action in self.slower],
            "unsure": [action.to_dict() for action in self.unsure],
            "elsewhere": [action.to_dict() for action in self.elsewhere],
        }  # fmt: skip


def headline(action: Action) -> str:
    """`FP16 or BF16: 1.52× (1.38 – 1.7), 1.05 ms → 690 µs`."""
    span = f" ({significant(action.gain.interval[0])} – {significant(action.gain.interval[1])})" if action.gain.interval else ""
    items = " for the same number of items" if "batch" in action.changes else ""
    times = f"{show(action.gain.before, 's')} → {show(action.gain.after, 's')}{items}"
    kind = "" if action.after.calibrated else f", {action.after.basis}"
    return f"{action.title}: {significant(action.gain.ratio)}×{span}, {times}{kind}"


def summary(action: Action) -> str:
    """The headline and what it costs."""
    return f"{headline(action)}; costs: {'; '.join(action.costs)}"


def advise(
    sources: Sources,
    prediction: Prediction,
    machines: Iterable[Hardware] = (),
    per_kernel: float = 0.0,
    prices: Mapping[str, float] | None = None,
    words: Mapping[str, ChangeWords] | None = None,
    more: Callable[[Prediction], Sequence[Action]] = lambda prediction: (),
) -> Advice:
    """`prediction`: of `sources.graph` as it is run now. `machines`: others that it could run on. `per_kernel`: seconds to compile one.
    `words`: for each kind of change, as people put it. `more`: what money buys on top of the rest, such as more devices."""
    trains = bool(sources.graph.settings.get("training"))
    program = Program(prediction.plan, prediction.hardware)
    tried = list(training_advice.tried(prediction, sources) if trains else _tried(program, prediction, sources))
    slower = [action for action in tried if action.gain.slower and not action.frees]
    unsure = [action for action in tried if not action.gain.sure and not action.gain.slower]
    actions = training_advice.training_actions(prediction, sources) if trains else _actions(program, prediction, sources, tried)
    machines, prices = tuple(machines), prices or {}
    elsewhere = _elsewhere(program, prediction, machines, sources, prices)
    steps = actions if trains else actions[:MOST]
    changed = _elsewhere(steps[-1].program, steps[-1].after, machines, sources, prices) if steps else elsewhere
    several = more(steps[-1].after if steps else prediction)
    one = [replace(action, instead=bool(several)) for action in filter(None, [_cheapest(changed)])]
    offered = [replace(action, per_kernel=per_kernel) for action in (*steps, *several, *one)]

    def told(actions: Sequence[Action]) -> tuple[Action, ...]:
        return tuple(replace(action, words=words or {}) for action in actions)

    return Advice(prediction, told(offered), told(slower), told(unsure), told(elsewhere))


def _actions(program: Program, prediction: Prediction, sources: Sources, tried: Sequence[Action]) -> list[Action]:
    """The one that gains most, then what gains most on top of it."""
    actions: list[Action] = []
    at_once = [action for action in tried if "batch" not in action.changes]
    best = _best(at_once) or _best(list(_pairs(program, prediction, sources))) or _best(tried)
    while best is not None:
        actions.append(best)
        taken = {group for action in actions for group in action.groups}
        best = _best(list(_tried(best.program, best.after, sources, taken))) if len(actions) < MOST else None
    return actions


def _cheapest(elsewhere: Sequence[Action]) -> Action | None:
    """The machine, among those sure to gain, on which the same work costs least, whether or not it is known what it costs now; the
    fastest where no price is known."""
    sure = [action for action in elsewhere if action.gain.sure and action.gain.ratio > LEAST and action.after.fits]
    priced = [action for action in sure if action.dollars is not None]
    return min(priced, key=lambda action: action.dollars or 0.0) if priced else next(iter(sure), None)


def _best(candidates: Sequence[Action | None]) -> Action | None:
    """The one that gains most, or a simpler one of its group that gains about as much; a larger batch after all that shorten a call."""
    sure = [a for a in candidates if a is not None and a.gain.sure and a.gain.ratio > LEAST and a.after.fits]
    sure = [action for action in sure if "batch" not in action.changes] or sure
    if not sure:
        return None
    most = max(sure, key=lambda action: action.gain.ratio)
    alike = [action for action in sure if action.groups == most.groups and SIMPLER * action.gain.ratio >= most.gain.ratio]
    return min(alike, key=lambda action: action.place)


def _tried(program: Program, before: Prediction, sources: Sources, taken: set[str] | frozenset[str] = frozenset()) -> Iterator[Action]:
    for change, other, count in changes(program, sources):
        if GROUPS[change] not in taken and (after := other.predict(sources)) is not None:
            yield Action((change,), gain(before, after, other.times / program.times, change), other, before, after, count)


def _pairs(program: Program, before: Prediction, sources: Sources) -> Iterator[Action]:
    """A narrower format and another way to launch at once: where the host and the device take about as long, one alone gains nothing."""
    single = {change: other for change, other, _ in changes(program, sources) if GROUPS[change] in ("format", "launching")}
    formats, modes = ([change for change in single if GROUPS[change] == group] for group in ("format", "launching"))
    for fmt, mode in product(formats, modes):
        other = replace(single[fmt], plan=single[mode].plan)
        if (after := other.predict(sources)) is not None:
            yield Action((fmt, mode), gain(before, after, 1.0, mode), other, before, after)


def _elsewhere(
    program: Program, before: Prediction, machines: Iterable[Hardware], sources: Sources, prices: Mapping[str, float]
) -> list[Action]:
    """The same program on other machines, the fastest first."""
    found = [_on_another(program, before, machine, sources, prices) for machine in machines]
    return sorted((action for action in found if action is not None), key=lambda action: -action.gain.ratio)


def _on_another(program: Program, before: Prediction, machine: Hardware, sources: Sources, prices: Mapping[str, float]) -> Action | None:
    """Where the two times rest on different grounds, both are transferred, and the same host launches: like with like."""
    there = replace(program, machine=machine)
    after = there.predict(sources)
    if after is not None and after.basis != before.basis:
        plan = replace(program.plan, transferred=True, host=before.host)
        here, there = replace(program, plan=plan), replace(there, plan=plan)
        before, after = here.predict(sources) or before, there.predict(sources)
    if after is None or before.basis != after.basis:
        return None
    faster = gain(before, after)
    faster = replace(faster, before=faster.before / program.times, after=faster.after / program.times)  # for each item
    return Action(("machine",), faster, there, before, after, prices=(prices.get(program.machine.slug), prices.get(machine.slug)))


def changes(program: Program, sources: Sources) -> Iterator[tuple[str, Program, int]]:
    """Every program that differs in one thing, where that means something for this model and machine; and how often a fused kernel runs."""
    graph, machine = sources.graph, program.machine
    if not program.steps:
        yield SYNCS, replace(program, steps=frozenset({SYNCS})), 0
    for mode in _modes(program, graph):
        yield mode, replace(program, plan=replace(program.plan, mode=mode)), 0
    if not program.fmt:
        yield from ((fmt, replace(program, fmt=fmt), 0) for fmt in _formats(program, graph.dtype))
    if program.plan.lowering == "eager" and machine.dispatch == "queued" and not program.last:
        yield "layout", replace(program, last=True), 0
    if not program.weights and program.fmt != EIGHT:
        yield from ((fmt, replace(program, weights=fmt), 0) for fmt in ("int8", "int4"))
    if not program.kinds and program.plan.lowering == "eager" and (whole := program.graph(sources)) is not None:
        yield from (("kernel", replace(program, kinds=kinds), count) for kinds, count, _ in fused_kernels(whole, KERNELS))
    if program.times == 1:
        yield from (("batch", replace(program, times=times), 0) for times in sources.larger)


def _modes(program: Program, graph: Graph) -> tuple[str, ...]:
    replayed = program.machine.dispatch == "queued" and not any(op.kind == "solver" and op.attrs["how"] in WAITED_FOR for op in graph.ops)
    if program.plan.mode == "eager":
        return ("eager_graphs", "compiled", "graphs") if replayed else ("compiled",)
    return ("graphs",) if program.plan.mode == "compiled" and replayed else ()


def _formats(program: Program, dtype: str) -> Iterator[str]:
    peaks = program.machine.peaks
    if dtype in WIDE:
        if NARROW not in (dtype, program.plan.fp32) and NARROW in peaks:
            yield NARROW
        if HALF in peaks:
            yield HALF
    elif EIGHT in peaks and not program.weights:
        yield EIGHT
