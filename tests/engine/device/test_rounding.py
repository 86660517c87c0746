"""What FP32 products are computed in: the default of the machine's library, strict FP32, or TF32 throughout."""

from dataclasses import replace

import pytest

import ironlaw as il
from ironlaw.engine.device.rounding import as_computed, narrowed_kinds
from ironlaw.engine.device.types import Tensor
from ironlaw.engine.device.work import op, with_attrs
from ironlaw.errors import UnknownName

A100, T4, CPU, H200 = (il.hardware(slug) for slug in ("a100_80gb_sxm", "t4", "neoverse_n1_2core", "h200_sxm"))
RESNET = il.workload("resnet50", batch=32, dtype="fp32")
BERT = il.workload("bert_base", dtype="fp32")


def formats(graph, machine, fp32):
    return {(op.kind, op.dtype) for op in as_computed(graph, machine, il.Plan(fp32=fp32)).ops if op.work.matmul_flops}


@pytest.mark.parametrize(("fp32", "conv", "linear"), [("default", "tf32", "fp32"), ("strict", "fp32", "fp32"), ("tf32", "tf32", "tf32")])
def test_convolutions_and_products_apart(fp32, conv, linear):
    assert formats(RESNET, A100, fp32) == {("conv2d", conv), ("linear", linear)}
    assert ("linear", linear) in formats(BERT, A100, fp32)


@pytest.mark.parametrize("machine", [T4, CPU])
@pytest.mark.parametrize("fp32", ["default", "strict", "tf32"])
def test_a_machine_without_tf32_has_fp32_throughout(machine, fp32):
    assert as_computed(RESNET, machine, il.Plan(fp32=fp32)) is RESNET


def test_other_formats_stay():
    half = il.workload("resnet50", dtype="fp16")
    assert as_computed(half, A100, il.Plan()) is half


def test_tensors_stay_fp32_and_so_do_bytes_and_flops():
    p = il.predict(RESNET, A100)
    assert {t.dtype for op in p.graph.ops for t in (*op.inputs, *op.outputs)} == {"fp32"}
    assert (p.graph.bytes, p.graph.flops) == (RESNET.bytes, RESNET.flops)


def test_the_bound_by_hand():
    """One op, large enough to be bound by arithmetic: its FLOPs over the peak of the format that it is computed in."""
    conv = next(op for op in il.workload("resnet50", batch=512, dtype="fp32").ops if op.kind == "conv2d" and op.inputs[1].shape[-1] == 3)
    graph = il.Graph("one", (conv,), "fp32")
    for fp32, peak in (("default", 156e12), ("strict", 19.5e12)):
        p = il.predict(graph, A100, il.Plan(fp32=fp32, dispatch="synchronous", launch=0.0, transferred=False))
        assert p.compute_s == pytest.approx(conv.work.matmul_flops / peak, rel=1e-3)
        assert p.mfu == pytest.approx(p.compute_s / p.seconds)


def test_mfu_stays_below_one():
    for machine in (A100, H200):
        for plan in (il.Plan(mode, fp32=fp32) for mode in ("eager", "compiled") for fp32 in ("default", "strict", "tf32")):
            assert il.predict(RESNET, machine, plan).mfu <= 1


def test_a_measured_machine_follows_its_tf32_rows():
    """Rows of TF32 convolutions are several times as fast as those of FP32; what is left is bound by memory in either."""
    graph = il.workload("resnet50", batch=128, dtype="fp32")
    times = {fp32: il.predict(graph, H200, il.Plan(fp32=fp32)).busy_s for fp32 in ("default", "strict")}
    assert 0.015 < times["default"] < 0.024
    assert 0.040 < times["strict"] < 0.050


def test_what_is_narrowed_is_said():
    fresh = replace(RESNET)  # one that remembers nothing yet
    assert narrowed_kinds(il.predict(fresh, A100).graph) == ("conv2d",)
    assert narrowed_kinds(il.predict(fresh, A100, il.Plan("compiled", fp32="tf32")).graph) == ("conv2d", "linear")
    assert narrowed_kinds(il.predict(fresh, T4).graph) == ()
    assert narrowed_kinds(il.workload("resnet50", dtype="tf32")) == ()  # its tensors are TF32 already: nothing is rounded unasked
    assert any(line.startswith("fp32: conv2d in tf32, the default") for line in il.predict(RESNET, A100).sources)
    assert any(line.startswith("peak.tf32: ") for line in il.predict(RESNET, A100, il.Plan(transferred=False)).sources)
    assert not any("tf32" in line for line in il.predict(RESNET, A100, il.Plan(fp32="strict")).sources)


def test_the_first_operand_decides_what_is_narrowed():
    """A product of FP32 values with weights that are stored in less reads FP32, and rounds it."""
    x, y = Tensor("x", (8, 8), "fp32"), Tensor("y", (8, 8), "fp32")
    product = with_attrs(op("linear", "product", [x, Tensor("w", (8, 8), "fp16", "weight")], [y]), dtype="tf32")
    assert narrowed_kinds(il.Graph("one", (product,), "fp32")) == ("linear",)


def test_a_graph_remembers_what_it_is_computed_in():
    fresh = replace(RESNET)
    computed = as_computed(fresh, A100, il.Plan())
    assert as_computed(fresh, A100, il.Plan()) is computed
    assert as_computed(fresh, A100, il.Plan(fp32="tf32")) is not computed
    assert narrowed_kinds(computed) is narrowed_kinds(computed)


def test_a_bad_setting():
    with pytest.raises(UnknownName, match="plan fp32"):
        il.Plan(fp32="loose")


def test_a_machine_says_which_kinds():
    odd = replace(A100, narrowed={"default": ("linear",)})
    assert formats(RESNET, odd, "default") == {("conv2d", "fp32"), ("linear", "tf32")}


def test_a_way_to_ask_that_a_machine_does_not_list_narrows_nothing():
    listed = replace(A100, narrowed={"tf32": ("linear",)})
    assert [listed.narrows("linear", "fp32", asked) for asked in ("tf32", "default", "strict")] == [True, False, False]
