"""One device's part of a block that is described by a config.json, in training: against the layers that are written out, and by hand."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest

from ironlaw.engine.cluster.layouts import Layout
from ironlaw.engine.cluster.shapes import Shape
from ironlaw.engine.device.types import Graph
from ironlaw.registry.decoder_shapes import decoder
from ironlaw.systems.training import block_shards, shards

SIZES = {
    "vocab_size": 32000, "hidden_size": 1024, "num_hidden_layers": 4, "num_attention_heads": 16, "num_key_value_heads": 4,
    "intermediate_size": 3584, "head_dim": 64,
}  # fmt: skip
SEQ, MICRO = 2048, 2
PRODUCTS, SCORES = ("linear", "matmul", "grouped_matmul"), ("attention", "attention_backward")


@pytest.fixture
def given(tmp_path) -> Callable[..., Shape]:
    def read(**config: object) -> Shape:
        (tmp_path / "config.json").write_text(json.dumps({**SIZES, **config}))
        return decoder(str(tmp_path))

    return read


def flops(graph: Graph | None, *kinds: str) -> float:
    assert graph is not None
    return sum(float(one.work.matmul_flops) for one in graph.ops if one.kind in kinds)


@pytest.mark.parametrize("tensor", [1, 2, 4])
def test_a_block_does_the_work_of_the_layer_that_is_written_out(given: Callable[..., Shape], tensor: int) -> None:
    """A Mistral whose window is longer than the sequence is a Llama: one is read as blocks, the other is the layer of `shards`."""
    llama, mistral = given(model_type="llama"), given(model_type="mistral", sliding_window=2 * SEQ)
    assert llama.blocks is None and mistral.blocks is not None
    ((block, count),) = mistral.blocks.kinds
    assert count == 4
    at = Layout(tensor=tensor, micro=MICRO)
    for ours, theirs in ((block_shards.forward, shards.forward), (block_shards.backward, shards.backward)):
        here, there = ours(mistral, block, at, SEQ), theirs(llama, at, SEQ)
        assert flops(here, *PRODUCTS) == flops(there, *PRODUCTS) and flops(here, *SCORES) > 0


@pytest.mark.parametrize("expert", [1, 4])
def test_experts_by_hand(given: Callable[..., Shape], expert: int) -> None:
    """Every token meets its own experts, wherever they are: attention, a router of eight, two experts of three matrices each."""
    qwen = given(model_type="qwen3_moe", num_experts=8, num_experts_per_tok=2, moe_intermediate_size=512)
    assert qwen.blocks is not None
    ((block, _),) = qwen.blocks.kinds
    rows, h, ffn = MICRO * SEQ, 1024, 512
    weights = h * (h + 2 * 4 * 64) + h * h + h * 8 + 2 * 3 * h * ffn
    at = Layout(expert=expert, data=4, micro=MICRO)
    ahead, back = (graph(qwen, block, at, SEQ) for graph in (block_shards.forward, block_shards.backward))
    assert flops(ahead, *PRODUCTS) == 2 * rows * weights
    assert flops(back, *PRODUCTS) == 2 * flops(ahead, *PRODUCTS)  # of each product's input, and of its weight
