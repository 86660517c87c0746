"""The fusion planner: the decision tree (`engine.tree`) walked over a graph.

The fused graph's bytes are those that still cross memory: each outside input once, each output that someone outside needs.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from ironlaw.engine.arrays import Number
from ironlaw.engine.device.compiler_rules import TREE, Rules
from ironlaw.engine.device.fusion_planner import Decided, Planner
from ironlaw.engine.device.fusion_rules import Verdict, decide
from ironlaw.engine.device.merged_op import merge
from ironlaw.engine.device.recompute import Expression, expressions
from ironlaw.engine.device.types import Graph, Op
from ironlaw.engine.device.work import UNCOMPILED

ALONE = "stands alone"


@dataclass(frozen=True, slots=True)
class Group:
    """Ops that become one kernel."""

    ops: tuple[Op, ...]
    patterns: tuple[str, ...]
    reason: str

    @property
    def name(self) -> str:
        return self.ops[0].name if len(self.ops) == 1 else f"{self.ops[0].name}…{self.ops[-1].name}"


@dataclass(frozen=True)
class FusionPlan:
    """Groups in running order, a verdict per edge, and the graph they make."""

    source: Graph
    groups: tuple[Group, ...]
    decided: tuple[Decided, ...]
    recompute: bool = False

    def __repr__(self) -> str:
        """One line; `groups` and `verdicts` hold the rest."""
        joined = sum(len(group.ops) for group in self.groups if len(group.ops) > 1)
        kernels = sum(len(group.ops) > 1 for group in self.groups)
        return f"<FusionPlan of {self.source.name}: {joined} of {len(self.source.ops)} ops in {kernels} fused kernels>"

    @cached_property
    def verdicts(self) -> tuple[Verdict, ...]:
        ops = self.source.ops
        return tuple(replace(verdict, producer=ops[j].name, consumer=ops[i].name) for j, i, verdict in self.decided)

    @cached_property
    def again(self) -> dict[str, Expression]:
        """What is computed where it is read."""
        return expressions(self.source) if self.recompute else {}

    @cached_property
    def graph(self) -> Graph:
        needed = set(self.source.outputs)
        again = self.again
        users: dict[str, set[int]] = defaultdict(set)
        for index, group in enumerate(self.groups):
            made = {t.name for op in group.ops for t in op.outputs}
            for op in group.ops:
                for t in op.inputs:
                    users[t.name].add(index)
                    if t.name in again and t.name not in made:
                        for leaf in again[t.name].leaves:
                            users[leaf].add(index)
        ops = []
        for index, group in enumerate(self.groups):
            outputs = [t for op in group.ops for t in op.outputs if t.name not in again]
            unread = {t.name for t in outputs if not users[t.name] and (t.shape or not again)}  # a number that nobody reads is left out
            escaping = unread | {t.name for t in outputs if t.name in needed or users[t.name] - {index}}
            if len(group.ops) == 1 and escaping and not any(t.name in again for t in group.ops[0].inputs):
                ops.append(group.ops[0])
            elif escaping or not again:  # else all of it is computed where it is read
                ops.append(merge(_wanted(group.ops, escaping) if again else group.ops, escaping, self.source.tensors, again))
        s = self.source
        return Graph(f"{s.name} fused", tuple(ops), s.dtype, s.settings, s.outputs)

    @property
    def kernels(self) -> Number:
        return self.graph.kernels

    @property
    def bytes_saved(self) -> Number:
        return self.source.bytes - self.graph.bytes


def fuse(graph: Graph, rules: Rules = TREE, before: Graph | None = None) -> FusionPlan:
    """Plan the fusion of a graph: greedy, in running order, never making a cycle. A graph remembers its plans. `before`: one that it may
    differ from at its end alone, in what no compiler writes."""
    plan: FusionPlan | None = graph.plans.get(rules)
    if plan is None:
        plan = _with_other_end(fuse(before, rules), graph, rules) if before is not None else None
        plan = graph.plans[rules] = plan or _planned(graph, rules)
    return plan


def _planned(graph: Graph, rules: Rules) -> FusionPlan:
    planner, groups = Planner(graph, rules), []
    for inside in planner.plan():
        g = planner.group[inside[0]]
        patterns, reasons = (tuple(dict.fromkeys(said)) for said in (planner.patterns[g], planner.reasons[g]))
        groups.append(Group(tuple(graph.ops[i] for i in inside), patterns, "; ".join(reasons) or ALONE))
    plan = FusionPlan(graph, tuple(groups), tuple(planner.verdicts), rules.recompute)
    plan.__dict__["again"] = planner.again
    return plan


def _with_other_end(known: FusionPlan, graph: Graph, rules: Rules) -> FusionPlan | None:
    """The plan of a graph that begins as another, where all that follows stands alone, leads nowhere, and reads the same in both."""
    ops, others = graph.ops, known.source.ops
    alike = (a is b or (a.name == b.name and a.key == b.key and a.inputs is b.inputs) for a, b in zip(ops, others, strict=False))
    same = next((i for i, equal in enumerate(alike) if not equal), min(len(ops), len(others)))
    made = {t.name for op in ops[:same] for t in op.outputs}
    read = {t.name for op in ops[:same] for t in op.inputs}
    ends = [_End(one.ops[same:], made, made.intersection(one.outputs)) for one in (graph, known.source)]
    if rules.horizontal or ends[0].reads != ends[1].reads or any(end.is_joined(made | read) for end in ends):
        return None
    groups = [group for group in known.groups if group.ops[-1].name not in ends[1].names]
    maker = {t.name: i for i, op in enumerate(ops) for t in op.outputs}
    decided = [one for one in known.decided if one[1] < same]
    for i in range(same, len(ops)):
        makers = dict.fromkeys(j for t in ops[i].inputs if (j := maker.get(t.name, i)) < i)
        decided += [(j, i, decide(ops[j], ops[i], rules)) for j in makers]
    plan = FusionPlan(graph, (*groups, *(Group((op,), (), ALONE) for op in ops[same:])), tuple(decided), rules.recompute)
    kept = [op for op in known.graph.ops if op.name not in ends[1].names]
    whole = (*kept, *ends[0].kept(graph.outputs, bool(known.again)))
    plan.__dict__["graph"] = Graph(f"{graph.name} fused", whole, graph.dtype, graph.settings, graph.outputs)
    return plan


class _End:
    """The last ops of a graph. `reads`: what they take of all that was `made` before, and what of it is handed back."""

    def __init__(self, ops: Sequence[Op], made: set[str], handed: set[str]) -> None:
        self.ops, self.names = ops, {op.name for op in ops}
        self.reads = {t.name for op in ops for t in op.inputs} & made, handed

    def is_joined(self, before: set[str]) -> bool:
        """Whether a compiler writes some of it, or it makes what was there before."""
        return any(UNCOMPILED not in op.attrs or any(t.name in before for t in op.outputs) for op in self.ops)

    def kept(self, outputs: Sequence[str], again: bool) -> list[Op]:
        """Its ops, without those whose numbers nobody reads."""
        readers: dict[str, set[int]] = defaultdict(set)
        for i, op in enumerate(self.ops):
            for t in op.inputs:
                readers[t.name].add(i)

        def wanted(i: int, name: str, is_number: bool) -> bool:
            return bool(name in outputs or (readers[name] - {i} if readers[name] else not is_number))

        return [op for i, op in enumerate(self.ops) if not again or any(wanted(i, t.name, not t.shape) for t in op.outputs)]


def _wanted(ops: tuple[Op, ...], escaping: set[str]) -> tuple[Op, ...]:
    """A group's ops that its results are made from: what other loops compute again by themselves is not done here."""
    wanted, kept = set(escaping), []
    for op in reversed(ops):
        if any(t.name in wanted for t in op.outputs) or not op.outputs:
            wanted |= {t.name for t in op.inputs}
            kept.append(op)
    return tuple(reversed(kept))
