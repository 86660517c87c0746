"""Autocast op by op, and attention in three kernels: which formats, shapes and copies, by PyTorch's rules."""

from ironlaw.engine.device.types import Graph, Tensor
from ironlaw.engine.device.work import op
from ironlaw.engine.training.rewrites import autocast, three_kernels


def weight(name, *shape):
    return Tensor(name, shape, "fp32", "weight")


def tensor(name, *shape, dtype="fp32", role="activation"):
    return Tensor(name, shape or (2, 4), dtype, role)


def formats_of(graph):
    """(op, the formats it reads, the formats it makes), in order."""
    return [(one.name, [t.dtype for t in one.inputs], [t.dtype for t in one.outputs]) for one in graph.ops]


def test_a_weight_is_cast_once_and_an_activation_by_each_reader():
    x, w = tensor("x", role="input"), weight("w", 4, 4)
    ops = (op("linear", "a", (x, w), (tensor("a"),)), op("linear", "b", (x, w), (tensor("b"),)))
    narrow = autocast(Graph("g", ops, "fp32"))
    assert formats_of(narrow) == [
        ("a.cast x", ["fp32"], ["bf16"]), ("a.cast w", ["fp32"], ["bf16"]), ("a", ["bf16", "bf16"], ["bf16"]),
        ("b.cast x", ["fp32"], ["bf16"]), ("b", ["bf16", "bf16"], ["bf16"]),
    ]  # fmt: skip
    assert [[t.name for t in one.inputs] for one in narrow.ops] == [["x"], ["w"], ["a.cast x", "w.bf16"], ["x"], ["b.cast x", "w.bf16"]]


def test_what_a_product_makes_stays_narrow_until_a_wide_op_reads_it():
    a = op("linear", "a", (tensor("x", role="input"), weight("w", 4, 4)), (tensor("a"),))
    ops = (
        a,
        op("gelu", "g", a.outputs, (tensor("g"),)),
        op("linear", "b", (tensor("g"), weight("v", 4, 4)), (tensor("b"),)),
        op("layer_norm", "n", (tensor("b"), weight("gain", 4)), (tensor("n"),)),
        op("add", "s", (tensor("b"), tensor("n")), (tensor("s"),)),
        op("compare", "c", (tensor("b"), tensor("g")), (tensor("c", dtype="bool"),)),
    )
    after = {name: (reads, makes) for name, reads, makes in formats_of(autocast(Graph("g", ops, "fp32")))}
    assert after["g"] == (["bf16"], ["bf16"])
    assert after["b"] == (["bf16", "bf16"], ["bf16"]) and "b.cast g" not in after  # narrow already
    assert after["n.cast b"] == (["bf16"], ["fp32"]) and after["n"] == (["fp32", "fp32"], ["fp32"])
    assert after["s"] == (["bf16", "fp32"], ["fp32"])  # the widest that comes in
    assert after["c"] == (["bf16", "bf16"], ["bool"])


def test_numbers_that_are_no_floats_and_casts_stay_as_they_are():
    ids = tensor("ids", 2, 3, dtype="int64", role="input")
    e = op("embedding", "e", (weight("table", 10, 4), ids), (tensor("e", 2, 3, 4),))
    q, k, v = (tensor(name, 1, 1, 2, 4, role="input") for name in "qkv")
    masked = op("attention", "p", (q, k, v, tensor("mask", 2, 2, dtype="bool", role="input")), (tensor("p", 1, 1, 2, 4),))
    half = op("cast", "half", (tensor("e", 2, 3, 4),), (tensor("half", 2, 3, 4, dtype="fp16"),))
    after = {name: (reads, makes) for name, reads, makes in formats_of(autocast(Graph("g", (e, masked, half), "fp32")))}
    assert after["e"] == (["fp32", "int64"], ["fp32"])
    assert after["p"] == (["bf16", "bf16", "bf16", "bool"], ["bf16"])
    assert after["half"] == (["fp32"], ["fp16"])


def test_a_batch_norm_takes_what_comes_in():
    x = tensor("x", 2, 3, 8, 8, role="input")
    c = op("conv2d", "c", (x, weight("w", 3, 3, 1, 1)), (tensor("c", 2, 3, 8, 8),), kernel=(1, 1))
    n = op("batch_norm", "n", (c.outputs[0], weight("gain", 3), weight("bias", 3)), (tensor("n", 2, 3, 8, 8),))
    after = {name: (reads, makes) for name, reads, makes in formats_of(autocast(Graph("g", (c, n), "fp32")))}
    assert after["n"] == (["bf16", "fp32", "fp32"], ["bf16"])


def test_parts_of_one_tensor_are_cast_once():
    x = tensor("x", 2, 4, 24, role="input")
    q, k, v = (tensor("x", 2, 2, 4, 4, role="input") for _ in range(3))
    narrow = autocast(
        Graph(
            "g", (op("shift", "x1", (x,), (tensor("x1", 2, 4, 24),)), op("attention", "a", (q, k, v), (tensor("a", 2, 2, 4, 4),))), "fp32"
        )
    )
    assert [one.name for one in narrow.ops] == ["x1", "a.cast x", "a"]
    assert [t.shape for t in narrow.ops[-1].inputs] == [(2, 2, 4, 4)] * 3


def test_attention_in_three_kernels_by_shape():
    """Four queries and six keys of eight numbers, in two heads."""
    q, k, v = tensor("q", 1, 2, 4, 8, dtype="bf16"), tensor("k", 1, 2, 6, 8, dtype="bf16"), tensor("v", 1, 2, 6, 8, dtype="bf16")
    graph = Graph("g", (op("attention", "a", (q, k, v), (tensor("a", 1, 2, 4, 8, dtype="bf16"),)),), "bf16")
    apart = three_kernels(graph)
    assert [(one.kind, one.name, [t.shape for t in one.inputs], one.outputs[0].shape, one.outputs[0].dtype) for one in apart.ops] == [
        ("matmul", "a.scores", [(1, 2, 4, 8), (1, 2, 8, 6)], (1, 2, 4, 6), "bf16"),
        ("softmax", "a.softmax", [(1, 2, 4, 6)], (1, 2, 4, 6), "bf16"),
        ("matmul", "a", [(1, 2, 4, 6), (1, 2, 6, 8)], (1, 2, 4, 8), "bf16"),
    ]
    assert [one.outputs[0].name for one in apart.ops] == ["a.scores", "a.softmax", "a"] and apart.flops == graph.flops
