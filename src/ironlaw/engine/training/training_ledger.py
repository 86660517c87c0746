"""The memory ledger of a training step: bytes by row at every op, and where the peak is.

peak = max over the step of weights + gradients + master + optimiser + kept for backward + head and loss + passing through
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

from ironlaw.engine.arrays import Number
from ironlaw.engine.device.types import Graph
from ironlaw.engine.training.loss import chunked, with_loss
from ironlaw.engine.training.outline import Outline, in_chunks, outline
from ironlaw.engine.training.recipes import Recipe, Static, frozen, optimiser_named, parameters, recipe_named, static, zero
from ironlaw.engine.training.rewrites import autocast
from ironlaw.engine.training.training_layers import segments
from ironlaw.engine.training.training_step import BETWEEN, Load, loads
from ironlaw.errors import BadValue

ROWS = ("weights", "master", "optimiser", "gradients", "kept", "head", "passing")
UPDATE = "update"
ONE_LOSS = 4.0  # bytes: the caller holds the loss, in FP32
RUNS = 12  # of a graph that are kept


class Moment(NamedTuple):
    """What lies in memory while one op runs, in the order of `ROWS`."""

    phase: str  # forward, again (recomputed), backward, update
    op: str
    bytes: tuple[Number, ...]

    @property
    def total(self) -> Number:
        return sum(self.bytes)


@dataclass(frozen=True, eq=False, slots=True)
class Run:
    """A microbatch forward and backward, whatever the optimiser; one that is kept is known by being the same object."""

    loads: tuple[Load, ...]


@dataclass(frozen=True)
class Ledger:
    """One step of a model under a recipe and an optimiser."""

    model: str
    static: Static
    run: Run
    share: Number | None  # of a gradient that stays here as it appears; None: all gradients are there throughout
    update: Moment

    @cached_property
    def profile(self) -> tuple[Moment, ...]:
        """Op by op; the optimiser's step is the last."""
        held, share = self.static, self.share
        start = (held.weights, held.master, held.optimiser)
        moments = [
            Moment(
                load.phase, load.op,
                (*start, held.gradients if share is None else share * load.gradients, load.kept, load.head, load.passing),
            )
            for load in self.run.loads
        ]  # fmt: skip
        return (*moments, self.update)

    @cached_property
    def peak_at(self) -> Moment:
        return max(self.profile, key=lambda moment: moment.total)

    @property
    def peak(self) -> Number:
        return self.peak_at.total

    @cached_property
    def rows(self) -> dict[str, Number]:
        """The most that each row ever holds; they need not be there at the same time."""
        return {row: max(moment.bytes[i] for moment in self.profile) for i, row in enumerate(ROWS)}

    @cached_property
    def kept(self) -> Number:
        """What forward leaves for backward, head and loss included."""
        left = next(moment for moment in self.profile if moment.phase == BETWEEN)
        return left.bytes[ROWS.index("kept")] + left.bytes[ROWS.index("head")]

    def at_peak(self, row: str) -> Number:
        return self.peak_at.bytes[ROWS.index(row)]

    def fits(self, capacity: Number) -> bool:
        return bool(self.peak <= capacity)


def training_ledger(
    graph: Graph,
    recipe: str = "fp32",
    optimiser: str = "adamw",
    *,
    checkpoint: int = 0,
    loss_chunks: int = 1,
    accumulate: int = 1,
    zero_stage: int = 0,
    devices: int = 1,
    offload: bool = False,
) -> Ledger:
    """One update of `graph`, a forward pass of one microbatch in the recipe's format.

    checkpoint: segments of layers that are recomputed (0: none). loss_chunks: the loss over 1/n of the rows at a time.
    accumulate: microbatches an update. zero_stage, devices: ZeRO. offload: optimiser and master copy lie in the host's memory.
    """
    plan = recipe_named(recipe)
    if accumulate < 1:
        raise BadValue(f"accumulate is {accumulate!r}; give at least 1 microbatch per update", "accumulate")
    held = _held(graph, recipe, optimiser, zero_stage, devices, offload)
    persistent = accumulate > 1 or plan.buffers
    share = None if persistent else held.gradients / (plan.gradient * _size(graph))  # what ZeRO leaves of the gradients here
    last = update(graph, recipe, optimiser, zero_stage=zero_stage, devices=devices, offload=offload)
    return Ledger(graph.name, held, _run(graph, plan, checkpoint, loss_chunks, persistent), share, last)


