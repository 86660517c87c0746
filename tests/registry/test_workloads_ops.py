"""The op sequence: how many of each kind, against the ATen ops that PyTorch dispatched when the models were measured."""

from __future__ import annotations

from collections import Counter

import pytest

from ironlaw.engine.device.fusion import fuse
from ironlaw.engine.device.types import Graph
from ironlaw.registry.workloads import workload, workloads

# our kinds -> the ATen ops they stand for. A scalar operand makes an add a shift and a mul a scale here.
ATEN = {
    "conv2d": "convolution", "batch_norm": "native_batch_norm", "layer_norm": "native_layer_norm", "relu6": "hardtanh",
    "max_pool2d": "max_pool2d_with_indices", "linear": "addmm+mm", "attention": "sdpa", "add": "add+sub", "sub": "add+sub",
    "shift": "add+sub", "mul": "mul+bmm", "scale": "mul+bmm", "square": "pow", "cube": "pow", "cast": "_to_copy", "fill": "arange",
    "compare": "ne+eq", "amax": "all", "copy": "_local_scalar_dense", "pad": "constant_pad_nd",
}  # fmt: skip

# h200/models.json, field `aten`, views left out (torch 2.11, transformers 5.17, which makes the rotary angles by a bmm where
# later ones multiply)
MEASURED = {
    "dscnn_kws": {"convolution": 9, "native_batch_norm": 9, "relu": 9, "mean": 1, "addmm+mm": 1},
    "resnet50": {
        "convolution": 53, "native_batch_norm": 53, "relu": 49, "max_pool2d_with_indices": 1, "add+sub": 16, "mean": 1, "addmm+mm": 1,
    },
    "mlp8_1024": {"addmm+mm": 8, "gelu": 8},
    "mobilenet_v2": {
        "constant_pad_nd": 52, "convolution": 52, "native_batch_norm": 52, "hardtanh": 35, "add+sub": 10, "mean": 1, "addmm+mm": 1,
    },
    "vit_b16": {"convolution": 1, "cat": 1, "add+sub": 25, "native_layer_norm": 25, "addmm+mm": 73, "sdpa": 12, "gelu": 12},
    "bert_base": {"gather": 1, "embedding": 3, "add+sub": 26, "native_layer_norm": 25, "addmm+mm": 73, "sdpa": 12, "gelu": 12, "tanh": 1},
    "gpt2": {
        "embedding": 2, "arange": 1, "add+sub": 52, "cat": 1, "ne+eq": 2, "cumsum": 1, "all": 1, "_local_scalar_dense": 1,
        "native_layer_norm": 25, "addmm+mm": 49, "sdpa": 12, "mul+bmm": 48, "pow": 12, "tanh": 12,
    },
    "llama3_8b": {
        "embedding": 1, "arange": 1, "add+sub": 196, "cat": 66, "ne+eq": 2, "cumsum": 1, "all": 1, "_local_scalar_dense": 1,
        "_to_copy": 134, "cos": 1, "sin": 1, "mul+bmm": 293, "pow": 65, "mean": 65, "rsqrt": 65, "addmm+mm": 225, "neg": 64,
        "sdpa": 32, "silu": 32,
    },
}  # fmt: skip


def kinds(graph: Graph) -> list[str]:
    return [op.kind for op in graph.ops]


@pytest.mark.parametrize("slug", sorted(MEASURED))
def test_counts_of_the_measured_models(slug: str) -> None:
    settings = {"padding": "explicit"} if slug == "mobilenet_v2" else {}
    graph = workload(slug, batch=2, **settings)
    assert Counter(ATEN.get(kind, kind) for kind in kinds(graph)) == MEASURED[slug]


@pytest.mark.parametrize("slug", workloads())
def test_names_and_wiring(slug: str) -> None:
    """Names are unique, what is read was made before or given, and what is made is read or handed back."""
    graph = workload(slug, batch=2)
    made: set[str] = set()
    read: set[str] = set()
    for op in graph.ops:
        for t in op.inputs:
            assert t.role != "activation" or t.name in made, f"{op.name} reads {t.name}, which nothing made"
            read.add(t.name)
        for t in op.outputs:
            assert t.name not in made
            assert t.role == "activation"
            made.add(t.name)
    spare = made - read - set(graph.outputs)
    assert spare <= {"mask.to_host"}  # a boolean for the host
    assert len({op.name for op in graph.ops}) == len(graph.ops)
    roles = {t.role for t in graph.tensors.values()}
    assert {"input", "weight", "activation"} <= roles


