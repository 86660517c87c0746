"""Registry models against the real ones.

Sizes: every workload's reference implementation is built on the meta device (shapes only, so that 70 B parameters cost
nothing) and PyTorch counts its parameters and FLOPs. There attention is decomposed into matrix products, which the counter
knows; on a CPU it counts attention as 0, and with grouped-query attention on a GPU it fails. Grouped matrix products of
experts are counted by a formula given here.

Sequence: a small model of each family runs on the CPU, and every ATen op that is not a view is compared in order with the
family's graph: its kind, its output's size and format, and whether it reads something that is not contiguous.
"""

from __future__ import annotations

import inspect
from typing import Any

import pytest
from how_thorough import RELEASE

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

from torch import nn  # noqa: E402
from torch.utils._python_dispatch import TorchDispatchMode  # noqa: E402
from torch.utils.flop_counter import FlopCounterMode  # noqa: E402

from ironlaw.engine.device.types import Graph  # noqa: E402
from ironlaw.engine.device.work import category  # noqa: E402
from ironlaw.measure.models import builders  # noqa: E402
from ironlaw.registry.families import FAMILIES  # noqa: E402
from ironlaw.registry.workloads import about, workload, workloads  # noqa: E402

transformers.logging.set_verbosity_error()


# ---- reference implementations, by family and parameters: transformers' own where it has one, else ours in PyTorch


def model_of(family: str, p: dict[str, Any], classes: int | None) -> nn.Module:
    if family == "resnet":
        sizes = [w * (4 if p["block"] == "bottleneck" else 1) for w in p["widths"]]
        config = transformers.ResNetConfig(
            embedding_size=p["stem"], hidden_sizes=sizes, depths=p["depths"], layer_type=p["block"], num_labels=classes
        )
        return transformers.ResNetForImageClassification(config)
    if family == "mobilenet":
        return transformers.MobileNetV2ForImageClassification(transformers.MobileNetV2Config(num_labels=classes, image_size=p["image"]))
    return builders.model(family, p, classes)


def inputs_of(family: str, p: dict[str, Any], batch: int, seq: int, dtype: torch.dtype, device: str) -> tuple[torch.Tensor, ...]:
    def zeros(*shape: int) -> torch.Tensor:
        return torch.zeros(*shape, dtype=dtype, device=device)

    if family == "mlp":
        return (zeros(batch, p["width"]),)
    if family == "ds_cnn":
        return (zeros(batch, 1, p["frames"], p["features"]),)
    if family == "unet":
        return zeros(batch, p["channels"], p["size"], p["size"]), zeros(batch, p["time"])
    if "image" in p:
        return (zeros(batch, 3, p["image"], p["image"]),)
    if p.get("bare"):
        return (zeros(batch, seq, p["hidden"]),)
    return (torch.zeros(batch, seq, dtype=torch.long, device=device),)


# ---- parameters and FLOPs of every workload, at its published size


def grouped_mm_flops(x: Any, w: Any, *_: Any, out_shape: Any = None, **__: Any) -> int:
    """Each of the rows meets one expert's matrix."""
    return 2 * x[0] * x[1] * w[-1]


def count(model: nn.Module, *args: Any, **kwargs: Any) -> tuple[int, Any]:
    formulas = {torch.ops.aten._grouped_mm: grouped_mm_flops}
    with torch.no_grad(), FlopCounterMode(display=False, custom_mapping=formulas) as counter:
        out = model(*args, **kwargs)
    return counter.get_total_flops(), out


@pytest.fixture(scope="module")
def on_meta() -> Any:
    """The reference model of a workload without its data, and its settings."""

    def make(slug: str) -> tuple[nn.Module, str, dict[str, Any], dict[str, Any]]:
        data = about(slug)
        with torch.device("meta"):
            model = model_of(data["family"], data["params"], data["defaults"].get("classes")).to(torch.bfloat16).eval()
        return model, data["family"], data["params"], data["defaults"]

    return make


# the largest of a family that has smaller ones: before a release
LARGEST = set() if RELEASE else {"llama3_70b", "vit_l16", "gpt2_medium", "resnet101", "wrn_70_16", "wrn_94_16"}


@pytest.mark.parametrize("slug", [slug for slug in workloads() if slug not in LARGEST])
def test_parameters_and_flops(slug: str, on_meta: Any) -> None:
    model, family, p, defaults = on_meta(slug)
    graph = workload(slug, batch=2)
    assert graph.params == sum(w.numel() for w in model.parameters())
    # a cache, though empty, keeps transformers from looking at the positions' values, which meta tensors don't have
    cached = {"use_cache": True} if "phase" in defaults and not p.get("bare") else {}
    flops, _ = count(model, *inputs_of(family, p, 2, defaults.get("seq", 0), torch.bfloat16, "meta"), **cached)
    assert graph.flops == flops


