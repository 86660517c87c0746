"""What autograd keeps, against Korthikanti et al. and hand counts; byte for byte against PyTorch in tests/torch."""

import pytest

from ironlaw.backends import require
from ironlaw.engine.device.types import Graph, Tensor
from ironlaw.engine.device.work import KINDS, op
from ironlaw.engine.training.autograd import kept, trains
from ironlaw.engine.training.loss import chunked, head, with_loss
from ironlaw.engine.training.rewrites import autocast, three_kernels
from ironlaw.engine.training.training_layers import layer_of, layers, segments
from ironlaw.errors import BadValue
from ironlaw.registry.workloads import workload

from .published_layer import layer, published_bytes

CPU = require("cpu").saving


@pytest.mark.parametrize(("s", "h", "heads", "b"), [(64, 128, 4, 1), (256, 128, 8, 3)])
def test_34_sbh_with_fused_attention(s, h, heads, b):
    assert published_bytes(layer(s, h, heads, b=b)) == 34 * s * b * h


@pytest.mark.parametrize(("s", "h", "heads", "b"), [(64, 128, 4, 1), (256, 128, 8, 3)])
def test_34_and_5_as_over_h_with_stored_scores(s, h, heads, b):
    assert published_bytes(layer(s, h, heads, b=b, stored=True)) == (34 + 5 * heads * s / h) * s * b * h


@pytest.mark.parametrize(("h", "heads", "published"), [(12288, 96, 0.70), (20480, 128, 0.65)])
def test_what_recomputing_attention_frees_as_published(h, heads, published):
    """GPT-3 and MT-NLG 530B at 2,048 tokens: 70% and 65% (Korthikanti et al., section 4.2)."""
    whole, fused = (published_bytes(layer(2048, h, heads, stored=stored)) for stored in (True, False))
    assert 1 - fused / whole == pytest.approx(published, abs=0.004)


def test_without_dropout_the_masks_go():
    s, h = 64, 128
    assert published_bytes(layer(s, h, 4)) - published_bytes(layer(s, h, 4, dropout=False)) == 2 * s * h


def test_what_a_gpt_layer_keeps_by_tensor():
    tensors = {t.name: t.bytes for t in kept(layer(64, 128, 4)).tensors}
    sbh = 64 * 128
    assert tensors["norm1"] == 2 * sbh  # what three products read, once
    assert tensors["up"] == tensors["gelu"] == 8 * sbh  # GELU keeps its input, the product after it its output
    assert tensors["drop1.mask"] == sbh
    assert "add1" in tensors  # the second norm's input
    assert not {"drop1", "projection", "down", "add2"} & set(tensors)
    assert tensors["norm1 statistics"] == 2 * 4 * 64
    assert tensors["context statistics"] == 4 * 4 * 64


def test_on_a_processor_masks_and_statistics_have_the_tensors_format():
    tensors = {t.name: t.bytes for t in kept(layer(64, 128, 4), CPU).tensors}
    assert tensors["drop1.mask"] == 2 * 64 * 128
    assert tensors["norm1 statistics"] == 2 * 2 * 64


def test_a_fixed_factor_is_kept_and_what_it_multiplies_is_not():
    x = Tensor("x", (4, 8), "fp32", "input")
    made = Tensor("made", (4, 8), "fp32")
    ops = (
        op("linear", "made", (x, Tensor("w", (8, 8), "fp32", "weight")), (made,)),
        op("mul", "turned", (made, Tensor("cosines", (4, 8), "fp32", "input")), (Tensor("turned", (4, 8), "fp32"),)),
    )
    assert {t.name for t in kept(Graph("g", ops, "fp32")).tensors} == {"x", "cosines"}


def test_nothing_is_kept_where_nothing_trains():
    x = Tensor("x", (4, 8), "fp32", "input")
    graph = Graph("g", (op("gelu", "y", (x,), (Tensor("y", (4, 8), "fp32"),)),), "fp32")
    assert kept(graph).bytes == 0
    assert trains(graph) == set()


def test_an_unknown_op_keeps_what_it_reads():
    x = Tensor("x", (4, 8), "fp32", "input")
    y = Tensor("y", (4, 8), "fp32")
    ops = (op("linear", "y", (x, Tensor("w", (8, 8), "fp32", "weight")), (y,)), op("unknown", "z", (y,), (Tensor("z", (4, 8), "fp32"),)))
    assert {t.name for t in kept(Graph("g", ops, "fp32")).tensors} == {"x", "y"}


def test_traits_name_what_exists():
    """A kind may only be like one whose launch is measured, and keep outputs or inputs that some op of its kind has."""
    for name, kind in KINDS.items():
        assert not kind.like or (kind.like in KINDS and not KINDS[kind.like].like), name
        assert kind.unit in ("", "row", "plane", "result") and kind.family in ("", "norm"), name
        assert not (kind.narrows and kind.widens), name
        assert all(what in (0, 1, 2, "out", "second") and purpose in (0, 1, 2) for what, purpose in kind.keeps or ()), name