def test_padding_inside_the_convolution_is_the_default() -> None:
    given, explicit = workload("mobilenet_v2"), workload("mobilenet_v2", padding="explicit")
    assert "pad" not in kinds(given)
    assert len(explicit.ops) == len(given.ops) + 52
    assert (given.flops, given.params) == (explicit.flops, explicit.params)
    pointwise = next(op for op in explicit.ops if op.name == "features.2.expand.pad")
    assert pointwise.inputs[0].shape == pointwise.outputs[0].shape  # a copy, and nothing else
    assert pointwise.work.bytes == 2 * 16 * 112 * 112 * 2
    strided = next(op for op in explicit.ops if op.name == "features.0.pad")
    assert strided.outputs[0].shape == (1, 3, 225, 225)


def test_gelu_of_gpt2_is_eight_ops() -> None:
    acts = [op.kind for op in workload("gpt2").ops if op.name.startswith("h.0.mlp.act.")]
    assert acts == ["scale", "cube", "scale", "add", "scale", "tanh", "shift", "mul"]


def test_rms_norm_goes_through_fp32() -> None:
    ops = [op for op in workload("llama3_8b", dtype="bf16").ops if op.name.startswith("layers.0.input_norm.")]
    assert [op.kind for op in ops] == ["cast", "square", "mean", "shift", "rsqrt", "mul", "cast", "mul"]
    assert [op.outputs[0].dtype for op in ops] == ["fp32"] * 6 + ["bf16"] * 2
    in_fp32 = [op for op in workload("llama3_8b", dtype="fp32").ops if op.name.startswith("layers.0.input_norm.")]
    assert [op.kind for op in in_fp32] == ["square", "mean", "shift", "rsqrt", "mul", "mul"]


def test_rotation_reads_views() -> None:
    ops = {op.name: op for op in workload("llama3_8b").ops if op.name.startswith("layers.3.attn.rotary_k.")}
    assert [op.kind for op in ops.values()] == ["mul", "neg", "cat", "mul", "add"]
    strided = [bool(op.attrs.get("strided")) for op in ops.values()]
    assert strided == [True, True, True, False, True]
    assert ops["layers.3.attn.rotary_k.neg"].outputs[0].shape == (1, 8, 512, 64)
    one_token = [op.attrs.get("strided") for op in workload("llama3_8b", phase="decode").ops if op.name == "layers.0.attn.rotary_k.mul_cos"]
    assert one_token == [False]


def test_decoding_appends_to_the_cache() -> None:
    graph = workload("llama3_8b", phase="decode", context=100)
    ops = {op.name: op for op in graph.ops}
    append = ops["layers.0.attn.append_v"]
    assert [(t.role, t.shape) for t in append.inputs] == [("cache", (1, 8, 100, 128)), ("activation", (1, 8, 1, 128))]
    sdpa = ops["layers.0.attn.sdpa"]
    assert sdpa.inputs[1].shape == (1, 8, 101, 128)
    assert sdpa.attrs == {"impl": "flash", "causal": False, "mask": ""}
    assert not any(name.startswith("mask.") for name in ops)
    assert sum(op.kind == "cat" for op in graph.ops) == 64 + 64 + 1


def test_in_place_adds_of_resnet() -> None:
    graph = workload("resnet50")
    assert [op.kind for op in graph.ops if op.attrs.get("inplace")] == ["add"] * 16


@pytest.mark.parametrize("slug", ["resnet18", "mobilenet_v2", "bert_base", "gpt2_layer", "llama3_2_1b", "moe_small", "unet_block"])
def test_graphs_fuse(slug: str) -> None:
    graph = workload(slug)
    fused = fuse(graph).graph
    assert fused.flops == graph.flops
    assert fused.bytes < graph.bytes
    assert fused.kernels < graph.kernels
