"""A decoder's sizes, and what follows from them alone: parameters and FLOPs.

FLOPs per token of training are 6·N + 12·L·a·s, N being the parameters that multiply (layers and head) and a the width of attention; a pass
forward is a third of it. Model FLOPs (MFU) count no recomputation, hardware FLOPs (HFU) do.
"""

from __future__ import annotations

from dataclasses import dataclass

from ironlaw.engine.arrays import Number
from ironlaw.engine.decoders.mixes import Mix
from ironlaw.errors import BadValue, unknown

RECOMPUTE = ("none", "selective", "ops", "layers", "full")  # ops: every second product; layers: every second layer


@dataclass(frozen=True, slots=True)
class Shape:
    """`gated`: a feed-forward of three matrices (SwiGLU) and RMS norms, without biases; else two, layer norms and biases."""

    name: str
    layers: int
    hidden: int
    heads: int
    kv_heads: int
    head_dim: int
    ffn: int
    vocab: int
    gated: bool = False
    tied: bool = False
    positions: int = 0  # learned position embeddings
    experts: int = 0  # feed-forwards per layer, of which each token takes `top_k`; 0: one, dense
    top_k: int = 1
    qkv_bias: bool = False  # a gated model whose queries, keys and values have biases
    fused_attention: bool = True  # one kernel that keeps no scores; False: three, with the scores in memory
    blocks: Mix | None = None  # of any other architecture; a layer is then their mean, and the sizes above describe the first
    dropout: bool = True  # of a model that is not gated, after each half of a layer and on its scores
    outside: int = 0  # parameters beside the blocks, the embedding and the head's matrix
    qk_norm: bool = False  # a gated model whose queries and keys are normalised head by head

    def __post_init__(self) -> None:
        if self.heads % self.kv_heads:
            raise BadValue(f"{self.name}: {self.heads} heads can't share {self.kv_heads} key-value heads; give a divisor of {self.heads}")

    @property
    def width(self) -> int:
        """The width of attention: heads × head size."""
        return self.heads * self.head_dim

    @property
    def kv_width(self) -> int:
        return self.kv_heads * self.head_dim

    @property
    def attention_weights(self) -> int:
        return self.hidden * (2 * self.width + 2 * self.kv_width)

    @property
    def expert_weights(self) -> Number:
        """The number of weights in one expert's feed-forward."""
        if self.blocks:
            return self.blocks.expert_weights / max(1, self.experts)
        return (3 if self.gated else 2) * self.hidden * self.ffn

    @property
    def shared_layer_parameters(self) -> Number:
        """A layer's parameters without the matrices of its feed-forwards."""
        if self.blocks:
            return self.blocks.parameters - self.blocks.expert_weights
        router = self.hidden * self.experts
        if self.gated:
            gains = 2 * self.hidden + self.qk_norm * 2 * self.head_dim
            return self.attention_weights + router + gains + self.qkv_bias * (self.width + 2 * self.kv_width)
        biases = self.width + 2 * self.kv_width + 2 * self.hidden + self.ffn
        return self.attention_weights + router + 4 * self.hidden + biases

    @property
    def layer_parameters(self) -> Number:
        return self.shared_layer_parameters + max(1, self.experts) * self.expert_weights

    @property
    def embedding_parameters(self) -> int:
        return (self.vocab + self.positions) * self.hidden

    @property
    def head_parameters(self) -> int:
        """The parameters of the head and the norm before it; the matrix is the embedding's where they are tied."""
        if self.blocks:
            return self.outside + (0 if self.tied else self.vocab * self.hidden)
        return (0 if self.tied else self.vocab * self.hidden) + (1 if self.gated else 2) * self.hidden

    @property
    def parameters(self) -> int:
        return round(float(self.layers * self.layer_parameters)) + self.embedding_parameters + self.head_parameters

    @property
    def layer_products(self) -> Number:
        """Parameters of a layer that a token is multiplied with."""
        if self.blocks:
            return self.blocks.active
        return self.attention_weights + max(1, self.top_k if self.experts else 1) * self.expert_weights + self.hidden * self.experts

    def score_width(self, seq: Number) -> Number:
        """Width of attention × tokens seen, of a token in the mean layer."""
        return self.blocks.score_width(seq) if self.blocks else self.width * seq


def token_flops(shape: Shape, seq: Number, recompute: str = "none", causal: bool = False) -> Number:
    """The FLOPs of one token of a training step. Scores are counted in full, as usual; `causal` counts half, as a causal kernel does."""
    if recompute not in RECOMPUTE:
        raise unknown("recomputation", recompute, RECOMPUTE, field="recompute")
    scores = (2.0 if causal else 4.0) * shape.score_width(seq)
    layer = 2.0 * shape.layer_products + scores
    again = {
        "none": 0.0, "selective": 0.0 if shape.fused_attention else scores, "ops": shape.layer_products, "layers": layer / 2, "full": layer,
    }[recompute]  # fmt: skip
    return shape.layers * (3.0 * layer + again) + 6.0 * shape.vocab * shape.hidden


def mfu(shape: Shape, tokens: Number, seq: Number, seconds: Number, devices: Number, peak: Number) -> Number:
    """Model FLOPs over what the devices could do in the time."""
    return tokens * token_flops(shape, seq) / (seconds * devices * peak)


def hfu(shape: Shape, tokens: Number, seq: Number, seconds: Number, devices: Number, peak: Number, recompute: str) -> Number:
    """Hardware FLOP utilisation: MFU plus what is computed twice."""
    return tokens * token_flops(shape, seq, recompute) / (seconds * devices * peak)
