"""What stands beside the large tensors, what belongs to which layer, and what a setting changes: all by hand."""

import pytest

from ironlaw.backends import require
from ironlaw.engine.device.types import Graph, Tensor
from ironlaw.engine.device.work import op
from ironlaw.engine.training.autograd import kept, statistics
from ironlaw.engine.training.growth import Growth
from ironlaw.engine.training.loss import chunked, head, top_of, with_loss
from ironlaw.engine.training.recipes import Static
from ironlaw.engine.training.training_layers import segments
from ironlaw.engine.training.training_ledger import ONE_LOSS, Ledger, Moment, Run, static_bytes, training_ledger
from ironlaw.engine.training.training_step import Load
from ironlaw.errors import BadValue


def one(kind, *shape, out=None, dtype="fp32", **attrs):
    return op(kind, kind, (Tensor("x", shape, dtype),), (Tensor("y", out or shape, dtype),), **attrs)


@pytest.mark.parametrize(
    ("made", "device", "size"),
    [
        (one("max_pool2d", 2, 3, 8, 8, out=(2, 3, 4, 4), kernel=(2, 2)), "cuda", 8 * 2 * 3 * 4 * 4),  # an index of 8 bytes an output
        (one("batch_norm_train", 2, 3, 5, 4), "cuda", 2 * 3 * 4),  # mean and scale of each channel
        (one("batch_norm", 2, 3, 5, 4, dtype="bf16"), "cpu", 2 * 3 * 2),
        (one("group_norm", 2, 6, 5, 5, groups=3), "cuda", 2 * (2 * 3) * 4),
        (one("layer_norm", 2, 3, 8), "cuda", 2 * (2 * 3) * 4),
        (one("layer_norm", 2, 3, 8, row=24), "cuda", 2 * 2 * 4),  # over the last two axes
        (one("rms_norm", 2, 3, 8, dtype="bf16"), "cuda", 2 * 3 * 4),  # no mean
        (one("rms_norm", 2, 3, 8, dtype="bf16"), "cpu", 2 * 3 * 2),
    ],
)
def test_a_norms_numbers_and_a_pools_indices(made, device, size):
    assert statistics(made, require(device).saving) == size


@pytest.mark.parametrize(
    ("dtype", "device", "rows"), [("fp32", "cuda", 64), ("bf16", "cuda", 33), ("fp32", "cpu", 33)]
)  # 33 rows: the kernel for FP32 pads them to 64
def test_attentions_sums_row_by_row(dtype, device, rows):
    q, k, v = (Tensor(name, (2, 3, 33, 8), dtype) for name in "qkv")
    assert statistics(op("attention", "a", (q, k, v), (Tensor("a", q.shape, dtype),)), require(device).saving) == 4 * 2 * 3 * rows


def test_attention_keeps_all_of_it_whichever_part_is_trained():
    q, k, x = (Tensor(name, (1, 2, 4, 8), "bf16", "input") for name in "qkx")
    v = Tensor("v", x.shape, "bf16")
    ops = (
        op("mul", "v", (x, Tensor("gain", (8,), "bf16", "weight")), (v,)),
        op("attention", "a", (q, k, v), (Tensor("a", q.shape, "bf16"),)),
    )
    assert {t.name for t in kept(Graph("g", ops, "bf16")).tensors} == {"x", "q", "k", "v", "a", "a statistics"}


def test_a_buffer_is_there_anyway():
    x = Tensor("x", (4, 8), "fp32", "input")
    y = Tensor("y", (4, 8), "fp32")
    ops = (
        op("linear", "y", (x, Tensor("w", (8, 8), "fp32", "weight")), (y,)),
        op("mul", "z", (y, Tensor("scale", (8,), "fp32", "buffer")), (Tensor("z", (4, 8), "fp32"),)),
    )
    graph = Graph("g", ops, "fp32")
    assert {t.name for t in kept(graph).tensors} == {"x"}
    plain = training_ledger(graph, optimiser="sgd")
    assert plain.static.weights == 64 * 4 + 8 * 4 and plain.model == "g"
    assert training_ledger(graph, zero_stage=3, devices=4).static.weights == 64 * 4 / 4 + 8 * 4  # every device has its buffers


def test_the_gain_of_a_norm_needs_what_comes_in():
    x, gain = Tensor("x", (4, 8), "fp32", "input"), Tensor("gain", (8,), "fp32", "weight")
    graph = Graph("g", (op("layer_norm", "y", (x, gain), (Tensor("y", (4, 8), "fp32"),)),), "fp32")
    assert {t.name for t in kept(graph).tensors} == {"x", "y statistics"}


def trained(name, *shape):
    """A product that makes a trained tensor."""
    x, w = Tensor(f"{name}.x", shape, "fp32", "input"), Tensor(f"{name}.w", (shape[-1],) * 2, "fp32", "weight")
    return op("linear", name, (x, w), (Tensor(name, shape, "fp32"),))