def test_layers_of_gpt2_keep_the_same():
    layers_ = kept(with_loss(workload("gpt2", batch=2, seq=64, dtype="fp32"))).by_layer
    sizes = [size for name, size in layers_.items() if name.startswith("h.")]
    assert len(sizes) == 12
    assert len(set(sizes)) == 1


def test_head_keeps_the_log_probabilities():
    graph = workload("gpt2", batch=8, seq=1024, dtype="fp32")
    whole = kept(with_loss(graph))
    assert next(t.bytes for t in whole.tensors if t.name == "loss.log_softmax") == 8 * 1024 * 50257 * 4 == 1_646_821_376
    assert head(graph).name == "lm_head"
    assert with_loss(with_loss(graph)).ops == with_loss(graph).ops


def test_a_model_without_logits_is_summed():
    graph = workload("bert_base", batch=2, seq=16, dtype="fp32")
    whole = with_loss(graph)
    assert head(graph) is None
    assert [one.kind for one in whole.ops[len(graph.ops) :]] == ["sum", "sum", "add"]
    assert kept(whole).bytes == kept(graph).bytes
    with pytest.raises(BadValue, match="no logits"):
        chunked(whole, 2)
    half = with_loss(workload("bert_base", batch=2, seq=16, dtype="bf16"))
    assert [one.kind for one in half.ops[len(graph.ops) :]] == ["cast", "sum", "cast", "sum", "add"], "a loss is taken in FP32"


@pytest.mark.parametrize("chunks", [0, -1, 1.5])
def test_chunks_are_whole_and_positive(chunks):
    with pytest.raises(BadValue, match="at least 1"):
        chunked(with_loss(workload("gpt2", dtype="fp32")), chunks)


def test_chunks_divide_logits_and_nothing_else():
    whole = with_loss(workload("gpt2", batch=2, seq=64, dtype="bf16"))
    parts = chunked(whole, 8)
    assert parts.tensors["loss.log_softmax"].bytes == whole.tensors["loss.log_softmax"].bytes / 8
    assert parts.tensors["lm_head"].bytes == whole.tensors["lm_head"].bytes / 8
    assert parts.tensors["h.0.ln_1"] == whole.tensors["h.0.ln_1"]
    assert parts.params == whole.params


def test_a_training_step_is_refused():
    graph = Graph("step", workload("mlp8_1024").ops, "fp16", {"training": True})
    with pytest.raises(BadValue, match="forward pass alone"):
        with_loss(graph)


def test_three_kernels_keep_the_shares():
    graph = workload("gpt2", batch=1, seq=128, dtype="bf16")
    apart = three_kernels(graph)
    fused, stored = (kept(with_loss(g)) for g in (graph, apart))
    shares = 12 * (12 * 128 * 128 * 2)  # layers × heads × s × s × two bytes
    rows = sum(t.bytes for t in fused.tensors if t.name.endswith("sdpa statistics"))
    assert stored.bytes - fused.bytes == shares - rows
    assert apart.flops == graph.flops


def test_autocast_casts_what_products_read():
    graph = autocast(workload("gpt2", batch=1, seq=64, dtype="fp32"))
    by_name = {one.name: one for one in graph.ops}
    product = by_name["h.0.attn.c_attn"]
    assert {t.dtype for t in product.inputs} == {"bf16"}
    assert product.outputs[0].dtype == "bf16"
    assert by_name["h.0.ln_1"].outputs[0].dtype == "fp32"
    assert by_name["h.0.mlp.add"].outputs[0].dtype == "fp32"  # a wide residual stream
    assert by_name["h.0.mlp.act.half"].outputs[0].dtype == "bf16"
    casts = [one for one in graph.ops if one.kind == "cast" and one.inputs[0].name == "h.0.attn.c_attn.weight"]
    assert len(casts) == 1
    assert graph.params == workload("gpt2").params


def test_autocast_casts_a_shared_input_for_each_reader():
    graph = autocast(workload("bert_base", batch=1, seq=16, dtype="fp32"))
    reads = [one for one in graph.ops if one.kind == "cast" and one.inputs[0].name == "embeddings.norm"]
    assert len(reads) == 3  # q, k, v


def test_names_of_layers():
    assert [layer_of(name) for name in ("h.3.mlp.c_fc", "layer1.0.conv2", "lm_head", "layers.11.attn.q_proj")] == [
        "h.3", "layer1.0", "", "layers.11",
    ]  # fmt: skip
    assert layers(workload("gpt2")) == tuple(f"h.{i}" for i in range(12))


def test_segments_are_whole_layers_and_as_equal_as_can_be():
    graph = workload("gpt2")
    sizes = [len({layer_of(graph.ops[i].name) for i in run}) for run in segments(graph, 5)]
    assert sizes == [3, 3, 2, 2, 2]
    assert len(segments(graph, 12)) == 12
    assert segments(graph, 0) == ()


@pytest.mark.parametrize("count", [-1, 13, 2.5])
def test_segments_refuse(count):
    with pytest.raises(BadValue, match="12 layers"):
        segments(workload("gpt2"), count)
