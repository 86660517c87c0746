"""What must hold of the planner for any graph."""

from collections import defaultdict
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st
from small_graphs import graphs

from ironlaw.backends.inductor import INDUCTOR, TRITON
from ironlaw.engine.device.compiler_rules import TREE
from ironlaw.engine.device.fusion import fuse
from ironlaw.engine.device.fusion_rules import decide
from ironlaw.engine.device.work import category

rules = st.sampled_from([TREE, INDUCTOR])


def every_op_is_in_one_group(graph, plan):
    inside = [op.name for group in plan.groups for op in group.ops]
    assert sorted(inside) == sorted(op.name for op in graph.ops)
    for group in plan.groups:
        order = [graph.ops.index(op) for op in group.ops]
        assert order == sorted(order)


def groups_run_after_what_they_need(graph, plan):
    ready = {"x"} | {f"w{i}" for i in range(20)}
    for op in plan.graph.ops:
        assert {t.name for t in op.inputs} <= ready
        ready |= {t.name for t in op.outputs}
    assert set(graph.outputs) <= ready


def fusing_never_adds_bytes_or_kernels_and_keeps_the_arithmetic(graph, plan):
    fused = plan.graph
    assert fused.work.read <= graph.work.read
    assert fused.work.written <= graph.work.written
    assert fused.kernels <= graph.kernels
    assert fused.work.flops == graph.work.flops
    assert fused.flops == graph.flops


def bytes_are_what_still_crosses_memory(graph, plan):
    """Counted anew from the groups: each outside tensor once, each result that is needed outside once."""
    total = 0.0
    for group in plan.groups:
        if len(group.ops) == 1:
            total += group.ops[0].work.bytes
            continue
        made = {t.name: t for op in group.ops for t in op.outputs}
        read = {t.name: t for op in group.ops for t in op.inputs if t.name not in made}
        elsewhere = {t.name for op in graph.ops if op not in group.ops for t in op.inputs} | set(graph.outputs)
        anywhere = {t.name for op in graph.ops for t in op.inputs}
        written = [t for name, t in made.items() if name in elsewhere or name not in anywhere]
        total += sum(t.bytes for t in read.values()) + sum(t.bytes for t in written)
    assert plan.graph.bytes == total
    assert plan.bytes_saved == graph.bytes - total


def verdicts_cover_each_edge_once(graph, plan):
    maker = {t.name: op.name for op in graph.ops for t in op.outputs}
    edges = {(maker[t.name], op.name) for op in graph.ops for t in op.inputs if t.name in maker}
    along = [(v.producer, v.consumer) for v in plan.verdicts if v.pattern != "horizontal" and (v.producer, v.consumer) in edges]
    assert set(along) == edges
    groups = {op.name: i for i, group in enumerate(plan.groups) for op in group.ops}
    for v in plan.verdicts:
        if v.fused:
            assert groups[v.producer] == groups[v.consumer]
            assert v.pattern in plan.groups[groups[v.producer]].patterns
    for group in plan.groups:
        assert (len(group.ops) > 1) == bool(group.patterns)
        assert (group.reason == "stands alone") == (len(group.ops) == 1)


def a_group_holds_one_matmul_and_then_no_row_reduction(_, plan):
    for group in plan.groups:
        kinds = [op.kind for op in group.ops]
        assert kinds.count("linear") <= 1
        if "linear" in kinds:
            assert not {"layer_norm", "softmax", "sum"} & set(kinds)
        assert "view" not in kinds or len(kinds) == 1


def no_refused_edge_runs_inside_a_group(_, plan):
    groups = {op.name: i for i, group in enumerate(plan.groups) for op in group.ops}
    for v in plan.verdicts:
        assert v.fused or groups[v.producer] != groups[v.consumer]


PROMISES = [
    every_op_is_in_one_group,
    groups_run_after_what_they_need,
    fusing_never_adds_bytes_or_kernels_and_keeps_the_arithmetic,
    bytes_are_what_still_crosses_memory,
    verdicts_cover_each_edge_once,
    a_group_holds_one_matmul_and_then_no_row_reduction,
    no_refused_edge_runs_inside_a_group,
]