@pytest.mark.parametrize("slug", ["gpt2", "llama3_2_1b", "moe_small", *(("llama3_8b", "qwen2_0_5b") if RELEASE else ())])
def test_decode_flops(slug: str, on_meta: Any) -> None:
    model, *_ = on_meta(slug)
    ids = torch.zeros(2, 100, dtype=torch.long, device="meta")
    with torch.no_grad():
        cache = model(ids, use_cache=True).past_key_values
    flops, _ = count(model, ids[:, :1], past_key_values=cache, use_cache=True)
    assert workload(slug, phase="decode", context=100, batch=2).flops == flops


# ---- the sequence of ops of every family, at a small size

VIEWS = {
    "view", "_unsafe_view", "t", "transpose", "expand", "slice", "select", "unsqueeze", "squeeze", "split", "alias", "permute", "detach",
    "empty", "zeros_like", "empty_like",
}  # fmt: skip
KINDS = {
    "convolution": {"conv2d"}, "native_batch_norm": {"batch_norm"}, "_native_batch_norm_legit_no_training": {"batch_norm"},
    "native_layer_norm": {"layer_norm"}, "native_group_norm": {"group_norm"}, "hardtanh": {"relu6"}, "addmm": {"linear"}, "mm": {"linear"},
    "max_pool2d_with_indices": {"max_pool2d"}, "add": {"add", "shift"}, "add_": {"add"}, "mul": {"mul", "scale"}, "sub": {"sub", "shift"},
    "pow": {"square", "cube"}, "_to_copy": {"cast"}, "arange": {"fill"}, "ne": {"compare"}, "eq": {"compare"}, "all": {"amax"},
    "_local_scalar_dense": {"copy"}, "constant_pad_nd": {"pad"}, "_softmax": {"softmax"},
    "_scaled_dot_product_flash_attention_for_cpu": {"attention"},
    "sort": {"topk"}, "floor_divide": {"div"}, "div_": {"div"}, "index": {"gather"}, "histc": {"scatter"}, "index_put_": {"scatter"},
    "_grouped_mm": {"grouped_matmul"},
}  # fmt: skip
FORMAT = {
    torch.bfloat16: "bf16", torch.float32: "fp32", torch.int64: "int64", torch.int32: "int32", torch.bool: "bool",
}  # fmt: skip


class Recorder(TorchDispatchMode):
    """Every ATen op that is not a view: name, size and format of its output, whether it reads something strided."""

    def __init__(self) -> None:
        super().__init__()
        self.ops: list[tuple[str, int, str, bool]] = []

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        out = func(*args, **(kwargs or {}))
        name = func.overloadpacket.__name__
        if name not in VIEWS:
            first = out[0] if isinstance(out, (tuple, list)) else out
            size, fmt = (first.numel(), FORMAT[first.dtype]) if isinstance(first, torch.Tensor) else (1, "bool")
            strided = any(isinstance(a, torch.Tensor) and not a.is_contiguous() for a in args)
            self.ops.append((name, size, fmt, strided))
        return out


LLAMA = {"vocab": 100, "layers": 2, "hidden": 64, "heads": 4, "kv_heads": 2, "head_dim": 16, "ffn": 96, "tied": False}
GPT2 = {"vocab": 100, "max_positions": 32, "layers": 2, "hidden": 64, "heads": 4, "ffn": 96}
BERT = {"vocab": 100, "positions": 32, "layers": 2, "hidden": 64, "heads": 4, "ffn": 96}
MOBILENET = about("mobilenet_v2")["params"] | {"padding": "explicit"}
SMALL = {
    "mlp": ("mlp", {"layers": 2, "width": 8}),
    "ds_cnn": ("ds_cnn", about("dscnn_kws")["params"]),
    "resnet basic": ("resnet", {"block": "basic", "depths": [1, 2], "widths": [8, 16], "stem": 8, "image": 32}),
    "resnet bottleneck": ("resnet", {"block": "bottleneck", "depths": [1, 2], "widths": [8, 16], "stem": 8, "image": 32}),
    "preact": ("preact", {"depths": [1, 2], "widths": [8, 16], "stem": 8, "image": 32}),
    "wide": ("preact", {"depths": [2, 1], "widths": [16, 32], "stem": 4, "image": 16}),
    "mobilenet": ("mobilenet", MOBILENET | {"image": 64}),
    "mobilenet, odd image": ("mobilenet", MOBILENET | {"image": 75}),
    "vit": ("vit", {"layers": 2, "hidden": 64, "heads": 4, "ffn": 96, "patch": 8, "image": 32}),
    "bert": ("bert", BERT | {"token_types": 2, "pooler": True}),
    "distilbert": ("bert", BERT | {"token_types": 0, "pooler": False}),
    "gpt2": ("gpt2", GPT2),
    "llama": ("llama", LLAMA),
    "qwen2": ("llama", LLAMA | {"tied": True, "qkv_bias": True}),
    "moe": ("moe", LLAMA | {"experts": 8, "top_k": 2}),
    "unet": ("unet", {"channels": 64, "out_channels": 64, "time": 16, "groups": 32, "size": 8}),
}


