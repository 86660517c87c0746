"""Changed programs beside what the registry builds, and counts that must not change."""

import pytest

import ironlaw as il
from ironlaw.engine.advice.programs import channels_last, fused_kernels, in_fp8, narrowed

H200 = il.hardware("h200_sxm")


@pytest.mark.parametrize("slug", ["resnet50", "bert_base", "gpt2", "mobilenet_v2"])
def test_a_model_turned_into_fp16_is_the_registrys_in_fp16(slug):
    turned = narrowed(il.workload(slug, batch=2, dtype="fp32"), "fp16")
    built = il.workload(slug, batch=2, dtype="fp16")
    assert turned.dtype == "fp16" and turned.weight_bytes == built.weight_bytes and turned.bytes == built.bytes
    assert il.predict(turned, H200).seconds == il.predict(built, H200).seconds


def test_only_fp32_is_narrowed():
    assert narrowed(il.workload("resnet50", dtype="fp16"), "fp16") is None


def test_fp8_stores_and_multiplies_in_it_and_rounds_what_comes_in():
    graph = il.workload("bert_base", batch=2, dtype="fp16")
    eight = in_fp8(graph)
    linear = [op for op in graph.ops if op.kind == "linear"]
    casts = [op for op in eight.ops if op.name.endswith(".rounded")]
    assert len(casts) == len([op for op in eight.ops if op.kind == "linear" and op.dtype == "fp8"]) >= len(linear) - 1
    assert eight.flops == graph.flops and eight.weight_bytes < 0.65 * graph.weight_bytes
    assert in_fp8(il.workload("bert_base", dtype="fp32")) is None and in_fp8(il.workload("resnet50", dtype="fp32")) is None


def test_channels_last_spares_the_conversions_of_convolutions():
    graph = il.workload("resnet50", batch=64, dtype="fp16")
    last = channels_last(graph)
    assert last.flops == graph.flops and last.bytes == graph.bytes
    assert il.predict(last, H200).kernels < il.predict(graph, H200).kernels
    assert channels_last(last) is None  # already so
    assert channels_last(il.workload("bert_base")) is None and channels_last(il.workload("unet_block")) is None


def test_a_fused_kernel_saves_traffic_and_no_arithmetic():
    graph = il.workload("gpt2", batch=2, seq=64, dtype="fp16")
    kernels = list(fused_kernels(graph, 3))
    assert 0 < len(kernels) <= 3
    for kinds, count, fused in kernels:
        assert sum(tuple(part.kind for part in op.attrs.get("parts", ())) == kinds for op in fused.ops) == count
        assert len(graph.ops) - len(fused.ops) == count * (len(kinds) - 1)
        assert fused.flops == graph.flops and fused.bytes < graph.bytes
    saved = [graph.bytes - fused.bytes for *_, fused in kernels]
    assert saved == sorted(saved, reverse=True)
