"""A decoder as it is served, against counts by hand and against the whole graph."""

import pytest

from ironlaw import workload
from ironlaw.claims import chain
from ironlaw.engine.device.compiler_rules import POINTWISE, TREE
from ironlaw.engine.device.deployment import largest_near, regroup, serving, stack
from ironlaw.engine.device.fusion import fuse
from ironlaw.engine.device.memory import largest_that_fits
from ironlaw.engine.device.types import Graph, Tensor
from ironlaw.engine.device.work import category, op
from ironlaw.errors import BadValue, IronlawError
from ironlaw.registry.families import FAMILIES
from ironlaw.registry.workloads import about


def shallow(layers=3, model="llama3_8b", **settings):
    data = about(model)
    return FAMILIES[data["family"]](**{**data["params"], "layers": layers, **settings})


DECODE = {"phase": "decode", "batch": 8, "context": 512}
PREFILL = {"phase": "prefill", "batch": 2, "seq": 256}


def named(graph, name):
    return next(op for op in graph.ops if op.name == name)


def test_matrices_are_stored_narrower_and_gains_are_not():
    """Llama 3 8B: 8,030,261,248 parameters, of which 65 gains of 4,096 stay in two bytes, as the 64 rotary frequencies do."""
    graph = serving(workload("llama3_8b"), weights="int8")
    gains = 65 * 4096
    assert graph.weight_bytes == (8_030_261_248 - gains) + 2 * gains + 2 * 64
    assert serving(workload("llama3_8b"), weights="int4").weight_bytes == (8_030_261_248 - gains) / 2 + 2 * gains + 2 * 64
    q = named(serving(shallow(**DECODE), weights="int8"), "layers.1.attn.q_proj")
    assert q.dtype == "fp16" and q.work.bytes == 4096 * 4096 + 2 * (2 * 8 * 4096)


def test_a_new_token_is_written_behind_the_old_ones():
    """A framework copies the whole cache: 8 heads × 512 × 128 in and 513 out, for each of 8 sequences."""
    framework = named(shallow(**DECODE), "layers.1.attn.append_k")
    served = named(serving(shallow(**DECODE)), "layers.1.attn.append_k")
    assert framework.work.bytes == 2 * 8 * 8 * 128 * (512 + 1 + 513)
    assert served.work.bytes == 2 * (2 * 8 * 8 * 128) and served.kind == "copy"
    attention = named(serving(shallow(**DECODE), cache="fp8"), "layers.1.attn.sdpa")
    q_and_out, keys_and_values = 2 * (2 * 8 * 32 * 128), 2 * (8 * 8 * 513 * 128)  # two bytes each, one byte each
    assert attention.work.bytes == q_and_out + keys_and_values
    assert serving(shallow(**DECODE), cache="fp8").cache_bytes == 3 * keys_and_values


def test_attention_taken_apart_has_the_same_arithmetic_and_its_scores_in_memory():
    """2 sequences, 32 heads, 256 × 256 scores of two bytes: written, read, written, read."""
    whole, apart = serving(shallow(**PREFILL)), serving(shallow(**PREFILL), tiled=False)
    assert apart.work.flops == whole.work.flops and apart.flops == whole.flops
    scores = 2 * 2 * 32 * 256 * 256
    assert apart.bytes - whole.bytes == pytest.approx(3 * 4 * scores)
    softmax = named(apart, "layers.1.attn.sdpa.softmax")
    assert softmax.work.intensity == pytest.approx(5 / 4) and softmax.work.bytes == 2 * scores


def test_tensors_of_a_served_layer_in_fp32():
    """One sequence, 2 heads of 4: 5 tokens in the cache and a new one; arithmetic and scores stay in FP32."""
    q, new = Tensor("q", (1, 2, 1, 4), "fp32"), Tensor("new", (1, 2, 1, 4), "fp32")
    old, k = Tensor("old", (1, 2, 5, 4), "fp32", "cache"), Tensor("k", (1, 2, 6, 4), "fp32")
    mask, y, z = Tensor("mask", (1, 1, 1, 6), "fp32"), Tensor("y", (1, 2, 1, 4), "fp32"), Tensor("z", (1, 2, 5, 4), "fp32")
    append = op("cat", "k", [old, new], [k], over="seq")
    ops = (append, op("attention", "sdpa", [q, k, k, mask], [y], causal=True), op("relu", "look", [old], [z]))
    graph = Graph("layer", ops, "fp32", {"batch": 1}, ("y", "z"))
    served = serving(graph, cache="fp8", tiled=False)
    assert (served.name, served.dtype, served.settings, served.outputs) == ("layer", "fp32", {"batch": 1}, ("y", "z"))
    copied, scores, soft, last, look = served.ops
    assert (copied.kind, copied.outputs, copied.dtype) == ("copy", (Tensor("k.new", (1, 2, 1, 4), "fp8"),), "fp32")
    assert scores.inputs[1] == Tensor("k", (1, 2, 4, 6), "fp8", "cache")
    assert [o.outputs[0] for o in (scores, soft)] == [Tensor(f"sdpa.{n}", (1, 2, 1, 6), "fp32") for n in ("scores", "softmax")]
    assert [o.attrs for o in (copied, scores, soft, last)] == [{"dtype": "fp32"}] * 4
    assert (look.inputs, look.attrs, look.dtype) == ((Tensor("old", (1, 2, 5, 4), "fp8", "cache"),), {"dtype": "fp32"}, "fp32")
    whole = serving(graph, cache="fp8").ops[1]
    assert whole.attrs == {"causal": True, "dtype": "fp32"}
    viewed = Graph("layer", (append, op("relu", "r", [Tensor("k", (2, 6, 4), "fp32")], [Tensor("v", (2, 6, 4), "fp32")])), "fp32")
    assert serving(viewed, cache="fp8").ops[1].inputs == (Tensor("k", (2, 6, 4), "fp8", "cache"),)