def small_graph(family: str, p: dict[str, Any], **settings: Any) -> Graph:
    takes = inspect.signature(FAMILIES[family]).parameters
    return FAMILIES[family](**p, **{key: value for key, value in settings.items() if key in takes})


def record(model: nn.Module, *args: Any, **kwargs: Any) -> list[tuple[str, int, str, bool]]:
    with torch.no_grad(), Recorder() as recorder:
        model(*args, **kwargs)
    return recorder.ops


def check_sequence(graph: Graph, ran: list[tuple[str, int, str, bool]], strides: bool) -> None:
    if len(ran) != len(graph.ops):
        pytest.fail(f"{len(ran)} ops ran, {len(graph.ops)} in the graph:\n{[r[0] for r in ran]}\n{[op.kind for op in graph.ops]}")
    for (name, size, fmt, strided), op in zip(ran, graph.ops, strict=True):
        assert op.kind in KINDS.get(name, {name}), f"{op.name} is {op.kind}; PyTorch ran {name}"
        # on a CPU the histogram of experts is taken in FP32, on a GPU in integers
        on_cpu = op.name.endswith((".experts.to_int32", ".experts.count"))
        assert (op.outputs[0].size, op.outputs[0].dtype) == (size, op.outputs[0].dtype if on_cpu else fmt), f"{op.name}, {name}"
        if strides and category(op.kind) == "elementwise":
            assert bool(op.attrs.get("strided")) == strided, f"{op.name} ({name}) strided: {strided}"


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("which", SMALL)
def test_sequence(which: str) -> None:
    family, p = SMALL[which]
    model = model_of(family, p, 10).to(torch.bfloat16).eval()
    args = inputs_of(family, p, 2, 5, torch.bfloat16, "cpu")
    llm = "vocab" in p and family != "bert"
    ran = record(model, *args, **({"use_cache": False} if llm else {}))
    graph = small_graph(family, p, batch=2, seq=5, dtype="bf16", classes=10)
    assert graph.params == sum(w.numel() for w in model.parameters())
    check_sequence(graph, ran, strides=llm)


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("which", ["gpt2", "llama", "qwen2", "moe"])
def test_sequence_of_decoding(which: str) -> None:
    family, p = SMALL[which]
    model = model_of(family, p, None).to(torch.bfloat16).eval()
    ids = torch.zeros(2, 5, dtype=torch.long)
    with torch.no_grad():
        cache = model(ids, use_cache=True).past_key_values
    ran = record(model, ids[:, :1], past_key_values=cache, use_cache=True)
    check_sequence(small_graph(family, p, batch=2, context=5, phase="decode", dtype="bf16"), ran, strides=True)


# ---- what `ironlaw measure resnet50` builds in PyTorch alone, where transformers has another version


@pytest.mark.parametrize("which", ["resnet basic", "resnet bottleneck", "mobilenet", "mobilenet, odd image"])
def test_sequence_of_our_own(which: str) -> None:
    family, p = SMALL[which]
    p = p | ({"padding": "conv"} if family == "mobilenet" else {})
    model = builders.model(family, p, 10).to(torch.bfloat16).eval()
    ran = record(model, *inputs_of(family, p, 2, 5, torch.bfloat16, "cpu"))
    graph = small_graph(family, p, batch=2, dtype="bf16", classes=10)
    assert graph.params == sum(w.numel() for w in model.parameters())
    check_sequence(graph, ran, strides=False)


@pytest.mark.parametrize("slug", ["resnet18", "resnet50", "mobilenet_v2"])
def test_parameters_and_flops_of_our_own(slug: str) -> None:
    data = about(slug)
    with torch.device("meta"):
        model = builders.model(data["family"], data["params"], data["defaults"]["classes"]).eval()
    graph = workload(slug, batch=2)
    assert graph.params == sum(w.numel() for w in model.parameters())
    assert graph.flops == count(model, *inputs_of(data["family"], data["params"], 2, 0, torch.float32, "meta"))[0]


@pytest.mark.parametrize(("slug", "settings"), [
    ("mlp8_1024", {"batch": 2}), ("unet_block", {}), ("gpt2_layer", {"seq": 8}), ("distilbert", {"seq": 8, "batch": 2}),
])  # fmt: skip
def test_what_is_built_runs_and_names_its_settings(slug: str, settings: dict[str, int]) -> None:
    made = builders.build(slug, **settings, dtype="fp32", device="cpu", room=1e12)
    with torch.no_grad():
        made.module(*made.args, **made.kwargs)
    assert workload(slug, **made.settings).params == sum(w.numel() for w in made.module.parameters())
    assert made.settings["dtype"] == "fp32" and settings.items() <= made.settings.items()
