"""Bytes that come and go in a step beside what `footprint` keeps: the loss, a layer that is computed again, weights and gradients that are
gathered, and what tensor parallelism gathers before a product. Where stages wait for one another they meet the peak in part only, so the
loss is counted without a pipeline alone."""

from __future__ import annotations

from dataclasses import dataclass, replace

from ironlaw.engine.arrays import Number
from ironlaw.engine.cluster.footprint import WEIGHT, kept_layers, layer_activations, stage_parameters
from ironlaw.engine.cluster.layouts import Layout
from ironlaw.engine.cluster.shapes import Shape

COUNTED = 4.0  # bytes per logit that `footprint` has already
AHEAD = 2.0  # layers whose weights are gathered at a time: the one that runs and the next


@dataclass(frozen=True, slots=True)
class Working:
    """`logit`: bytes that the loss holds per logit at its peak; `split_logit`: where tensor parallelism splits the loss, 0 for as many.
    `whole_inputs`: what tensor parallelism gathers before a product is kept for its gradient, not gathered again. `whole_gradients`: with
    a pipeline, gradients are sharded once, at the end of a step."""

    logit: float = COUNTED
    whole_gradients: bool = False
    split_logit: float = 0.0
    whole_inputs: bool = False

    def bytes(self, shape: Shape, layout: Layout, seq: Number) -> Number:
        return (
            self._loss(shape, layout, seq)
            + again(shape, layout, seq)
            + gathered(shape, layout)
            + self._gradients(shape, layout)
            + self._inputs(shape, layout, seq)
        )

    def _loss(self, shape: Shape, layout: Layout, seq: Number) -> Number:
        rows = seq / layout.context * layout.micro
        logit = self.split_logit if layout.tensor > 1 and self.split_logit else self.logit
        return (logit - COUNTED) * rows * shape.vocab / layout.tensor if layout.pipeline == 1 else 0.0

    def _inputs(self, shape: Shape, layout: Layout, seq: Number) -> Number:
        """Beside the shards of them that are counted: two of each layer that is kept (half as many where half is), one of the head."""
        if not self.whole_inputs or layout.tensor == 1 or not layout.sequence_parallel:
            return 0.0
        one = 2.0 * seq / layout.context * layout.micro * shape.hidden * (1.0 - 1.0 / layout.tensor)
        share = {"full": 0.0, "ops": 0.5, "layers": 0.5}.get(layout.recompute, 1.0)
        return one * (2.0 * max(1.0, share * kept_layers(shape, layout, 0)) + (layout.pipeline == 1))

    def _gradients(self, shape: Shape, layout: Layout) -> Number:
        if not (self.whole_gradients and layout.pipeline > 1 and layout.zero >= 2):
            return 0.0
        return layout.gradient_bytes * stage_parameters(shape, layout, 0) * (1.0 - 1.0 / layout.sharing)


def again(shape: Shape, layout: Layout, seq: Number) -> Number:
    """What one layer makes while it is computed again."""
    if layout.recompute in ("none", "selective"):
        return 0.0
    return layer_activations(shape, replace(layout, recompute="none"), seq) - layer_activations(shape, layout, seq)


def gathered(shape: Shape, layout: Layout) -> Number:
    """Weights of two layers or of the embedding, and one of their gradients before it is sharded: ZeRO-3 alone takes room for them."""
    if layout.zero != 3 or layout.sharing == 1:
        return 0.0
    layer = (shape.shared_layer_parameters + max(1, shape.experts) / layout.expert * shape.expert_weights) / layout.tensor
    return max(AHEAD * layer, shape.vocab * shape.hidden / layout.tensor) * WEIGHT + layout.gradient_bytes * layer
