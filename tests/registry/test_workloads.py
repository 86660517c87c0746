"""Registry models against figures that are known otherwise: parameters layer by layer, FLOPs by hand, the evidence's own."""

from __future__ import annotations

import inspect

import numpy as np
import pytest

from ironlaw.errors import BadValue, UnknownName
from ironlaw.registry.families import FAMILIES
from ironlaw.registry.workloads import about, workload, workloads

LLMS = ("gpt2", "llama3_8b", "qwen2_0_5b", "moe_small")


# ---- hand counts: written out from the papers' tables, sharing nothing with the families


def encoder_parameters(h: int, f: int) -> int:
    """q, k, v, out; two feed-forward layers; two layer norms."""
    return 4 * (h * h + h) + (h * f + f) + (f * h + h) + 2 * 2 * h


def encoder_flops(tokens: int, h: int, f: int, keys: int) -> int:
    """Projections and feed-forward, then QKᵀ and PV (a causal mask counted in full)."""
    return 2 * tokens * (4 * h * h + 2 * h * f) + 2 * 2 * tokens * keys * h


def llama_layer(h: int, heads: int, kv: int, d: int, f: int, bias: bool = False) -> int:
    return h * d * (2 * heads + 2 * kv) + (d * (heads + 2 * kv) if bias else 0) + 3 * h * f + 2 * h


def llama_flops(tokens: int, keys: int, layers: int, h: int, heads: int, kv: int, d: int, f: int, vocab: int) -> int:
    layer = 2 * tokens * (h * d * (2 * heads + 2 * kv) + 3 * h * f) + 4 * tokens * keys * heads * d
    return layers * layer + 2 * tokens * h * vocab


# convolutions of each network: (how many, side of the output, input channels per group, output channels, kernel side)
RESNET50 = [
    (1, 112, 3, 64, 7),
    (1, 56, 64, 64, 1), (2, 56, 256, 64, 1), (3, 56, 64, 64, 3), (3, 56, 64, 256, 1), (1, 56, 64, 256, 1),
    (1, 56, 256, 128, 1), (3, 28, 512, 128, 1), (4, 28, 128, 128, 3), (4, 28, 128, 512, 1), (1, 28, 256, 512, 1),
    (1, 28, 512, 256, 1), (5, 14, 1024, 256, 1), (6, 14, 256, 256, 3), (6, 14, 256, 1024, 1), (1, 14, 512, 1024, 1),
    (1, 14, 1024, 512, 1), (2, 7, 2048, 512, 1), (3, 7, 512, 512, 3), (3, 7, 512, 2048, 1), (1, 7, 1024, 2048, 1),
]  # fmt: skip
RESNET101 = [*RESNET50, (17, 14, 1024, 256, 1), (17, 14, 256, 256, 3), (17, 14, 256, 1024, 1)]
RESNET18 = [
    (1, 112, 3, 64, 7), (4, 56, 64, 64, 3),
    (1, 28, 64, 128, 3), (3, 28, 128, 128, 3), (1, 28, 64, 128, 1),
    (1, 14, 128, 256, 3), (3, 14, 256, 256, 3), (1, 14, 128, 256, 1),
    (1, 7, 256, 512, 3), (3, 7, 512, 512, 3), (1, 7, 256, 512, 1),
]  # fmt: skip
# a 3 x 3 stem of 16 channels, then three stages of n blocks, each wider than the last: 10 or 16 times 16, 32, 64 channels
WIDE_28_10 = [
    (1, 32, 3, 16, 3), (1, 32, 16, 160, 3), (7, 32, 160, 160, 3), (1, 32, 16, 160, 1),
    (1, 16, 160, 320, 3), (7, 16, 320, 320, 3), (1, 16, 160, 320, 1),
    (1, 8, 320, 640, 3), (7, 8, 640, 640, 3), (1, 8, 320, 640, 1),
]  # fmt: skip
WIDE_70_16 = [
    (1, 32, 3, 16, 3), (1, 32, 16, 256, 3), (21, 32, 256, 256, 3), (1, 32, 16, 256, 1),
    (1, 16, 256, 512, 3), (21, 16, 512, 512, 3), (1, 16, 256, 512, 1),
    (1, 8, 512, 1024, 3), (21, 8, 1024, 1024, 3), (1, 8, 512, 1024, 1),
]  # fmt: skip
WIDE_94_16 = [*WIDE_70_16, (8, 32, 256, 256, 3), (8, 16, 512, 512, 3), (8, 8, 1024, 1024, 3)]
PREACT18 = [
    (1, 32, 3, 64, 3), (4, 32, 64, 64, 3),
    (1, 16, 64, 128, 3), (3, 16, 128, 128, 3), (1, 16, 64, 128, 1),
    (1, 8, 128, 256, 3), (3, 8, 256, 256, 3), (1, 8, 128, 256, 1),
    (1, 4, 256, 512, 3), (3, 4, 512, 512, 3), (1, 4, 256, 512, 1),
]  # fmt: skip
MOBILENET = [
    (1, 112, 3, 32, 3), (1, 112, 1, 32, 3), (1, 112, 32, 16, 1),
    (1, 112, 16, 96, 1), (1, 56, 1, 96, 3), (1, 56, 96, 24, 1), (1, 56, 24, 144, 1), (1, 56, 1, 144, 3), (1, 56, 144, 24, 1),
    (1, 56, 24, 144, 1), (1, 28, 1, 144, 3), (1, 28, 144, 32, 1), (2, 28, 32, 192, 1), (2, 28, 1, 192, 3), (2, 28, 192, 32, 1),
    (1, 28, 32, 192, 1), (1, 14, 1, 192, 3), (1, 14, 192, 64, 1), (3, 14, 64, 384, 1), (3, 14, 1, 384, 3), (3, 14, 384, 64, 1),
    (1, 14, 64, 384, 1), (1, 14, 1, 384, 3), (1, 14, 384, 96, 1), (2, 14, 96, 576, 1), (2, 14, 1, 576, 3), (2, 14, 576, 96, 1),
    (1, 14, 96, 576, 1), (1, 7, 1, 576, 3), (1, 7, 576, 160, 1), (2, 7, 160, 960, 1), (2, 7, 1, 960, 3), (2, 7, 960, 160, 1),
    (1, 7, 160, 960, 1), (1, 7, 1, 960, 3), (1, 7, 960, 320, 1), (1, 7, 320, 1280, 1),
]  # fmt: skip


