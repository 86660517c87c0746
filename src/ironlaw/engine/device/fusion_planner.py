"""Which ops become one kernel: the decision tree walked over a graph's edges, in running order, never making a cycle."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any

from ironlaw.engine.arrays import Number, smallest
from ironlaw.engine.device.compiler_rules import Rules
from ironlaw.engine.device.fusion_rules import Verdict, decide, fixed, same_size
from ironlaw.engine.device.recompute import expressions
from ironlaw.engine.device.types import Graph, Op
from ironlaw.engine.device.work import UNCOMPILED, UNROLLED, category

Decided = tuple[int, int, Verdict]  # producer and consumer by their numbers; equal ops share a verdict, which may name others
CLOSE = 2.0**-20  # places that lie nearer to each other are numbered anew


class _Decisions:
    """Verdicts on edges: a model repeats its layers, and equal ops are decided once."""

    def __init__(self, ops: Sequence[Op], rules: Rules) -> None:
        self.ops, self.rules = ops, rules
        alike: dict[Any, int] = {}
        self.numbers = [alike.setdefault(op.key, len(alike)) for op in ops]
        self.known: dict[tuple[int, int], Verdict] = {}

    def of(self, j: int, i: int) -> Verdict:
        pair = self.numbers[j], self.numbers[i]
        if pair not in self.known:
            self.known[pair] = decide(self.ops[j], self.ops[i], self.rules)
        return self.known[pair]


class Planner:
    """Union of ops into groups. Every group has a place, after those of all groups that it needs; `above` and `below` are bit sets of the
    ops that one of its own needs, and that need one, along the graph."""

    def __init__(self, graph: Graph, rules: Rules) -> None:
        self.graph, self.rules = graph, rules
        ops = graph.ops
        self.maker = {t.name: i for i, op in enumerate(ops) for t in op.outputs}
        self.group = list(range(len(ops)))
        self.members: dict[int, list[int]] = {i: [i] for i in self.group}
        self.place = [float(i) for i in self.group]
        self.bits = [1 << i for i in self.group]
        self.makers = [[*dict.fromkeys(j for t in op.inputs if (j := self.maker.get(t.name, i)) < i)] for i, op in enumerate(ops)]
        self.users: list[list[int]] = [[] for _ in ops]
        self.above, self.below = [0] * len(ops), [0] * len(ops)
        for i, makers in enumerate(self.makers):
            for j in makers:
                self.users[j].append(i)
                self.above[i] |= self.bits[j] | self.above[j]
        for j in reversed(self.group):
            for i in self.users[j]:
                self.below[j] |= self.bits[i] | self.below[i]
        self.after = list(self.below)  # the same of single ops, whatever is joined
        self.seen: tuple[bool, set[int]] = False, set()  # of the last search for a way: whether from its end, and through what
        self.kinds = [category(op.kind) for op in ops]
        self.parted = {i for i, op in enumerate(ops) if op.attrs.get("split") or op.attrs.get("shared")}
        self.again = expressions(graph) if rules.recompute else {}
        self.loops = [_loops(op) if rules.recompute and not (op.outputs and op.outputs[0].name in self.again) else () for op in ops]
        self.verdicts: list[Decided] = []
        decisions = _Decisions(ops, rules)
        self.edges = [{j: decisions.of(j, i) for j in makers} for i, makers in enumerate(self.makers)]
        # per op, those that it may not share a kernel with
        self.refused = [{j for j, verdict in edges.items() if not verdict.fused} for edges in self.edges]
        self.patterns: dict[int, list[str]] = defaultdict(list)
        self.reasons: dict[int, list[str]] = defaultdict(list)

    def plan(self) -> list[list[int]]:
        """The groups in running order, each by its ops."""
        for i, edges in enumerate(self.edges):
            for j, verdict in edges.items():
                self.consider(j, i, verdict)
        if self.rules.horizontal:
            self.siblings()
        return [sorted(self.members[g]) for g in self._order()]

    def _order(self) -> list[int]:
        """Groups as near to the order of the ops as their needs allow."""
        above: dict[int, int] = {}  # what a group needs, also by way of others
        for g in sorted(self.members, key=self.place.__getitem__):
            above[g] = 0
            for h in self._beside(g, self.makers):
                above[g] |= self.bits[h] | above[h]
        needs = {g: above[g].bit_count() for g in self.members}
        makers: dict[int, set[int]] = defaultdict(set)
        for i, op in enumerate(self.graph.ops):
            makers[self.group[i]] |= {self.group[j] for t in op.inputs if (j := self.maker.get(t.name)) is not None}
        last: dict[int, int] = {}
        for g in sorted(self.members, key=needs.__getitem__):  # what is needed has fewer needs itself
            last[g] = max([max(self.members[g]) + 1, *(last[h] for h in makers[g] if h in last)])
        return sorted(last, key=lambda g: (last[g], needs[g]))

    def consider(self, j: int, i: int, verdict: Verdict) -> None:
        """Join op i to op j's group if the tree allows and the group stays one kernel."""
        a, b = self.group[j], self.group[i]
        if verdict.fused and a != b:
            why_not = self.blocked(a, b)
            if why_not:
                self.refused[i].add(j)
                verdict = replace(verdict, fused=False, pattern="none", reason=why_not)
            else:
                self.join(a, b, verdict)
        self.verdicts.append((j, i, verdict))

    def blocked(self, a: int, b: int) -> str:
        """Why groups a and b can't be one kernel though the edge allows it; empty if they can."""
        ops, both = self.graph.ops, self.members[a] + self.members[b]
        kinds = [self.kinds[i] for i in both]
        heavy = sum(k in ("contraction", "attention") for k in kinds)
        if heavy > 1:
            return "one kernel holds one matmul or convolution"
        if heavy and any(k in ("rowwise", "reduction") for k in kinds):
            return "a reduction along the row would span the matmul's tiles"
        if self._apart(a, b) or self._apart(b, a):
            return "another op in the one group must not share a kernel with one in the other"
        if self._cyclic(a, b):
            return "an op between the two runs outside the group and needs its result: fusing would make a cycle"
        if self._waits(both):
            return "a sum is taken in parts, which must be joined before what goes over more elements can start"
        rows = [ops[i] for i in both if self.kinds[i] in ("rowwise", "reduction") and UNROLLED not in ops[i].attrs]
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
        return any(self.group[j] == b for i in self.members[a] for j in self.refused[i])

    def _waits(self, inside: list[int]) -> bool:
        """Does an op need a sum that is taken in parts, also by way of small ones in between, and make more than that?"""
        ops = self.graph.ops
        return any(
            self.after[i] >> j & 1 and not same_size(ops[j].outputs[0], ops[i].outputs[0])
            for i in inside
            if i in self.parted
            for j in inside
        )

    def _cyclic(self, a: int, b: int) -> bool:
        """Is there an op outside that the two need and that needs them? Mostly the graph itself says so, without what was joined."""
        if (self.below[a] & self.above[b] | self.below[b] & self.above[a]) & ~(self.bits[a] | self.bits[b]):
            return True
        a, b = sorted((a, b), key=self.place.__getitem__)
        start, end = self.place[a], self.place[b]
        ahead, behind, users, makers = [a], [b], {a}, {b}
        while ahead and behind:  # from both ends: the one that is through first has seen little
            g = ahead.pop()
            for h in self._beside(g, self.users):
                if h in makers and (g, h) != (a, b):
                    return True
                if h not in users and h != b and self.place[h] <= end:
                    users.add(h)
                    ahead.append(h)
            g = behind.pop()
            for h in self._beside(g, self.makers):
                if h in users and (g, h) != (b, a):
                    return True
                if h not in makers and h != a and self.place[h] >= start:
                    makers.add(h)
                    behind.append(h)
        self.seen = (True, makers - {b}) if ahead else (False, users - {a})
        return False

    def _beside(self, g: int, links: list[list[int]]) -> set[int]:
        """The groups that one needs, or that need it."""
        return {self.group[j] for i in self.members[g] for j in links[i]} - {g}

    def join(self, a: int, b: int, verdict: Verdict) -> None:
        """Right after `_cyclic`: what needs the first of the two comes after the second now, or what the second needs before the first."""
        back, moved = self.seen
        low, high = sorted((a, b), key=self.place.__getitem__)
        end = low if back else high  # where the two are from now on
        if moved:
            first, last = self._room(moved, end, back)
            if last - first < len(moved) * CLOSE:
                for at, g in enumerate(sorted(self.members, key=self.place.__getitem__)):
                    self.place[g] = float(at)
                first, last = self._room(moved, end, back)
            for at, g in enumerate(sorted(moved, key=self.place.__getitem__), 1):
                self.place[g] = first + (last - first) * at / (len(moved) + 1)
        place = self.place[end]
        for i in self.members[b]:
            self.group[i] = a
        self.members[a] += self.members.pop(b)
        self.place[a] = place
        for sets in (self.bits, self.above, self.below):
            sets[a] |= sets[b]
        self.patterns[a] += [*self.patterns.pop(b, []), verdict.pattern]
        self.reasons[a] += [*self.reasons.pop(b, []), verdict.reason]

    def _room(self, moved: set[int], end: int, back: bool) -> tuple[float, float]:
        """The places between which groups may lie that have to come right before, or after, another."""
        links, place = self.makers if back else self.users, self.place[end]
        others = [self.place[h] for g in moved for h in self._beside(g, links) if h not in moved]
        return (max(others, default=place - 1.0), place) if back else (place, min(others, default=place + 1.0))

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