def _held(graph: Graph, recipe: str, optimiser: str, zero_stage: int, devices: int, offload: bool) -> Static:
    """What lies in the device's memory throughout."""
    plan = recipe_named(recipe)
    still = frozen(graph)
    weights = parameters(graph)
    main = weights[0].dtype if still and weights else graph.dtype  # frozen weights have formats of their own
    if main not in ((plan.dtype, "tf32") if plan.dtype == "fp32" else (plan.dtype, "fp16")):
        raise BadValue(
            f"{graph.name} is in {main}, and the recipe {recipe} trains it in {plan.dtype}; ask for dtype={plan.dtype!r}", "recipe"
        )
    if not weights:
        raise BadValue(f"{graph.name} has no trained weights: there is nothing to train")
    held = static(weights, recipe, optimiser)
    held = zero(replace(held, weights=held.weights + sum(t.bytes for t in still)), zero_stage, devices)
    held = replace(held, weights=held.weights + graph.total("buffer")[1])
    return replace(held, master=0.0, optimiser=0.0) if offload else held


def _size(graph: Graph) -> Number:
    return sum(t.size for t in parameters(graph))


def _run(graph: Graph, plan: Recipe, checkpoint: int, chunks: int, persistent: bool) -> Run:
    """Kept with the graph: a lab asks for the same one with each optimiser, each stage of ZeRO, and to and from the host.

    A dozen of them, those asked for last: one of a large model takes megabytes, and a dial goes through dozens.
    """
    runs: dict[Any, Run] = graph.plans.setdefault("runs", {})
    key = (plan.autocast, plan.gradient, checkpoint, chunks, persistent)
    run = runs.pop(key, None)
    if run is None:
        known, parts = _outlined(graph, plan.autocast, chunks, checkpoint)
        run = Run(tuple(loads(known, plan.gradient, parts, persistent, chunks)))
    runs[key] = run
    for old in list(runs)[:-RUNS]:
        runs.pop(old, None)  # unless another thread was faster
    return run


def _outlined(graph: Graph, casts: bool, chunks: int, checkpoint: int) -> tuple[Outline, tuple[range, ...]]:
    """The step's outline, kept with the graph too, and its segments."""
    key = ("training", casts, chunks)
    if key not in graph.plans:
        if chunks == 1:
            whole = with_loss(autocast(graph) if casts else graph)
            graph.plans[key] = whole, outline(whole)
        else:
            _outlined(graph, casts, 1, 0)
            whole, known = graph.plans["training", casts, 1]
            parts = chunked(whole, chunks)
            graph.plans[key] = parts, in_chunks(known, parts, chunks)
    whole, known = graph.plans[key]
    return known, segments(whole, checkpoint)


def static_bytes(graph: Graph, recipe: str = "fp32", optimiser: str = "adamw") -> Number:
    """Weights, gradients, master copy and optimiser state of a model."""
    return static(parameters(graph), recipe, optimiser).total + sum(t.bytes for t in frozen(graph))


def update(
    graph: Graph, recipe: str = "fp32", optimiser: str = "adamw", *, zero_stage: int = 0, devices: int = 1, offload: bool = False
) -> Moment:
    """The optimiser's step. With a master copy it goes tensor by tensor, with its gradient in FP32; else over all tensors at once."""
    plan, keeps = recipe_named(recipe), optimiser_named(optimiser)
    held = _held(graph, recipe, optimiser, zero_stage, devices, offload)
    if plan.master:
        largest = max(t.size for t in parameters(graph))
        scratch = largest * plan.state * (keeps.scratch + (plan.gradient < plan.master))
    else:
        scratch = keeps.scratch * plan.state * _size(graph)
    here = 0.0 if offload else 1.0 / (devices if zero_stage else 1)  # the share of the parameters that this device updates
    there = graph.total("input")[1] + ONE_LOSS
    return Moment(UPDATE, "optimiser", (held.weights, held.master, held.optimiser, held.gradients, 0.0, 0.0, there + here * scratch))