def conv_parameters(convs: list[tuple[int, ...]], width: int, classes: int) -> int:
    """Weights, two batch-norm parameters an output channel, and the head."""
    return sum(n * (cin * cout * k * k + 2 * cout) for n, _, cin, cout, k in convs) + width * classes + classes


def preact_parameters(convs: list[tuple[int, ...]], width: int, classes: int) -> int:
    """Two norm parameters a channel that goes into each 3 x 3 convolution but the stem, and a last norm before the head."""
    norms = sum(2 * n * cin for n, _, cin, _, k in convs if k == 3 and cin != 3) + 2 * width
    return sum(n * cin * cout * k * k for n, _, cin, cout, k in convs) + norms + width * classes + classes


def conv_flops(convs: list[tuple[int, ...]], width: int, classes: int) -> int:
    return sum(2 * n * side * side * cin * cout * k * k for n, side, cin, cout, k in convs) + 2 * width * classes


PARAMETERS = {
    "resnet18": (11_689_512, conv_parameters(RESNET18, 512, 1000)),
    "resnet50": (25_557_032, conv_parameters(RESNET50, 2048, 1000)),
    "resnet101": (44_549_160, conv_parameters(RESNET101, 2048, 1000)),
    "wrn_28_10": (36_479_194, preact_parameters(WIDE_28_10, 640, 10)),
    "wrn_70_16": (266_796_506, preact_parameters(WIDE_70_16, 1024, 10)),
    "wrn_94_16": (365_915_610, preact_parameters(WIDE_94_16, 1024, 10)),
    "preact_resnet18": (11_172_170, preact_parameters(PREACT18, 512, 10)),
    "mobilenet_v2": (3_504_872, conv_parameters(MOBILENET, 1280, 1000)),
    "dscnn_kws": (23_180, 64 * 40 + 128 + 4 * (64 * 9 + 128 + 64 * 64 + 128) + 64 * 12 + 12),
    "mlp8_1024": (8_396_800, 8 * (1024 * 1024 + 1024)),
    "vit_b16": (86_567_656, 768 * (3 * 256 + 1) + 768 + 197 * 768 + 12 * encoder_parameters(768, 3072) + 2 * 768 + 769 * 1000),
    "vit_l16": (304_326_632, 1024 * (3 * 256 + 1) + 1024 + 197 * 1024 + 24 * encoder_parameters(1024, 4096) + 2 * 1024 + 1025 * 1000),
    "bert_base": (109_482_240, (30522 + 512 + 2 + 2) * 768 + 12 * encoder_parameters(768, 3072) + 768 * 768 + 768),
    "distilbert": (66_362_880, (30522 + 512 + 2) * 768 + 6 * encoder_parameters(768, 3072)),
    "gpt2": (124_439_808, (50257 + 1024 + 2) * 768 + 12 * encoder_parameters(768, 3072)),
    "gpt2_medium": (354_823_168, (50257 + 1024 + 2) * 1024 + 24 * encoder_parameters(1024, 4096)),
    "gpt2_layer": (7_087_872, 12 * 768**2 + 13 * 768),
    "llama3_8b": (8_030_261_248, 2 * 128256 * 4096 + 32 * llama_layer(4096, 32, 8, 128, 14336) + 4096),
    "llama3_70b": (70_553_706_496, 2 * 128256 * 8192 + 80 * llama_layer(8192, 64, 8, 128, 28672) + 8192),
    "llama3_2_1b": (1_235_814_400, 128256 * 2048 + 16 * llama_layer(2048, 32, 8, 64, 8192) + 2048),
    "qwen2_0_5b": (494_032_768, 151936 * 896 + 24 * llama_layer(896, 14, 2, 64, 4864, bias=True) + 896),
    "moe_small": (791_233_536, 2 * 32000 * 1024 + 8 * (llama_layer(1024, 16, 4, 64, 8 * 3584) + 8 * 1024) + 1024),
    "unet_block": (2_255_040, 2 * (9 * 320 * 320 + 320) + 1280 * 320 + 320 + 2 * 2 * 320),
}
FLOPS = {
    "resnet18": conv_flops(RESNET18, 512, 1000),
    "resnet50": conv_flops(RESNET50, 2048, 1000),
    "resnet101": conv_flops(RESNET101, 2048, 1000),
    "wrn_28_10": conv_flops(WIDE_28_10, 640, 10),
    "wrn_70_16": conv_flops(WIDE_70_16, 1024, 10),
    "wrn_94_16": conv_flops(WIDE_94_16, 1024, 10),
    "preact_resnet18": conv_flops(PREACT18, 512, 10),
    "mobilenet_v2": conv_flops(MOBILENET, 1280, 1000),
    "dscnn_kws": 2 * 25 * 5 * 64 * (40 + 4 * (9 + 64)) + 2 * 64 * 12,
    "mlp8_1024": 8 * 2 * 1024 * 1024,
    "vit_b16": 2 * 196 * 768 * 768 + 12 * encoder_flops(197, 768, 3072, 197) + 2 * 768 * 1000,
    "vit_l16": 2 * 196 * 768 * 1024 + 24 * encoder_flops(197, 1024, 4096, 197) + 2 * 1024 * 1000,
    "bert_base": 12 * encoder_flops(128, 768, 3072, 128) + 2 * 768 * 768,
    "distilbert": 6 * encoder_flops(128, 768, 3072, 128),
    "gpt2": 12 * encoder_flops(512, 768, 3072, 512) + 2 * 512 * 768 * 50257,
    "gpt2_medium": 24 * encoder_flops(512, 1024, 4096, 512) + 2 * 512 * 1024 * 50257,
    "gpt2_layer": encoder_flops(512, 768, 3072, 512),
    "llama3_8b": llama_flops(512, 512, 32, 4096, 32, 8, 128, 14336, 128256),
    "llama3_70b": llama_flops(512, 512, 80, 8192, 64, 8, 128, 28672, 128256),
    "llama3_2_1b": llama_flops(512, 512, 16, 2048, 32, 8, 64, 8192, 128256),
    "qwen2_0_5b": llama_flops(512, 512, 24, 896, 14, 2, 64, 4864, 151936),
    # each token goes through two experts, and the router adds a matrix of 1024 x 8
    "moe_small": llama_flops(512, 512, 8, 1024, 16, 4, 64, 2 * 3584, 32000) + 8 * 2 * 512 * 1024 * 8,
    "unet_block": 2 * 2 * 64 * 64 * 320 * 320 * 9 + 2 * 1280 * 320,
}


