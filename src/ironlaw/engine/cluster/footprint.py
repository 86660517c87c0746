"""Bytes on the fullest device of a layout: weights, gradients, optimiser, activations.

Activations of a GPT layer (Korthikanti et al., arXiv:2205.05198): s·b·h·(10 + 24/t + 5·a·s/(h·t)), all over t with sequence parallelism,
without the last term where attention is recomputed, 2·s·b·h where all is. The first stage keeps a microbatch for each stage.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from ironlaw.engine.arrays import Number
from ironlaw.engine.cluster.layouts import Layout, stage_layers
from ironlaw.engine.cluster.shapes import Shape

WEIGHT, STATE = 2.0, 12.0  # bytes per parameter: BF16 or FP16; master copy and two moments in FP32


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
    """The number of parameters whose optimiser state is on this device."""
    experts = expert_parameters(shape, layout, stage)
    if not layout.zero:
        return stage_parameters(shape, layout, stage)
    return (stage_parameters(shape, layout, stage) - experts) / layout.sharing + experts * layout.expert / layout.sharing


def static_bytes(parameters: Number, layout: Layout, experts: Number = 0.0) -> Parts:
    """What parameters take on a device, experts among them: ZeRO splits the optimiser (1), gradients (2) and weights (3) over replicas.
    What lies in the host's memory is not there."""

    def share(size: float, stage: int) -> Number:
        over = layout.sharing if layout.zero >= stage else 1
        return size * ((parameters - experts) / over + experts / max(1, over // layout.expert))

    here = Parts(share(WEIGHT, 3), share(layout.gradient_bytes, 2), share(STATE, 1), 0.0)
    away = set(layout.offload) - (set() if layout.zero == 3 else {"weights"})  # gathered weights stay until the step ends
    return replace(here, **dict.fromkeys(away, 0.0))


def layer_activations(shape: Shape, layout: Layout, seq: Number) -> Number:
    """Bytes that one layer keeps of one microbatch on one device."""
    tokens, t = seq / layout.context * layout.micro, layout.tensor
    spread = t if layout.sequence_parallel else 1
    if layout.recompute == "full":
        return 2.0 * tokens * shape.hidden / (t if layout.sequence_parallel else 1)
    if layout.recompute == "ops" and shape.gated and not shape.blocks:
        # torchtitan's policy counts the seven products of a layer and keeps the odd ones' results (q, v, gate, down), and attention's
        kept = 2.0 * (2 * shape.width + shape.kv_width + shape.ffn * max(1, shape.top_k if shape.experts else 1))
        return tokens * (2.0 * shape.hidden / spread + 2.0 * shape.hidden + kept / t)
    if layout.recompute in ("ops", "layers"):
        whole, least = (layer_activations(shape, replace(layout, recompute=kind), seq) for kind in ("none", "full"))
        attended = 2.0 * tokens * shape.width / t if layout.recompute == "ops" else 0.0
        return (whole + least) / 2.0 + attended
    if shape.blocks:
        return tokens * (8.0 * shape.hidden / spread + 2.0 * shape.blocks.made / t)
    if shape.gated:
        inside = 2.0 * (2 * shape.width + 2 * shape.kv_width) + 6.0 * shape.ffn * max(1, shape.top_k if shape.experts else 1)
        return tokens * (8.0 * shape.hidden / spread + inside / t)
    scores = 5.0 * shape.heads * seq if not shape.fused_attention and layout.recompute == "none" else 0.0
    return tokens * (10.0 * shape.hidden / spread + 24.0 * shape.hidden / t + scores / t)


def activations(shape: Shape, layout: Layout, seq: Number, micro_batches: int | None = None) -> Number:
    """Bytes on the stage that keeps most: L/p layers of p microbatches, a little more with chunks, never more than there are."""
    stages = (0, 1, layout.pipeline - 1) if layout.pipeline > 1 else (0,)
    return max(kept_layers(shape, layout, stage, micro_batches) for stage in stages) * layer_activations(shape, layout, seq)


def kept_layers(shape: Shape, layout: Layout, stage: int, micro_batches: int | None = None) -> Number:
    """Layers of microbatches that wait at a stage for their way back, at most: every piece of it, as often as it ran ahead.

    Where layers do not divide, the first piece of all and the last one have one fewer.
    """
    p, v, layers = layout.pipeline, layout.virtual, stage_layers(shape, layout)
    ahead = p - stage if v == 1 else 2 * (p - stage - 1) + (v - 1) * p + 1  # pieces that have run and wait
    if micro_batches is not None:
        ahead = min(ahead, micro_batches * v)
    whole = max(layers) / v
    missing = whole * v - layers[stage]
    if not missing:
        return ahead * whole
    if stage == 0 or v == 1:
        return ahead * whole - missing * _of_piece(ahead, 0, p, v)
    again = micro_batches is None or micro_batches > p  # then the last piece is empty-handed once while the others wait
    return ahead * whole - missing * (0 if again else _of_piece(ahead, v - 1, p, v))


def _of_piece(ahead: int, piece: int, stages: int, pieces: int) -> int:
    """How many of the first `ahead` pieces to run are this one: as many microbatches in a row as there are stages go through each."""
    rounds, rest = divmod(ahead, stages * pieces)
    return rounds * stages + min(stages, max(0, rest - piece * stages))


def memory(shape: Shape, layout: Layout, seq: Number, micro_batches: int | None = None) -> Parts:
    """The fullest device: one of the first two stages, or the last where its head weighs more than what waits at the others."""
    return max(stages(shape, layout, seq, micro_batches).values(), key=lambda parts: parts.total)


def stages(shape: Shape, layout: Layout, seq: Number, micro_batches: int | None = None) -> dict[int, Parts]:
    """The stages that may be the fullest."""
    layer, last = layer_activations(shape, layout, seq), layout.pipeline - 1
    kept = {stage: kept_layers(shape, layout, stage, micro_batches) * layer for stage in sorted({0, min(1, last), last})}
    kept[last] += _logits(shape, layout, seq)
    return {stage: _parts(shape, layout, stage, size) for stage, size in kept.items()}


def _parts(shape: Shape, layout: Layout, stage: int, kept: Number) -> Parts:
    parameters = stage_parameters(shape, layout, stage)
    held = static_bytes(parameters, layout, expert_parameters(shape, layout, stage))
    under_way = layout.gradient_bytes * parameters / layout.virtual if layout.zero >= 2 and layout.virtual > 1 else 0.0  # of one piece
    return Parts(held.weights, held.gradients + under_way, held.optimiser, kept)


def _logits(shape: Shape, layout: Layout, seq: Number) -> Number:
    """The loss takes the logits in FP32."""
    return 4.0 * seq / layout.context * layout.micro * shape.vocab / layout.tensor
