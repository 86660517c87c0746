"""Weights in INT8 and INT4: bytes shrink, multiply-adds stay, unpacking is counted; by hand, and against PyTorch's kernels."""

import json
from pathlib import Path
from statistics import mean

import pytest
from on_machines import lower, lower_cpu, samples
from small_graphs import tensor

import ironlaw as il
from ironlaw.backends.evidence_ops import stored_product
from ironlaw.backends.kernel import Kernel, Sample
from ironlaw.engine.device import stored_weights
from ironlaw.engine.device.stored_weights import quantised
from ironlaw.engine.device.types import Graph, Tensor
from ironlaw.engine.device.work import category, op
from ironlaw.errors import BadValue, UnknownName

X = Tensor("x", (4, 256), "fp16", "input")
H200 = il.hardware("h200_sxm")


def model(tied: bool = False) -> Graph:
    """A table of 100 rows, a linear layer 256 → 512 with a bias, and a head 512 → 100 or, tied, the table again."""
    ids = Tensor("ids", (4,), "int64", "input")
    table = Tensor("table", (100, 256), "fp16", "weight")
    w, b = Tensor("w", (512, 256), "fp16", "weight"), Tensor("b", (512,), "fp16", "weight")
    e, h, y = Tensor("e", (4, 256), "fp16"), Tensor("h", (4, 512), "fp16"), Tensor("y", (4, 100), "fp16")
    last = op("linear", "head", [e, table], [y]) if tied else op("linear", "head", [h, Tensor("head", (100, 512), "fp16", "weight")], [y])
    return Graph("m", (op("embedding", "embed", [table, ids], [e]), op("linear", "l", [e, w, b], [h]), last), "fp16")


def test_int8_by_hand():
    own, stored = model(), quantised(model(), "int8")
    assert stored.flops == own.flops == 2 * 4 * 256 * 512 + 2 * 4 * 512 * 100
    assert stored.params == own.params
    # a byte a weight and two for each output's scale; the table and the bias stay in two
    assert stored.weight_bytes == 100 * 256 * 2 + (512 * 256 + 512 * 2) + 512 * 2 + (100 * 512 + 100 * 2)
    first = stored.ops[1]
    assert (first.kind, first.dtype, first.inputs[1].dtype) == ("quantised_linear", "fp16", "int8")
    assert first.work.read == 4 * 256 * 2 + 512 * 256 + 512 * 2 + 512 * 2
    assert first.work.flops == 2 * 4 * 256 * 512 + 2 * 4 * 512  # a scale and a bias for each output
    assert stored.ops[2].work.flops == 2 * 4 * 512 * 100 + 4 * 100  # no bias
    assert first.inputs[2] == Tensor("w scales", (512, 1), "fp16", "buffer")
    assert (first.name, first.outputs, first.inputs[3].name) == ("l", own.ops[1].outputs, "b")
    assert (stored.name, stored.dtype, stored.outputs) == (own.name, own.dtype, own.outputs)
    assert stored.settings == {"weights": "int8", "kept": ()}
    assert stored.ops[0] == own.ops[0]


def test_int4_by_hand():
    stored = quantised(model(), "int4")
    first = stored.ops[1]
    # half a byte a weight; a scale and a zero for each 128 of a row
    assert first.work.read == 4 * 256 * 2 + 512 * 256 / 2 + 512 * 2 * 2 * 2 + 512 * 2
    assert first.work.flops == 2 * 4 * 256 * 512 + 2 * 512 * 256 + 4 * 512
    assert quantised(model(), "int4", group=64).ops[1].inputs[2].shape == (512, 4, 2)
    assert first.inputs[2] == Tensor("w scales", (512, 2, 2), "fp16", "buffer")
    assert quantised(model(), "int4", group=200).ops[1].inputs[2].shape == (512, 2, 2)  # the last group is not full
    assert [stored_weights.scales(Tensor("w", (5, k)), "int4", "fp16").shape[1] for k in (128, 129)] == [1, 2]
    assert category(first.kind) == category("quantised_grouped_matmul") == category("linear")


def test_a_weight_that_something_else_reads_stays():
    stored = quantised(model(tied=True), "int4")
    assert [one.kind for one in stored.ops] == ["embedding", "quantised_linear", "linear"]
    assert stored.settings["kept"] == ("table",)
    assert quantised(model(), "int4").settings["kept"] == ()