@given(graphs(), rules)
def test_what_any_plan_promises(graph, allowed):
    plan = fuse(graph, allowed)
    for promise in PROMISES:
        promise(graph, plan)
    groups_run_after_what_they_need(graph, fuse(graph, TRITON))
    if not allowed.epilogue:
        assert not any("linear" in [op.kind for op in group.ops] for group in plan.groups if len(group.ops) > 1)


# ---- the same plan, found by search


class Search:
    """The planner's promises on plain sets, each question answered by walking the graph: slow, and without its bit sets."""

    def __init__(self, graph, allowed):
        self.ops, self.allowed = graph.ops, allowed
        maker = {t.name: i for i, op in enumerate(graph.ops) for t in op.outputs}
        self.needs = [list(dict.fromkeys(maker[t.name] for t in op.inputs if t.name in maker)) for op in graph.ops]
        self.groups = {i: {i} for i in range(len(graph.ops))}
        self.apart = {(j, i) for i, needs in enumerate(self.needs) for j in needs if not decide(graph.ops[j], graph.ops[i], allowed).fused}
        self.verdicts = []
        for i, needs in enumerate(self.needs):
            for j in needs:
                self.consider(j, i)
        if allowed.horizontal:
            self.siblings()

    def consider(self, j, i, allowed=None):
        fused = decide(self.ops[j], self.ops[i], self.allowed).fused if allowed is None else allowed
        both = self.groups[j] | self.groups[i]
        if fused and self.groups[j] is not self.groups[i]:
            fused = self.may_share(both) and not self.waits_for_itself(both)
            if fused:
                self.groups.update(dict.fromkeys(both, both))
            else:
                self.apart.add((j, i))
        self.verdicts.append((self.ops[j].name, self.ops[i].name, fused))

    def may_share(self, members):
        heavy = [i for i in members if category(self.ops[i].kind) in ("contraction", "attention")]
        rows = [self.ops[i] for i in members if category(self.ops[i].kind) in ("rowwise", "reduction")]
        lengths = {op.inputs[0].size / op.outputs[0].size if op.kind == "sum" else op.inputs[0].shape[-1] for op in rows}
        refused = any(j in members and i in members for j, i in self.apart)
        return len(heavy) <= 1 and not (heavy and rows) and not refused and len(lengths) <= 1

    def waits_for_itself(self, members):
        """Does a walk from one of them, group by group, leave them and come back?"""
        readers = defaultdict(set)
        for i, needs in enumerate(self.needs):
            for j in needs:
                readers[j].add(i)
        reached = {i for j in members for i in readers[j]} - members
        while more := {i for j in reached for k in self.groups[j] for i in readers[k]} - reached:
            if more & members:
                return True
            reached |= more
        return False

    def siblings(self):
        readers = defaultdict(list)
        for i, op in enumerate(self.ops):
            for t in op.inputs if category(op.kind) == "elementwise" else ():
                if t.role in ("activation", "input"):
                    readers[t.name].append(i)
        for users in readers.values():
            for j, i in pairwise(users):
                if self.groups[j] is not self.groups[i] and self.ops[j].outputs[0].size == self.ops[i].outputs[0].size:
                    self.consider(j, i, allowed=True)

    def time(self, members):
        """A group runs when its last op would have, and after what it needs."""
        outside = [self.groups[j] for i in members for j in self.needs[i] if j not in members]
        return max([max(members), *(self.time(group) for group in outside)])


@given(graphs(most=14), rules)
def test_groups_verdicts_and_their_order_are_those_that_a_search_finds(graph, allowed):
    plan, search = fuse(graph, allowed), Search(graph, allowed)
    assert [(v.producer, v.consumer, v.fused) for v in plan.verdicts] == search.verdicts
    found = [frozenset(graph.ops.index(op) for op in group.ops) for group in plan.groups]
    assert set(found) == {frozenset(group) for group in search.groups.values()}
    times = [search.time(group) for group in found]
    assert times == sorted(times)