@pytest.mark.parametrize(
    ("kind", "inputs", "names"),
    [
        ("power", ("h",), {"h"}), ("power", ("h", "fixed"), {"h", "fixed"}), ("power", ("fixed", "h"), {"h", "fixed", "y"}),
        ("div", ("h", "fixed"), {"fixed"}), ("div", ("fixed", "h"), {"h", "fixed"}), ("mul", ("h", "fixed"), {"fixed"}),
        ("mul", ("fixed", "h"), {"fixed"}), ("amax", ("h",), {"h", "y"}), ("topk", ("h",), {"second"}), ("dropout", ("h",), {"second"}),
        ("select", ("fixed", "h", "h"), {"fixed"}), ("tanh", ("h",), {"y"}), ("abs", ("h",), {"h"}), ("relu6", ("h",), {"h"}),
        ("relu", ("h",), {"y"}), ("add", ("h", "h"), set()),
        ("gather", ("h", "fixed"), {"fixed"}), ("sigmoid", ("h",), {"y"}), ("cos", ("h",), {"h"}),
    ],
)  # fmt: skip
def test_what_one_op_keeps(kind, inputs, names):
    """By PyTorch's formulas: d(a/b) = da/b − a·db/b², d(aᵇ) = b·aᵇ⁻¹·da + aᵇ·ln a·db, …"""
    made = op(
        kind, "y", tuple(Tensor(name, (4, 8), "fp32") for name in inputs), (Tensor("y", (4, 8), "fp32"), Tensor("second", (4, 8), "int64"))
    )
    graph = Graph("g", (trained("h", 4, 8), op("fill", "fixed", (), (Tensor("fixed", (4, 8), "fp32"),)), made), "fp32")
    assert {t.name for t in kept(graph).tensors} == {"h.x"} | names


def two_layers(dtype="fp32"):
    x, ops = Tensor("x", (2, 4), dtype, "input"), []
    for i in range(2):
        ops.append(op("linear", f"h.{i}.up", (x, Tensor(f"h.{i}.w", (4, 4), dtype, "weight")), (Tensor(f"h.{i}.up", (2, 4), dtype),)))
        ops.append(op("gelu", f"h.{i}.act", ops[-1].outputs, (Tensor(f"h.{i}.act", (2, 4), dtype),)))
        x = ops[-1].outputs[0]
    top = op("linear", "top", (x, Tensor("top.w", (10, 4), dtype, "weight")), (Tensor("top", (2, 10), dtype),))
    return Graph("two", (*ops, top), dtype)


def test_a_tensor_belongs_to_the_layer_that_makes_it():
    """The first layer: its input, which no op makes, what goes into its GELU and comes out; the second: the last two. 32 bytes each."""
    whole = kept(two_layers())
    assert whole.by_layer == {"h.0": 3 * 32, "h.1": 2 * 32} and whole.bytes == 5 * 32
    assert {t.name: t.layer for t in whole.tensors} == {
        "x": "h.0", "h.0.up": "h.0", "h.0.act": "h.0", "h.1.up": "h.1", "h.1.act": "h.1",
    }  # fmt: skip


def test_static_bytes_of_a_model():
    count = 2 * 16 + 40
    assert static_bytes(two_layers()) == 16 * count and static_bytes(two_layers("bf16"), "pure", "sgd") == 4 * count


@pytest.mark.parametrize(("dtype", "recipe"), [("tf32", "fp32"), ("fp16", "mixed"), ("bf16", "pure"), ("fp32", "autocast")])
def test_formats_that_a_recipe_takes(dtype, recipe):
    assert training_ledger(two_layers(dtype), recipe).static.total > 0


@pytest.mark.parametrize(("dtype", "recipe"), [("fp16", "fp32"), ("tf32", "mixed"), ("bf16", "autocast"), ("fp32", "pure")])
def test_formats_that_a_recipe_refuses(dtype, recipe):
    with pytest.raises(BadValue, match=f"is in {dtype}") as refused:
        training_ledger(two_layers(dtype), recipe)
    assert refused.value.field == "recipe"


@pytest.mark.parametrize(
    ("ask", "field"),
    [
        (lambda: training_ledger(two_layers(), accumulate=0), "accumulate"),
        (lambda: segments(two_layers(), 3), "checkpoint"),
        (lambda: chunked(with_loss(two_layers()), 0), "loss_chunks"),
        (lambda: chunked(with_loss(Graph("g", two_layers().ops[:-1], "fp32")), 2), "loss_chunks"),
    ],
)
def test_the_setting_that_is_refused_is_named(ask, field):
    with pytest.raises(BadValue) as refused:
        ask()
    assert refused.value.field == field


def test_under_autocast_activations_are_half_and_copies_of_weights_are_kept():
    """Five tensors of 8 numbers in FP32; or in BF16, and of both weights whose input has a gradient a copy (16 and 40 numbers)."""
    loss = 2 * 10 * 4 + 2 * 8 + 4  # log-probabilities, labels, the weight that the loss divides by
    assert training_ledger(two_layers()).kept == 5 * 32 + loss
    assert training_ledger(two_layers(), "autocast").kept == 5 * 16 + 32 + 80 + loss
    assert training_ledger(two_layers()).static == training_ledger(two_layers(), "autocast").static


