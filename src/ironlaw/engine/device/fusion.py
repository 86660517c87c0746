"""The fusion planner: the decision tree (`engine.tree`) walked over a graph.

The fused graph's bytes are those that still cross memory: each outside input once, each output that someone outside needs.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

from ironlaw.engine.arrays import Number, smallest
from ironlaw.engine.device.compiler_rules import TREE, Rules
from ironlaw.engine.device.fusion_rules import Verdict, decide, fixed, same_size
from ironlaw.engine.device.merged_op import merge
from ironlaw.engine.device.recompute import expressions
from ironlaw.engine.device.types import Graph, Op
from ironlaw.engine.device.work import UNCOMPILED, UNROLLED, category


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
    verdicts: tuple[Verdict, ...]
    recompute: bool = False

    def __repr__(self) -> str:
        """One line; `groups` and `verdicts` hold the rest."""
        joined = sum(len(group.ops) for group in self.groups if len(group.ops) > 1)
        kernels = sum(len(group.ops) > 1 for group in self.groups)
        return f"<FusionPlan of {self.source.name}: {joined} of {len(self.source.ops)} ops in {kernels} fused kernels>"

    @cached_property
    def graph(self) -> Graph:
        needed = set(self.source.outputs)
        again = expressions(self.source) if self.recompute else {}
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
            if escaping or not again:  # else all of it is computed where it is read
                ops.append(merge(_wanted(group.ops, escaping) if again else group.ops, escaping, self.source.tensors, again))
        s = self.source
        return Graph(f"{s.name} fused", tuple(ops), s.dtype, s.settings, s.outputs)

    @property
    def kernels(self) -> Number:
        return self.graph.kernels

    @property
    def bytes_saved(self) -> Number:
        return self.source.bytes - self.graph.bytes


def fuse(graph: Graph, rules: Rules = TREE) -> FusionPlan:
    """Plan the fusion of a graph: greedy, in running order, never making a cycle. A graph remembers its plans."""
    plan: FusionPlan | None = graph.plans.get(rules)
    if plan is None:
        plan = graph.plans[rules] = _Planner(graph, rules).plan()
    return plan


class _Planner:
    """Union of ops into groups. `above[g]` and `below[g]` are bit sets of the ops that group g needs, and that need it,
    also by way of other groups."""

    def __init__(self, graph: Graph, rules: Rules) -> None:
        self.graph, self.rules = graph, rules
        ops = graph.ops
        self.maker = {t.name: i for i, op in enumerate(ops) for t in op.outputs}
        self.group = list(range(len(ops)))
        self.members: dict[int, int] = {i: 1 << i for i in self.group}
        self.above: dict[int, int] = dict.fromkeys(self.group, 0)
        self.below: dict[int, int] = dict.fromkeys(self.group, 0)
        makers = [[j for t in op.inputs if (j := self.maker.get(t.name, i)) < i] for i, op in enumerate(ops)]
        for i in self.group:
            for j in makers[i]:
                self.above[i] |= 1 << j | self.above[j]
        for i in reversed(self.group):
            for j in makers[i]:
                self.below[j] |= 1 << i | self.below[i]
        self.after = dict(self.below)  # the same of single ops, whatever is joined
        self.parted = sum(1 << i for i, op in enumerate(ops) if op.attrs.get("split") or op.attrs.get("shared"))
        self.again = expressions(graph) if rules.recompute else {}
        self.loops = [_loops(op) if rules.recompute and not (op.outputs and op.outputs[0].name in self.again) else () for op in ops]
        self.verdicts: list[Verdict] = []
        self.edges = [{j: decide(ops[j], op, rules) for j in dict.fromkeys(makers[i])} for i, op in enumerate(ops)]
        # bit set, per op, of the ops that it may not share a kernel with
        self.refused = [sum(1 << j for j, verdict in edges.items() if not verdict.fused) for edges in self.edges]
        self.patterns: dict[int, list[str]] = defaultdict(list)
        self.reasons: dict[int, list[str]] = defaultdict(list)

    def plan(self) -> FusionPlan:
        ops = self.graph.ops
        for i, edges in enumerate(self.edges):
            for j, verdict in edges.items():
                self.consider(j, i, verdict)
        if self.rules.horizontal:
            self.siblings()
        groups = []
        for g in self._order():
            inside = tuple(ops[i] for i in _bits(self.members[g]))
            reasons = self.reasons[g]
            groups.append(Group(inside, tuple(dict.fromkeys(self.patterns[g])), "; ".join(dict.fromkeys(reasons)) or "stands alone"))
        return FusionPlan(self.graph, tuple(groups), tuple(self.verdicts), self.rules.recompute)

    def _order(self) -> list[int]:
        """Groups as near to the order of the ops as their needs allow."""
        makers: dict[int, set[int]] = defaultdict(set)
        for i, op in enumerate(self.graph.ops):
            makers[self.group[i]] |= {self.group[j] for t in op.inputs if (j := self.maker.get(t.name)) is not None}
        last: dict[int, int] = {}
        for g in sorted(self.members, key=lambda g: self.above[g].bit_count()):  # what is needed has fewer needs itself
            last[g] = max([self.members[g].bit_length(), *(last[h] for h in makers[g] if h in last)])
        return sorted(last, key=lambda g: (last[g], self.above[g].bit_count()))

    def consider(self, j: int, i: int, verdict: Verdict) -> None:
        """Join op i to op j's group if the tree allows and the group stays one kernel."""
        a, b = self.group[j], self.group[i]
        if verdict.fused and a != b:
            why_not = self.blocked(a, b)
            if why_not:
                self.refused[i] |= 1 << j
                verdict = Verdict(verdict.producer, verdict.consumer, False, "none", why_not)
            else:
                self.join(a, b, verdict)
        self.verdicts.append(verdict)

    def blocked(self, a: int, b: int) -> str:
        """Why groups a and b can't be one kernel though the edge allows it; empty if they can."""
        ops = self.graph.ops
        kinds = [category(ops[i].kind) for i in _bits(self.members[a] | self.members[b])]
        heavy = sum(k in ("contraction", "attention") for k in kinds)
        if heavy > 1:
            return "one kernel holds one matmul or convolution"
        if heavy and any(k in ("rowwise", "reduction") for k in kinds):
            return "a reduction along the row would span the matmul's tiles"
        if self._apart(a, b) or self._apart(b, a):
            return "another op in the one group must not share a kernel with one in the other"
        if self._cyclic(a, b):
            return "an op between the two runs outside the group and needs its result: fusing would make a cycle"
        both = _bits(self.members[a] | self.members[b])
        if self._waits(self.members[a] | self.members[b]):
            return "a sum is taken in parts, which must be joined before what goes over more elements can start"
        rows = [ops[i] for i in both if category(ops[i].kind) in ("rowwise", "reduction") and UNROLLED not in ops[i].attrs]
        if len({fixed(_rows(op)) for op in rows}) > 1:
            return "the two reduce along rows of different length"
        if len({op.attrs.get("axis", -1) for op in rows}) > 1:
            return "the two reduce along different axes"
        if self.rules.recompute and any(not _covers(rows, ops[i]) for i in both if rows):
            return "the one goes over more elements than the other reduces"
        if self.rules.recompute and not self._alike(both):
            return "the two loops go over different numbers of elements"
        return ""

    def _alike(self, inside: list[int]) -> bool:
        """Whether one loop can go over all that is stored: over as many elements each, or, where rows are reduced, over their results."""
        loops = [self.loops[i] for i in inside if self.loops[i]]
        whole = [sizes for sizes in loops if len(sizes) == 2]  # reductions: all that goes in, and what comes out
        if whole:
            return all(set(sizes) <= set(whole[0]) for sizes in loops)
        return len(set(loops)) <= 1

    def _apart(self, a: int, b: int) -> bool:
        return any(self.refused[i] & self.members[b] for i in _bits(self.members[a]))

    def _waits(self, inside: int) -> bool:
        """Does an op need a sum that is taken in parts, also by way of small ones in between, and make more than that?"""
        ops = self.graph.ops
        return any(
            not same_size(ops[j].outputs[0], ops[i].outputs[0]) for i in _bits(inside & self.parted) for j in _bits(inside & self.after[i])
        )

    def _cyclic(self, a: int, b: int) -> bool:
        """Is there an op outside that the two need and that needs them?"""
        inside = self.members[a] | self.members[b]
        return bool((self.above[a] | self.above[b]) & (self.below[a] | self.below[b]) & ~inside)

    def join(self, a: int, b: int, verdict: Verdict) -> None:
        for i in _bits(self.members[b]):
            self.group[i] = a
        inside = self.members[a] = self.members[a] | self.members.pop(b)
        one, other = self.above[a], self.above.pop(b)
        above, needed_by_one = (one | other) & ~inside, (one ^ other) & ~inside
        one, other = self.below[a], self.below.pop(b)
        below, need_one = (one | other) & ~inside, (one ^ other) & ~inside
        self.above[a], self.below[a] = above, below
        # who needed, or was needed by, one of the two has now to do with both; whoever had to do with both knows already
        for g in {self.group[i] for i in _bits(needed_by_one)}:
            self.below[g] |= below | inside
        for g in {self.group[i] for i in _bits(need_one)}:
            self.above[g] |= above | inside
        self.patterns[a] += [*self.patterns.pop(b, []), verdict.pattern]
        self.reasons[a] += [*self.reasons.pop(b, []), verdict.reason]

    def siblings(self) -> None:
        """Horizontal: element-wise ops that read the same tensor and make the same shape."""
        ops = self.graph.ops
        readers: dict[str, list[int]] = defaultdict(list)
        for i, op in enumerate(ops):
            if category(op.kind) == "elementwise":
                for t in op.inputs:
                    if t.role in ("activation", "input"):
                        readers[t.name].append(i)
        for name, users in readers.items():
            for j, i in pairwise(users):
                a, b = self.group[j], self.group[i]
                if a == b or not same_size(ops[j].outputs[0], ops[i].outputs[0]):
                    continue
                reason = f"{ops[j].kind} and {ops[i].kind} both read {name}: one read serves both"
                self.consider(j, i, Verdict(ops[j].name, ops[i].name, True, "horizontal", reason))