def test_every_workload_is_counted_here() -> None:
    assert set(workloads()) == set(PARAMETERS) == set(FLOPS)


@pytest.mark.parametrize("slug", sorted(PARAMETERS))
def test_parameters(slug: str) -> None:
    published, by_hand = PARAMETERS[slug]
    assert workload(slug).params == published == by_hand == about(slug)["check"]["parameters"]


def test_the_paper_rounds_to_the_same() -> None:
    """Zagoruyko and Komodakis: WRN-28-10 has 36.5 M parameters; 5.2 billion multiply-adds an image."""
    wide = workload("wrn_28_10")
    assert round(wide.params / 1e6, 1) == 36.5 and round(wide.flops / 2e9, 1) == 5.2


@pytest.mark.parametrize("slug", sorted(FLOPS))
def test_flops(slug: str) -> None:
    assert workload(slug).flops == FLOPS[slug] == about(slug)["check"]["flops"]


@pytest.mark.parametrize("slug", sorted(PARAMETERS))
def test_file_names_what_its_family_takes(slug: str) -> None:
    data = about(slug)
    takes = inspect.signature(FAMILIES[data["family"]]).parameters
    assert all(p.kind is inspect.Parameter.KEYWORD_ONLY for p in takes.values())
    assert set(data["params"]) | set(data["defaults"]) <= set(takes)
    assert {"batch", "seq", "context", "phase", "dtype", "classes"} & set(takes) == set(data["defaults"])
    assert data["check"]["parameters_from"] and data["check"]["flops_from"] and data["note"]


