"""The memory ledger of a training step: bytes by row at every op, and where the peak is.

peak = max over the step of weights + gradients + master + optimiser + kept for backward + head and loss + passing through
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

from ironlaw.engine.arrays import Number
from ironlaw.engine.device.types import Graph
from ironlaw.engine.training.layers import segments
from ironlaw.engine.training.loss import chunked, with_loss
from ironlaw.engine.training.outline import Outline, outline
from ironlaw.engine.training.recipes import Optimiser, Recipe, Static, optimiser_named, parameters, recipe_named, static, zero
from ironlaw.engine.training.rewrites import autocast
from ironlaw.engine.training.step import BETWEEN, Load, loads
from ironlaw.errors import BadValue

ROWS = ("weights", "master", "optimiser", "gradients", "kept", "head", "passing")
UPDATE = "update"


@dataclass(frozen=True, slots=True)
class Moment:
    """What lies in memory while one op runs, in the order of `ROWS`."""

    phase: str  # forward, again (recomputed), backward, update
    op: str
    bytes: tuple[Number, ...]

    @property
    def total(self) -> Number:
        return sum(self.bytes)


@dataclass(frozen=True)
class Ledger:
    """One step of a model under a recipe and an optimiser."""

    model: str
    static: Static
    profile: tuple[Moment, ...]

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
    """One update of `graph`, a forward pass of one micro-batch in the recipe's format.

    checkpoint: segments of layers that are recomputed (0: none). loss_chunks: the loss over 1/n of the rows at a time.
    accumulate: micro-batches an update. zero_stage, devices: ZeRO. offload: optimiser and master copy lie in the host's memory.
    """
    plan, keeps = recipe_named(recipe), optimiser_named(optimiser)
    if graph.dtype not in ((plan.dtype, "tf32") if plan.dtype == "fp32" else (plan.dtype, "fp16")):
        raise BadValue(
            f"{graph.name} is in {graph.dtype}, and the recipe {recipe} trains it in {plan.dtype}; ask for dtype={plan.dtype!r}", "recipe"
        )
    if accumulate < 1:
        raise BadValue(f"accumulate is {accumulate!r}; give at least 1 micro-batch an update", "accumulate")
    weights = parameters(graph)
    if not weights:
        raise BadValue(f"{graph.name} has no trained weights: there is nothing to train")
    buffers = graph.total("buffer")[1]
    held = zero(static(weights, recipe, optimiser), zero_stage, devices)
    held = replace(held, weights=held.weights + buffers)
    if offload:
        held = replace(held, master=0.0, optimiser=0.0)
    known, runs = _outlined(graph, plan.autocast, loss_chunks, checkpoint)
    persistent = accumulate > 1 or plan.buffers
    steps = loads(known, plan.gradient, runs, persistent, loss_chunks)
    share = held.gradients / (plan.gradient * sum(t.size for t in weights))  # what ZeRO leaves of the gradients here
    profile = tuple(_moment(load, held, share, persistent) for load in steps)
    return Ledger(graph.name, held, (*profile, _update(graph, held, plan, keeps, 0.0 if offload else 1.0 / (devices if zero_stage else 1))))


def _outlined(graph: Graph, casts: bool, chunks: int, checkpoint: int) -> tuple[Outline, tuple[range, ...]]:
    """The step's outline, kept with the graph (a lab asks for the same one with each optimiser), and its segments."""
    key = ("training", casts, chunks)
    if key not in graph.plans:
        whole = chunked(with_loss(autocast(graph) if casts else graph), chunks)
        graph.plans[key] = whole, outline(whole)
    whole, known = graph.plans[key]
    return known, segments(whole, checkpoint)


def static_bytes(graph: Graph, recipe: str = "fp32", optimiser: str = "adamw") -> Number:
    """Weights, gradients, master copy and optimiser state of a model."""
    return static(parameters(graph), recipe, optimiser).total


def _moment(load: Load, held: Static, share: Number, persistent: bool) -> Moment:
    gradients = held.gradients if persistent else share * load.gradients
    return Moment(load.phase, load.op, (held.weights, held.master, held.optimiser, gradients, load.kept, load.head, load.passing))


def _update(graph: Graph, held: Static, plan: Recipe, keeps: Optimiser, here: float) -> Moment:
    """The optimiser's step. With a master copy it goes tensor by tensor, with its gradient in FP32; else over all tensors at once.

    `here`: the share of the parameters that this device updates.
    """
    weights = parameters(graph)
    if plan.master:
        largest = max(t.size for t in weights)
        scratch = largest * plan.state * (keeps.scratch + (plan.gradient < plan.master))
    else:
        scratch = keeps.scratch * plan.state * sum(t.size for t in weights)
    inputs = graph.total("input")[1]
    return Moment(UPDATE, "optimiser", (held.weights, held.master, held.optimiser, held.gradients, 0.0, 0.0, inputs + here * scratch))