def test_the_second_micro_batch_needs_the_gradients_of_the_first():
    assert training_ledger(two_layers(), accumulate=2).profile[0].bytes[3] == 4 * 72
    assert training_ledger(two_layers(), accumulate=1).profile[0].bytes[3] == 0


def test_each_device_updates_its_part():
    """AdamW's square roots of 72 parameters, 4 bytes each, beside the batch of 32 bytes."""
    for stage, devices, part in ((0, 1, 288), (0, 4, 288), (1, 4, 72), (3, 2, 144)):
        assert training_ledger(two_layers(), zero_stage=stage, devices=devices).profile[-1].bytes[-1] == 32 + ONE_LOSS + part
    away = training_ledger(two_layers(), offload=True)
    assert away.profile[-1].bytes[-1] == 32 + ONE_LOSS and (away.static.master, away.static.optimiser) == (0, 0)


def test_what_makes_no_logits_has_no_head():
    x = Tensor("x", (2, 4), "fp32", "input")
    ops = two_layers().ops
    assert head(two_layers()).name == "top"
    assert head(Graph("g", ops, "fp32", outputs=("x",))) is None  # handed back as it came
    assert head(Graph("g", ops, "fp32", outputs=("top", "h.0.up"))) is None
    assert with_loss(Graph("g", (op("gelu", "y", (x,), (Tensor("y", (2, 4), "fp32"),)),), "fp32")).outputs == ("loss.sum0",)


@pytest.mark.parametrize(("dtype", "cast"), [("fp32", False), ("tf32", False), ("fp64", False), ("bf16", True), ("fp16", True)])
def test_the_loss_is_computed_in_fp32_or_wider(dtype, cast):
    whole = with_loss(two_layers(dtype))
    assert [one.name for one in whole.ops[5:]] == [*(["loss.to_fp32"] if cast else []), "loss.log_softmax", "loss.pick"]
    assert whole.tensors["loss.log_softmax"].dtype == ("fp32" if cast else dtype) and whole.outputs == ("loss.pick",)
    assert whole.tensors["labels"].bytes == 2 * 8


def test_rows_of_all_sentences_are_one_list_and_are_cut_as_one():
    """Two sentences of three words with ten classes: six rows, two for each of three chunks."""
    x, w = Tensor("x", (2, 3, 4), "bf16", "input"), Tensor("w", (10, 4), "bf16", "weight")
    gain = Tensor("gain", (4,), "bf16", "weight")
    hidden, logits = Tensor("h", (2, 3, 4), "bf16"), Tensor("top", (2, 3, 10), "bf16")
    graph = Graph("g", (op("mul", "h", (x, gain), (hidden,)), op("linear", "top", (hidden, w), (logits,))), "bf16")
    whole = with_loss(graph)
    assert [t.shape for one in whole.ops[2:] for t in one.inputs] == [(6, 10), (6, 10), (6, 10), (6,)]
    parts = chunked(whole, 3)
    assert [t.shape for one in parts.ops[1:] for t in (*one.inputs, *one.outputs)] == [
        (2, 4), (10, 4), (2, 10), (2, 10), (2, 10), (2, 10), (2, 10), (2, 10), (2,), (1,),
    ]  # fmt: skip
    assert parts.ops[0] == whole.ops[0] and top_of(parts) == top_of(whole) == "top"
    assert [t.bytes for t in kept(parts).tensors if t.name == "loss.pick statistics"] == [4]
    assert chunked(with_loss(two_layers()), 2).tensors["labels"].shape == (1,)


def flat(*sizes):
    """A ledger of so many bytes at each moment."""
    *body, last = (Load("forward", f"op{i}", size, 0.0, 0.0, 0.0) for i, size in enumerate(sizes))
    return Ledger("toy", Static(0, 0, 0, 0), Run(tuple(body)), 1.0, Moment("update", last.op, (last.kept,)))


def test_the_largest_batch_to_the_byte():
    """100 + 3b and 90 + 8b: the first is the peak at one and two, the second from two on."""
    growth = Growth(flat(103, 98, 50), flat(106, 106, 50))
    assert growth.lines == ((103.0, 3.0), (98.0, 8.0))
    assert [growth.peak(batch) for batch in (1, 2, 3)] == [103, 106, 114]
    assert [growth.largest(capacity) for capacity in (102, 103, 105, 106, 113, 114)] == [0, 1, 1, 2, 2, 3]
    assert [(m.phase, m.op, m.total) for m in growth.at(3).profile] == [
        ("forward", "op0", 109), ("forward", "op1", 114), ("update", "op2", 50),
    ]  # fmt: skip
    assert Growth(flat(5, 4), flat(6, 5)).lines == ((5.0, 1.0),)


def test_what_does_not_grow_has_no_largest_batch():
    with pytest.raises(BadValue, match="toy needs no more memory"):
        Growth(flat(5, 4), flat(5, 4)).largest(10)