def test_only_weights_of_products_are_stored():
    """What comes in as an activation, or as the left side of a product, is no stored weight; nor are gains and biases."""
    w, v, h = (Tensor(name, (256, 256), "fp16", "weight") for name in ("w", "v", "a"))
    y, z, u, t = (Tensor(name, (256, 256), "fp16") for name in "yzut")
    ops = (
        op("linear", "one", [Tensor("x", (256, 256), "fp16", "input"), w], [y]),
        op("linear", "two", [y, z], [u]),  # by what another op made
        op("linear", "three", [v, h], [t]),
        op("linear", "four", [u, v], [Tensor("q", (256, 256), "fp16")]),
        op("linear", "five", [h, w], [Tensor("r", (256, 256), "fp16")]),
        op("relu", "six", [z], [Tensor("s", (256, 256), "fp16")]),
    )
    stored = quantised(Graph("g", ops, "fp16"), "int8")
    assert [one.kind for one in stored.ops] == ["quantised_linear", "linear", "linear", "linear", "quantised_linear", "relu"]
    assert stored.settings["kept"] == ("a", "v")


def test_experts_are_stored_too():
    x, w = Tensor("x", (2, 64), "fp16", "input"), Tensor("w", (8, 32, 64), "fp16", "weight")
    graph = Graph("moe", (op("grouped_matmul", "g", [x, w], [Tensor("y", (2, 32), "fp16")]),), "fp16")
    (one,) = quantised(graph, "int8").ops
    # two rows hit two of eight experts
    assert one.work.read == 2 * 64 * 2 + (8 * 32 * 64 + 8 * 32 * 2) / 4
    assert (one.work.matmul_flops, one.work.flops) == (2 * 64 * 64, 2 * 64 * 64 + 64)  # a scale for each of 64 outputs
    assert [(k.curve, k.depth) for k in lower(one)] == [("grouped_gemm", 64), ("tiny", 0.0)]
    assert [k.curve for k in lower_cpu(one)] == ["bmm"]
    deep = op("quantised_grouped_matmul", "g", [Tensor("x", (1, 2, 64), "fp16"), *one.inputs[1:]], [Tensor("y", (1, 2, 32), "fp16")])
    assert deep.work == one.work
    (four,) = quantised(graph, "int4", group=32).ops
    assert four.inputs[2].shape == (8, 32, 2, 2)
    assert four.work.flops - four.work.matmul_flops == 2 * 8 * 32 * 64 / 4  # each weight of two experts, twice
    many = Tensor("x", (16, 64), "fp16", "input")
    (all_hit,) = quantised(Graph("moe", (op("grouped_matmul", "g", [many, w], [Tensor("y", (16, 32), "fp16")]),), "fp16"), "int8").ops
    assert all_hit.work.read == 16 * 64 * 2 + 8 * 32 * 64 + 8 * 32 * 2
    biased = op("quantised_grouped_matmul", "g", [*one.inputs, tensor("b", 32)], one.outputs)
    assert biased.work.read == one.work.read + 64


def test_a_real_model_shrinks_and_decodes_faster():
    own = il.workload("llama3_8b", phase="decode", context=512, dtype="bf16")
    times = [il.predict(own, H200).seconds]
    for fmt, each in (("int8", 1.0), ("int4", 0.5 + 2 * 2 / 128)):  # bytes a weight, INT4's with scale and zero
        stored = quantised(own, fmt)
        times.append(il.predict(stored, H200, il.Plan("graphs")).seconds)
        assert stored.flops == own.flops
        linear = sum(float(o.inputs[1].size) for o in own.ops if o.kind == "linear")
        assert stored.weight_bytes == pytest.approx(own.weight_bytes - (2 - each) * linear, rel=1e-3)
        assert il.predict(stored, H200).memory.weights == stored.weight_bytes
    assert times[0] > times[1] > times[2]


