"""Bytes on the fullest device of a layout: weights, gradients, optimiser, activations.

Activations of a GPT layer (Korthikanti et al., arXiv:2205.05198): s·b·h·(10 + 24/t + 5·a·s/(h·t)), all over t with sequence parallelism,
without the last term where attention is recomputed, 2·s·b·h where all is. The first stage keeps a micro-batch for each stage.
"""

from __future__ import annotations

from dataclasses import dataclass

from ironlaw.engine.arrays import Number, minimum
from ironlaw.engine.cluster.layouts import Layout, stage_layers
from ironlaw.engine.cluster.shapes import Shape

WEIGHT, STATE = 2.0, 12.0  # bytes a parameter: BF16 or FP16; master copy and two moments in FP32


@dataclass(frozen=True, slots=True)
class Parts:
    """Bytes by what they are for."""

    weights: Number
    gradients: Number
    optimiser: Number
    activations: Number

    @property
    def static(self) -> Number:
        return self.weights + self.gradients + self.optimiser

    @property
    def total(self) -> Number:
        return self.static + self.activations


def stage_parameters(shape: Shape, layout: Layout, stage: int, embeddings: bool = True) -> Number:
    """Parameters of one stage on one device, before ZeRO; experts over their own group."""
    layers = stage_layers(shape, layout)
    experts = max(1, shape.experts) / layout.expert * shape.expert_weights
    count = layers[stage] * (shape.shared_layer_parameters + experts)
    if embeddings:
        last = layout.pipeline - 1
        count += shape.embedding_parameters * (stage == 0)
        count += (shape.head_parameters + (shape.vocab * shape.hidden if shape.tied and last else 0)) * (stage == last)
    return count / layout.tensor


def expert_parameters(shape: Shape, layout: Layout, stage: int) -> Number:
    """The part of them that is experts' matrices; fewer replicas hold the same ones."""
    if not shape.experts:
        return 0.0
    return stage_layers(shape, layout)[stage] * shape.experts / layout.expert * shape.expert_weights / layout.tensor


def updated_parameters(shape: Shape, layout: Layout, stage: int) -> Number:
    """Those whose optimiser state is on this device."""
    experts = expert_parameters(shape, layout, stage)
    if not layout.zero:
        return stage_parameters(shape, layout, stage)
    return (stage_parameters(shape, layout, stage) - experts) / layout.replicas + experts * layout.expert / layout.replicas


def static_bytes(parameters: Number, layout: Layout, experts: Number = 0.0) -> Parts:
    """Of parameters on a device, experts' among them: ZeRO splits the optimiser (1), gradients (2) and weights (3) over replicas."""

    def share(size: float, stage: int) -> Number:
        over = layout.replicas if layout.zero >= stage else 1
        return size * ((parameters - experts) / over + experts / max(1, over // layout.expert))

    return Parts(share(WEIGHT, 3), share(layout.gradient_bytes, 2), share(STATE, 1), 0.0)


def layer_activations(shape: Shape, layout: Layout, seq: Number) -> Number:
    """Bytes that one layer keeps of one micro-batch on one device."""
    tokens, t = seq / layout.context * layout.micro, layout.tensor
    spread = t if layout.sequence_parallel else 1
    if layout.recompute == "full":
        return 2.0 * tokens * shape.hidden / (t if layout.sequence_parallel else 1)
    if shape.gated:
        inside = 2.0 * (2 * shape.width + 2 * shape.kv_width) + 6.0 * shape.ffn * max(1, shape.top_k if shape.experts else 1)
        return tokens * (8.0 * shape.hidden / spread + inside / t)
    scores = 5.0 * shape.heads * seq if not shape.fused_attention and layout.recompute == "none" else 0.0
    return tokens * (10.0 * shape.hidden / spread + 24.0 * shape.hidden / t + scores / t)


def activations(shape: Shape, layout: Layout, seq: Number, micro_batches: int | None = None) -> Number:
    """On the first stage: L/p layers of p micro-batches, and a little more where stages are in pieces; never more than there are."""
    waiting = layout.pipeline * (1.0 if layout.virtual == 1 else 1.0 + (layout.pipeline - 1) / (layout.pipeline * layout.virtual))
    if micro_batches is not None:
        waiting = minimum(waiting, float(micro_batches))
    return max(stage_layers(shape, layout)) * layer_activations(shape, layout, seq) * waiting


def memory(shape: Shape, layout: Layout, seq: Number, micro_batches: int | None = None) -> Parts:
    """The fullest device: the first stage, or the last where its head weighs more than what waits at the first."""
    waiting, last = activations(shape, layout, seq, micro_batches), layout.pipeline - 1
    if not last:
        return _parts(shape, layout, 0, waiting + _logits(shape, layout, seq))
    held = stage_layers(shape, layout)[-1] * layer_activations(shape, layout, seq) + _logits(shape, layout, seq)
    return max(_parts(shape, layout, 0, waiting), _parts(shape, layout, last, held), key=lambda parts: parts.total)


def _parts(shape: Shape, layout: Layout, stage: int, kept: Number) -> Parts:
    held = static_bytes(stage_parameters(shape, layout, stage), layout, expert_parameters(shape, layout, stage))
    return Parts(held.weights, held.gradients, held.optimiser, kept)


def _logits(shape: Shape, layout: Layout, seq: Number) -> Number:
    """The loss takes the logits in FP32."""
    return 4.0 * seq / layout.context * layout.micro * shape.vocab / layout.tensor
