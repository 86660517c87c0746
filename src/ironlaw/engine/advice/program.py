"""A model as it is run: which graph, in which format and layout, how launched, where. A change is another value of one field."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from ironlaw.engine.advice.action_names import AGAIN, AUTOCAST, KEPT, SCALED, TOGETHER
from ironlaw.engine.advice.programs import channels_last, fused_kernels, in_fp8, narrowed, scaled
from ironlaw.engine.device.machine import NARROW, Hardware, Plan
from ironlaw.engine.device.predict import Prediction, predict
from ironlaw.engine.device.stored_weights import quantised
from ironlaw.engine.device.types import Graph
from ironlaw.errors import BadValue, IronlawError

KERNELS = 3  # fused kernels that are tried, those that save most traffic
HALF = "fp16"
EIGHT = "fp8"


@dataclass(frozen=True)
class Sources:
    """The graphs that programs are made from. `larger`: the same call at more items, by how many times as many. `half`: both as captured in
    FP16, where somebody did that: a library may run other operators there; else they follow from the graphs in FP32."""

    graph: Graph
    larger: Mapping[int, Graph] = field(default_factory=dict)
    half: Mapping[int, Graph] = field(default_factory=dict)
    steps: Mapping[frozenset[str], Graph] = field(default_factory=dict)  # a training step as captured after these changes
    rewrites: Mapping[str, Callable[[Graph], Graph | None]] = field(default_factory=dict)  # changes that follow from a graph
    memo: dict[Any, Any] = field(default_factory=dict, init=False, repr=False, compare=False)

    def whole(self, times: int, fmt: str) -> Graph | None:
        graph = self.graph if times == 1 else self.larger[times]
        if fmt in ("", NARROW):
            return graph
        if fmt == EIGHT:
            return in_fp8(graph)
        all_captured = {1, *self.larger} <= set(self.half)
        return self.half[times] if all_captured else narrowed(graph, fmt)

    def changed(self, steps: frozenset[str], times: int, fmt: str) -> Graph | None:
        """After changes of a step: as captured so, then rewritten."""
        as_bf16 = frozenset(AUTOCAST if change == SCALED else change for change in steps)
        captured = as_bf16 & {AGAIN, AUTOCAST, KEPT, TOGETHER}
        graph = self.steps.get(captured) if captured else self.whole(times, fmt)
        if graph is not None and SCALED in steps:
            graph = scaled(graph)
        for change in steps - {AGAIN, AUTOCAST, SCALED, KEPT, TOGETHER}:
            if graph is None or change not in self.rewrites:
                return None
            graph = self.rewrites[change](graph)
        return graph


@dataclass(frozen=True)
class Program:
    """`times`: items of a call, in multiples of the graph's own. `kinds`: the operators of a kernel that somebody wrote."""

    plan: Plan
    machine: Hardware
    times: int = 1
    fmt: str = ""  # as the model has it, or tf32, fp16, fp8
    last: bool = False  # channels last
    weights: str = ""  # as the model has them, or int8, int4
    kinds: tuple[str, ...] = ()
    steps: frozenset[str] = frozenset()  # changes of a training step

    def graph(self, sources: Sources) -> Graph | None:
        """The graph that it runs; None where the model has nothing that could be changed so."""
        key = (self.times, "" if self.fmt == NARROW else self.fmt, self.last, self.weights, self.kinds, self.steps)
        if key not in sources.memo:
            sources.memo[key] = self._graph(sources)
        return sources.memo[key]  # type: ignore[no-any-return]

    def _graph(self, sources: Sources) -> Graph | None:
        graph = sources.changed(self.steps, self.times, self.fmt)
        if graph is not None and self.last:
            graph = channels_last(graph)
        if graph is not None and self.weights:
            try:
                graph = quantised(graph, self.weights)
            except BadValue:
                return None
        if graph is not None and self.kinds:
            graph = next((fused for kinds, _, fused in fused_kernels(graph, KERNELS) if kinds == self.kinds), None)
        return graph

    def predict(self, sources: Sources) -> Prediction | None:
        """None where nothing could be changed so, or the machine can't run it. What was asked before is remembered."""
        rest = (self.plan, id(self.machine), self.times, self.fmt, self.last, self.weights, self.kinds, self.steps)
        try:
            if rest not in sources.memo:
                sources.memo[rest] = self.machine, self._predict(sources)
        except TypeError:  # a swept launch
            return self._predict(sources)
        return sources.memo[rest][1]  # type: ignore[no-any-return]

    def _predict(self, sources: Sources) -> Prediction | None:
        graph = self.graph(sources)
        if graph is None:
            return None
        plan = replace(self.plan, fp32=NARROW) if self.fmt == NARROW else self.plan
        try:
            return predict(graph, self.machine, plan)
        except IronlawError:  # a format without a unit there
            return None