def test_ops_are_joined_as_they_were_before():
    graph = shallow(**PREFILL)
    plan = fuse(graph, POINTWISE)
    again = regroup(shallow(**PREFILL), [tuple(o.name for o in group.ops) for group in plan.groups])
    assert again.ops == plan.graph.ops and len(again.ops) < len(graph.ops)
    assert again.outputs == plan.graph.outputs


def test_nothing_asked_changes_nothing_but_the_cache():
    graph = shallow(**PREFILL)
    assert serving(graph).ops == graph.ops


@pytest.mark.parametrize("settings", [DECODE, PREFILL])
@pytest.mark.parametrize("tiled", [True, False])
@pytest.mark.parametrize("rules", [None, POINTWISE, TREE])
def test_a_stack_of_three_is_the_whole_model(settings, tiled, rules):
    """Bytes, operations and kernels of all 16 layers of Llama 3.2 1B, from a graph of three."""
    deep = serving(workload("llama3_2_1b", **settings), "int8", "fp8", tiled)
    three = serving(shallow(model="llama3_2_1b", **settings), "int8", "fp8", tiled)
    if rules:
        deep, three = fuse(deep, rules).graph, fuse(three, rules).graph
    found = stack(three, 16)
    for quantity in ("bytes", "flops", "launches"):
        assert found.sum((op, getattr(op.work, quantity)) for op in found.ops) == pytest.approx(getattr(deep.work, quantity))
    assert sorted(op.name for op in found.ops) == sorted(op.name for op in three.ops)


def test_stacks_that_can_t_be_made():
    with pytest.raises(BadValue, match="stack of 2"):
        stack(shallow(**PREFILL), 2)
    assert stack(shallow(**PREFILL), 3).layers == 3
    with pytest.raises(BadValue, match=r"no ops named layers\.1"):
        stack(workload("resnet18"), 8)
    with pytest.raises(IronlawError, match="fp7"):
        serving(shallow(**PREFILL), weights="fp7")


def test_pointwise_joins_neighbours_of_one_shape_only():
    """mul → add → softmax → relu: the first two; the row reduction and what follows it stay apart."""
    plan = fuse(chain("mul", "add", "softmax", "relu"), POINTWISE)
    assert [len(group.ops) for group in plan.groups] == [2, 1, 1]
    assert [len(group.ops) for group in fuse(chain("mul", "add", "softmax", "relu")).groups] == [4]
    refused = [verdict for verdict in plan.verdicts if not verdict.fused]
    assert len(refused) == 2 and all("same elements" in verdict.reason and verdict.pattern == "none" for verdict in refused)
    layer = fuse(serving(shallow(**PREFILL)), POINTWISE).graph
    for one in layer.ops:
        kinds = {category(part.kind) for part in one.attrs.get("parts", ())}
        assert not kinds or kinds == {"elementwise"}


@pytest.mark.parametrize(
    "total", [lambda n: 3.0 * n, lambda n: 2.0 * n + 7, lambda n: 0.1 * n * n + n, lambda n: 50.0 + (n > 40) * 1e6 + n]
)
@pytest.mark.parametrize("guess", [1, 8, 500])
def test_the_largest_is_the_same_as_by_bisection(total, guess):
    for capacity in (1.0, 60.0, 999.0, 12345.0):
        assert largest_near(total, capacity, guess, 4096) == largest_that_fits(total, capacity, 4096)


def test_few_questions_are_enough():
    asked = []
    assert largest_near(lambda n: asked.append(n) or 131072.0 * n + 2e6, 64e9, 8, 1 << 20) == int((64e9 - 2e6) // 131072)
    assert len(asked) <= 6
    assert largest_near(lambda n: 1.0, -1.0, 8, 100) == 0
    assert largest_near(float, 0.0, 8, 100) == 0
    assert largest_near(lambda n: n / 8, 1.0, 8, 100) == 8
    first = []
    largest_near(lambda n: first.append(n) or float(n), 50.0, 0, 100)
    assert first[0] == 1 and len(first) <= 4  # from one straight to fifty