# ---- the evidence: h200/models.json, PyTorch's own counts for what was measured (vision heads have 2 classes)

EVIDENCE = [
    ("dscnn_kws", {"batch": 1}, 23_180, 5_313_536),
    ("dscnn_kws", {"batch": 1024}, 23_180, 5_441_060_864),
    ("resnet50", {"batch": 1, "classes": 2}, 23_512_130, 8_174_280_704),
    ("resnet50", {"batch": 128, "classes": 2}, 23_512_130, 1_046_307_930_112),
    ("mlp8_1024", {"batch": 4096}, 8_396_800, 68_719_476_736),
    ("mobilenet_v2", {"batch": 1, "classes": 2, "padding": "explicit"}, 2_226_434, 598_993_664),
    ("mobilenet_v2", {"batch": 128, "classes": 2}, 2_226_434, 76_671_188_992),
    ("vit_b16", {"batch": 32, "classes": 2}, 85_800_194, 1_124_035_952_640),
    ("bert_base", {"batch": 32}, 109_482_240, 715_149_803_520),
    ("gpt2", {"batch": 1}, 124_439_808, 136_160_477_184),
    ("gpt2", {"batch": 16}, 124_439_808, 2_178_567_634_944),
]


@pytest.mark.parametrize(("slug", "settings", "parameters", "flops"), EVIDENCE)
def test_evidence(slug: str, settings: dict[str, object], parameters: int, flops: int) -> None:
    graph = workload(slug, **settings)
    assert (graph.params, graph.flops) == (parameters, flops)


# ---- phases and the cache


def test_decode_flops_of_llama3_8b() -> None:
    graph = workload("llama3_8b", phase="decode", context=2048, batch=8)
    assert graph.flops == 8 * llama_flops(1, 2049, 32, 4096, 32, 8, 128, 14336, 128256)
    assert graph.params == 8_030_261_248


@pytest.mark.parametrize(
    ("slug", "per_token"),
    [
        ("gpt2", 2 * 12 * 768 * 2),
        ("llama3_8b", 2 * 32 * 8 * 128 * 2),
        ("llama3_70b", 2 * 80 * 8 * 128 * 2),
        ("moe_small", 2 * 8 * 4 * 64 * 2),
    ],
)
def test_cache_bytes(slug: str, per_token: int) -> None:
    assert workload(slug, phase="decode", context=1000, batch=3).cache_bytes == 3000 * per_token
    assert workload(slug, phase="decode", context=1000, batch=3, dtype="fp32").cache_bytes == 6000 * per_token
    assert workload(slug, phase="prefill").cache_bytes == 0


def test_decoding_reads_every_weight_and_moves_the_cache_three_times() -> None:
    """Appending reads the cache and writes a longer one, which attention reads."""
    graph = workload("llama3_8b", phase="decode", context=8192)
    table = 128256 * 4096 * 2  # the embedding: one row of it is read
    assert graph.bytes > graph.weight_bytes - table + 3 * graph.cache_bytes
    assert graph.bytes < 1.02 * (graph.weight_bytes - table + 3 * graph.cache_bytes)


def test_few_tokens_hit_few_experts() -> None:
    def expert_bytes(batch: int) -> float:
        graph = workload("moe_small", phase="decode", batch=batch)
        return sum(op.reads[1] for op in graph.ops if op.kind == "grouped_matmul")

    every = 8 * 8 * 3 * 1024 * 3584 * 2
    assert expert_bytes(1) == every / 4
    assert expert_bytes(2) == every / 2
    assert expert_bytes(4) == expert_bytes(64) == every


def test_tied_head_counts_once_and_is_read() -> None:
    graph = workload("gpt2")
    assert graph.ops[-1].inputs[1].name == graph.ops[0].inputs[0].name == "wte.weight"
    assert graph.ops[-1].reads[1] == 50257 * 768 * 2