@pytest.mark.parametrize(
    ("call", "error", "said"),
    [
        (lambda: quantised(model(), "int3"), UnknownName, "^no format for stored weights 'int3'; did you mean int8, int4"),
        (lambda: quantised(model(), "int8", kernel="marlin"), UnknownName, "^no kernel for stored weights 'marlin'; known: , library"),
        (lambda: quantised(Graph("m", model().ops, "fp16", {"training": True}), "int8"), BadValue,
         "^weights stored in integers can't be trained; ask for the forward pass alone$"),
        (lambda: quantised(Graph("m", model().ops[:1], "fp16"), "int8"), BadValue, "nothing to store in int8"),
        (lambda: op("quantised_linear", "l", [X, tensor("w", 5, 7, dtype="int8"), tensor("s", 5)], [tensor("y", 4, 5)]), BadValue,
         "inner sizes differ, 256 and 7"),
        (lambda: op("quantised_linear", "l", [tensor("x", 2, 3, 256), tensor("w", 5, 7, dtype="int8"), tensor("s", 5)],
                    [tensor("y", 2, 3, 5)]), BadValue, "inner sizes differ, 256 and 7"),
    ],
)  # fmt: skip
def test_refusals(call, error, said):
    with pytest.raises(error, match=said):
        call()


def test_kernels():
    plain, torch8, torch4 = (
        quantised(model(), fmt, kernel=kernel).ops[1] for fmt, kernel in (("int8", ""), ("int8", "library"), ("int4", "library"))
    )
    assert lower(plain) == (Kernel("gemm", plain.work.bytes, 2.0 * 4 * 256 * 512, depth=256),)
    assert lower(torch8) == (
        Kernel("cast", 4 * 256 * (2 + 4.0)), Kernel("cast", 512 * (2 + 4.0)),  # rows and scales to FP32
        Kernel("weight_int8", torch8.work.bytes, 2.0 * 4 * 256 * 512, depth=256), Kernel("cast", 4 * 512 * (4.0 + 2)),
    )  # fmt: skip
    assert torch8.attrs == {"kernel": "library"} and plain.attrs == {}
    assert lower(torch4) == (Kernel("weight_int4", torch4.work.bytes, 2.0 * 4 * 256 * 512, depth=256),)


def test_on_a_processor_as_the_plain_product():
    one = quantised(model(), "int8").ops[1]
    assert [(k.curve, k.data, k.flops) for k in lower_cpu(one)] == [("gemm_few", one.work.bytes, 2.0 * 4 * 256 * 512)]


def test_a_row_is_a_sample_of_its_longest_kernel():
    p = {"m": 4, "n": 512, "k": 256, "dtype": "bf16"}
    listed = [{"name": "copy", "seconds": 1.0}, {"name": "mm", "seconds": 3.0}, {"name": "copy", "seconds": 2.0}]
    row = {"kind": "op", "params": p, "busy_s": 9.0, "list": listed}
    for name, moved in (("weight_int8_mm", 512 * 256 + 512 * 2), ("weight_int4_mm", 512 * 128 + 512 * 8)):
        found = list(samples([row | {"op": name}]))
        assert found == [Sample(Kernel(name.removesuffix("_mm"), 2 * 4 * 256 + moved + 2 * 4 * 512.0, 2.0 * 4 * 512 * 256, depth=256), 3.0)]
        assert list(samples([row | {"op": name, "kind": "launch"}, row | {"op": name, "error": "no"}])) == []
        made = stored_product(name, p)
        assert made.outputs[0] == Tensor("y", (4, 512), "bf16")
        assert (made.name, made.kind, made.attrs, made.dtype) == (name, "quantised_linear", {"kernel": "library"}, "bf16")
        assert [(t.name, t.role) for t in (*made.inputs, *made.outputs)] == [
            ("x", "input"), ("w", "weight"), ("w scales", "buffer"), ("y", "activation"),
        ]  # fmt: skip


def test_pytorchs_kernels_as_measured():
    """Their curves against the rows that they were fitted to."""
    rows = json.loads((Path(il.__file__).parent / "registry/evidence/h200_sxm/recurrent.json").read_text())["rows"]
    for name in ("weight_int8_mm", "weight_int4_mm"):
        mine = [row for row in rows if row["op"] == name]
        errors = []
        for row in mine:
            one = stored_product(name, row["params"])
            told = il.predict(Graph(name, (one,), "bf16"), H200)
            errors.append(abs(told.busy_s / row["busy_s"] - 1))
            assert told.kernels == row["kernels"]
        assert len(mine) == 15 and mean(errors) < 0.2, (name, errors)