def _wanted(ops: tuple[Op, ...], escaping: set[str]) -> tuple[Op, ...]:
    """A group's ops that its results are made from: what other loops compute again by themselves is not done here."""
    wanted, kept = set(escaping), []
    for op in reversed(ops):
        if any(t.name in wanted for t in op.outputs) or not op.outputs:
            wanted |= {t.name for t in op.inputs}
            kept.append(op)
    return tuple(reversed(kept))


def _loops(op: Op) -> tuple[object, ...]:
    """How many elements a compiler's loop for an op goes over; of a reduction how many go in, and how many come out."""
    kind = category(op.kind)
    if kind not in ("elementwise", "movement", "lookup", "window", "rowwise", "reduction") or op.kind == "topk" or UNCOMPILED in op.attrs:
        return ()
    made = fixed(op.outputs[0].size)
    if kind == "rowwise":
        return fixed(op.inputs[0].size), fixed(op.inputs[0].size / _rows(op))
    if kind == "reduction" and UNROLLED not in op.attrs and op.kind != "cumsum":
        return fixed(op.inputs[0].size), made
    return (made,)


def _covers(rows: list[Op], op: Op) -> bool:
    """Whether loops over what these reduce reach all that an op makes."""
    return any(smallest(row.inputs[0].size - op.outputs[0].size) >= 0 for row in rows)


def _rows(op: Op) -> Number:
    """Elements that are reduced together."""
    t = op.inputs[0]
    if category(op.kind) == "reduction":
        return t.size / op.outputs[0].size
    return op.attrs.get("row", t.shape[-1])


def _bits(bits: int) -> list[int]:
    if not bits:
        return []
    start = (bits & -bits).bit_length() - 1  # a group lies close together: the rest is a short number, however long the graph
    return [start + bit for bit in _short(bits >> start)]


def _short(bits: int) -> list[int]:
    text, out = f"{bits:b}"[::-1], []
    at = text.find("1")
    while at >= 0:
        out.append(at)
        at = text.find("1", at + 1)
    return out