# ---- sweeps: a size may be an array


def totals(slug: str, **settings: object) -> tuple[object, ...]:
    graph = workload(slug, **settings)
    return graph.flops, graph.work.flops, graph.bytes, graph.kernels, graph.cache_bytes


def check_sweep(slug: str, key: str, sizes: list[int], **settings: object) -> None:
    swept = totals(slug, **{key: np.array(sizes, dtype=float)}, **settings)
    for i, size in enumerate(sizes):
        one = totals(slug, **{key: size}, **settings)
        at = [float(np.broadcast_to(value, (len(sizes),))[i]) for value in swept]
        assert at == pytest.approx([float(value) for value in one], rel=1e-12), f"{slug} at {key} = {size}"


@pytest.mark.parametrize("slug", [slug for slug in workloads() if slug != "llama3_70b"])
def test_batch_sweep(slug: str) -> None:
    check_sweep(slug, "batch", [1, 7, 256])


@pytest.mark.parametrize("slug", ["bert_base", *LLMS])
def test_seq_sweep(slug: str) -> None:
    check_sweep(slug, "seq", [1, 100, 512], batch=2)


@pytest.mark.parametrize("slug", LLMS)
def test_decode_sweeps(slug: str) -> None:
    check_sweep(slug, "context", [1, 100, 1000], phase="decode", batch=2)
    check_sweep(slug, "batch", [1, 2, 64], phase="decode", context=77)


def test_a_sweep_keeps_its_array() -> None:
    """Ops are costed once per key, and an array stands for itself there: it must stay the same object."""
    batch = np.array([1.0, 2.0])
    graph = workload("resnet18", batch=batch)
    assert all(op.outputs[0].shape[0] is batch for op in graph.ops)
    assert len({op.key for op in graph.ops}) == len({op.key for op in workload("resnet18").ops})


# ---- refusals: what was given, and what to give instead


@pytest.mark.parametrize(
    ("slug", "settings", "says"),
    [
        ("resnet50", {"batch": 0}, "batch is 0"),
        ("resnet50", {"batch": -1}, "batch is -1"),
        ("resnet50", {"batch": np.array([1, 0])}, "batch"),
        ("resnet50", {"batch": float("nan")}, "batch is nan"),
        ("resnet50", {"seq": 128}, "takes no 'seq'; it takes batch"),
        ("resnet50", {"classes": 0}, "classes is 0"),
        ("resnet50", {"block": "wide"}, "choose one of basic, bottleneck"),
        ("mobilenet_v2", {"padding": "same"}, "choose one of conv, explicit"),
        ("bert_base", {"seq": 513}, "513 positions, but the model has learned 512"),
        ("bert_base", {"seq": np.array([1, 600])}, "600 positions"),
        ("bert_base", {"phase": "decode"}, "takes no 'phase'"),
        ("gpt2", {"seq": 1025}, "1,025 positions, but the model has learned 1,024"),
        ("gpt2", {"phase": "decode", "context": 1024}, "context and the new token asks for 1,025 positions"),
        ("gpt2", {"phase": "train"}, "'train'; choose one of prefill, decode"),
        ("llama3_8b", {"phase": "decode", "context": 0}, "context is 0"),
        ("llama3_8b", {"kv_heads": 5}, "give a divisor of 32"),
        ("moe_small", {"top_k": 9}, "give at most 8"),
    ],
)
def test_refused(slug: str, settings: dict[str, object], says: str) -> None:
    with pytest.raises(BadValue, match=says.replace("(", r"\(")):
        workload(slug, **settings)


def test_unknown_format_is_refused() -> None:
    with pytest.raises(UnknownName, match="fp17"):
        workload("gpt2", dtype="fp17")


def test_llama_has_no_last_position() -> None:
    assert workload("llama3_8b", phase="decode", context=100_000).cache_bytes == 100_000 * 131_072


def test_a_graph_is_built_once_for_the_same_settings_and_never_for_arrays():
    assert workload("gpt2", batch=2) is workload("gpt2", batch=2, seq=None)
    assert workload("gpt2", batch=2) is not workload("gpt2", batch=3)
    assert workload("gpt2", batch=2.0).settings["batch"] == 2.0 and isinstance(workload("gpt2", batch=2).settings["batch"], int)
    batches = np.array([1.0, 2.0])
    before = workload("gpt2", batch=batches).flops
    batches[:] = 4.0
    assert (workload("gpt2", batch=batches).flops > before).all()
