"""Bytes that come and go in a step beside what `footprint` keeps: the loss, a layer that is computed again, weights and gradients that are
gathered, and what tensor parallelism gathers before a product. Where stages wait for one another they meet the peak in part only, so the
loss is counted without a pipeline alone."""

from __future__ import annotations

from dataclasses import dataclass, replace

from ironlaw.engine.arrays import Number
from ironlaw.engine.cluster.footprint import WEIGHT, Parts, kept_layers, layer_activations, stage_parameters, stages
from ironlaw.engine.cluster.layouts import Layout, stage_layers
from ironlaw.engine.cluster.shapes import Shape
from ironlaw.engine.cluster.volumes import hop_bytes

COUNTED = 4.0  # bytes per logit that `footprint` has already
AHEAD = 2.0  # layers whose weights are gathered at a time: the one that runs and the next


@dataclass(frozen=True, slots=True)
class Working:
    """`logit`: bytes that the loss holds per logit at its peak; `split_logit`: where tensor parallelism splits the loss, 0 for as many.
    `whole_inputs`: what tensor parallelism gathers before a product is kept for its gradient, not gathered again. `whole_gradients`: with
    a pipeline, gradients are sharded once, at the end of a step. `whole_sends`: with a pipeline, buffers for all microbatches are there
    throughout, and so are the last stage's logits. `whole_keys`: context parallelism gathers keys and values of each query head, and sums
    gradients in FP32."""

    logit: float = COUNTED
    whole_gradients: bool = False
    split_logit: float = 0.0
    whole_inputs: bool = False
    whole_sends: bool = False
    whole_keys: bool = False

    def bytes(self, shape: Shape, layout: Layout, seq: Number) -> Number:
        return (
            self._loss(shape, layout, seq)
            + again(shape, layout, seq)
            + (gathered(shape, layout) if layout.zero == 3 else self._buffers(shape, layout))
            + self._gradients(shape, layout)
            + self._inputs(shape, layout, seq)
            + self._keys(shape, layout, seq)
        )

    def peak(self, shape: Shape, layout: Layout, seq: Number, micro_batches: int) -> Parts:
        """The fullest device."""
        beside = self.bytes(shape, layout, seq)
        held = {
            stage: replace(parts, activations=parts.activations + beside + self._sends(shape, layout, seq, micro_batches, stage))
            for stage, parts in stages(shape, layout, seq, micro_batches).items()
        }
        return max(held.values(), key=lambda parts: parts.total)

    def _sends(self, shape: Shape, layout: Layout, seq: Number, micro_batches: int, stage: int) -> Number:
        """What a stage receives has a buffer for each microbatch and piece; what it sent on waits for its gradient, as long as its layers.
        The last stage keeps every microbatch's logits until the step ends, and its loss holds one microbatch's in several formats."""
        if not self.whole_sends or layout.pipeline == 1:
            return 0.0
        hop, pieces, last = hop_bytes(shape, layout, seq), micro_batches * layout.virtual, layout.pipeline - 1
        received = 2 * pieces - micro_batches * ((stage == 0) + (stage == last))
        sent = kept_layers(shape, layout, stage, micro_batches) * layout.virtual / max(stage_layers(shape, layout))
        if stage < last:
            return (received + sent) * hop
        logits = seq / layout.context * layout.micro * shape.vocab / layout.tensor
        return received * hop + logits * (WEIGHT * micro_batches + (self.split_logit if layout.tensor > 1 else self.logit) - COUNTED)

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

    def _keys(self, shape: Shape, layout: Layout, seq: Number) -> Number:
        """The way back through a ring of attention: keys and values of all in 16 bits, one's own side by side for the others, the kernel's
        three gradients; and in FP32 the sum of the query's and, twice, of those of keys and values, to send and to receive."""
        if not self.whole_keys or layout.context == 1:
            return 0.0
        own = seq / layout.context * layout.micro * shape.width / layout.tensor
        return own * (2.0 * (2 * layout.context + 2 + 3) + 4.0 * (1 + 2 + 2))

    def _once(self, layout: Layout) -> bool:
        """Whether a pipeline gathers weights and shards gradients once in a step."""
        return self.whole_gradients and layout.pipeline > 1 and layout.zero >= 2

    def _buffers(self, shape: Shape, layout: Layout) -> Number:
        """What weights and gradients pass on their way, which streams of their own keep: two layers' weights, and one's gradients. Each
        chunk of a stage is wrapped by itself and has its own streams, whose memory the others can't use (PyTorch's `share_comm_ctx` ends
        that; it is newer than the published runs)."""
        passed = layout.virtual * (AHEAD * WEIGHT + layout.gradient_bytes)
        return passed * _layer(shape, layout) if self._once(layout) and layout.sharing > 1 else 0.0

    def _gradients(self, shape: Shape, layout: Layout) -> Number:
        if not self._once(layout):
            return 0.0
        there = 1.0 / layout.sharing + (1.0 / layout.virtual if layout.virtual > 1 else 0.0)  # shards, and a piece that is counted anyway
        return layout.gradient_bytes * stage_parameters(shape, layout, 0) * max(0.0, 1.0 - there)


def again(shape: Shape, layout: Layout, seq: Number) -> Number:
    """What one layer makes while it is computed again."""
    if layout.recompute in ("none", "selective"):
        return 0.0
    return layer_activations(shape, replace(layout, recompute="none"), seq) - layer_activations(shape, layout, seq)


def gathered(shape: Shape, layout: Layout) -> Number:
    """Weights of two layers or of the embedding, and one of their gradients before it is sharded: ZeRO-3 alone takes room for them."""
    if layout.zero != 3 or layout.sharing == 1:
        return 0.0
    layer = _layer(shape, layout)
    return max(AHEAD * layer, shape.vocab * shape.hidden / layout.tensor) * WEIGHT + layout.gradient_bytes * layer


def _layer(shape: Shape, layout: Layout) -> Number:
    """Parameters of one layer on one device before they are sharded."""
    return (shape.shared_layer_parameters + max(1, shape.experts) / layout.expert * shape.expert_weights) / layout.tensor
