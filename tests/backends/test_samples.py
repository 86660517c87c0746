"""Evidence rows -> ops and samples: each op of the format by hand, and how a row of several kernels is shared out."""

from itertools import product

import numpy as np
import pytest
from in_groups import in_groups
from on_machines import by_curve, lower, lower_cpu, samples

from ironlaw.backends.evidence_ops import OPS
from ironlaw.backends.kernel import Kernel, Sample
from ironlaw.registry.evidence import evidence

FLAT = {"numel": 1000, "dtype": "fp16"}
CAPTURED = {  # 3 x 8 values, for each of four
    "kind": "mul", "inputs": [["fp32", "activation", 4, 3, 8], ["fp32", "activation", 3, 8]], "outputs": [["fp32", "activation", 4, 3, 8]],
    "attrs": {}, "dtype": "fp32",
}  # fmt: skip
PLANES = {"n": 2, "c": 3, "h": 4, "w": 5, "dtype": "fp16"}  # 120 elements in 6 planes
GRID = {"rows": 4, "cols": 8, "dtype": "fp16"}
WHOLE = {"numel": 1000, "dtype": "int64"}
CACHE = {"b": 2, "h": 4, "length": 100, "d": 16, "rows": 3, "dtype": "fp16"}
PICKS = {"rows": 100, "cols": 8, "picks": 3, "dtype": "fp16"}
HEADS = {"b": 2, "h": 4, "s": 8, "d": 16, "dtype": "bf16"}  # 1,024 elements
GEMM = {"m": 4, "n": 8, "k": 16, "dtype": "fp16"}
CONV = {"n": 2, "c": 16, "h": 10, "w": 8, "out": 32, "kh": 3, "kw": 3, "stride": 2, "ph": 1, "pw": 1, "groups": 1, "dtype": "fp16"}
SDPA = {"b": 2, "h": 4, "hkv": 2, "sq": 8, "sk": 16, "d": 32, "causal": 0, "dtype": "fp16"}

# row's op: params, op kind, FLOPs in matmuls, all FLOPs, bytes, output shape
BY_HAND = {
    "linear": (GEMM, "linear", 1024, 1024, 2 * (64 + 128 + 32), (4, 8)),
    "linear with bias": (GEMM | {"bias": 1}, "linear", 1024, 1056, 2 * (64 + 128 + 8 + 32), (4, 8)),
    "matmul": (GEMM | {"dtype": "fp8"}, "linear", 1024, 1024, 64 + 128 + 32, (4, 8)),
    "bmm": (GEMM | {"b": 3, "dtype": "fp32"}, "bmm", 3072, 3072, 4 * 3 * 224, (3, 4, 8)),
    # 10 x 8 at stride 2: 5 x 4 outputs of 16 x 9 multiply-adds
    "conv2d": (CONV, "conv2d", 2 * 1280 * 144, 2 * 1280 * 144, 2 * (2560 + 4608 + 1280), (2, 32, 5, 4)),
    "conv2d with bias": (CONV | {"bias": 1}, "conv2d", 2 * 1280 * 144, 2 * 1280 * 144 + 1280, 2 * (2560 + 4608 + 1280 + 32), (2, 32, 5, 4)),
    "conv2d dilated": (
        CONV | {"dilation": 3, "stride": 1},
        "conv2d",
        2 * 1536 * 144,
        2 * 1536 * 144,
        2 * (2560 + 4608 + 1536),
        (2, 32, 6, 4),
    ),
    "conv2d of one row": (
        CONV | {"kh": 1, "ph": 0, "stride": 1},
        "conv2d",
        2 * 5120 * 48,
        2 * 5120 * 48,
        2 * (2560 + 1536 + 5120),
        (2, 32, 10, 8),
    ),
    "conv2d depthwise": (CONV | {"groups": 16, "out": 16}, "conv2d", 2 * 640 * 9, 2 * 640 * 9, 2 * (2560 + 144 + 640), (2, 16, 5, 4)),
    # scores 2 x 4 x 8 x 16 = 1,024; q and y of 2,048 elements, k and v too
    "sdpa": (SDPA, "attention", 2 * 1024 * 64, 2 * 1024 * 64 + 5120, 2 * 4 * 2048, (2, 4, 8, 32)),
    "sdpa_masked": (SDPA | {"hkv": 4, "sk": 8}, "attention", 2 * 512 * 64, 2 * 512 * 64 + 2560, 2 * 4 * 2048, (2, 4, 8, 32)),
    "embedding": ({"vocab": 100, "dim": 16, "tokens": 10, "dtype": "fp16"}, "embedding", 0, 0, 320 + 80 + 320, (10, 16)),
    "cat_last": (HEADS, "cat", 0, 0, 2 * 2 * 1024, (2, 4, 8, 16)),
    "cat_seq": (HEADS | {"ctx": 9}, "cat", 0, 0, 2 * 2 * 2 * 4 * 10 * 16, (2, 4, 10, 16)),
    "batch_norm": (PLANES, "batch_norm", 0, 480, 2 * (240 + 12), (2, 3, 4, 5)),
    "group_norm": (PLANES, "group_norm", 0, 840, 2 * (240 + 12), (2, 3, 4, 5)),
    "mean_hw": (PLANES, "mean", 0, 120, 2 * 126, (2, 3, 1, 1)),
    "max_pool2d": (PLANES | {"k": 2, "stride": 2, "pad": 0}, "max_pool2d", 0, 24 * 4, 2 * 144, (2, 3, 2, 2)),
    "avg_pool2d": (PLANES | {"k": 3, "stride": 1, "pad": 1}, "avg_pool2d", 0, 1080, 2 * 240, (2, 3, 4, 5)),
    "add": (FLAT, "add", 0, 1000, 6000, (1000,)),
    "add_": (FLAT, "add", 0, 1000, 6000, (1000,)),
    "mul": (FLAT | {"dtype": "fp32"}, "mul", 0, 1000, 12000, (1000,)),
    "relu": (FLAT, "relu", 0, 1000, 4000, (1000,)),
    "gelu": (GRID, "gelu", 0, 160, 128, (4, 8)),
    "gelu_tanh": (FLAT, "gelu_tanh", 0, 8000, 4000, (1000,)),
    "silu": (FLAT, "silu", 0, 5000, 4000, (1000,)),
    "tanh": (FLAT, "tanh", 0, 1000, 4000, (1000,)),
    "sigmoid": (FLAT, "sigmoid", 0, 4000, 4000, (1000,)),
    "pow2": (FLAT, "power", 0, 1000, 4000, (1000,)),
    "neg": (FLAT, "neg", 0, 1000, 4000, (1000,)),
    "mul_scalar": (FLAT, "scale", 0, 1000, 4000, (1000,)),
    "add_scalar": (FLAT, "shift", 0, 1000, 4000, (1000,)),
    "hardtanh": (FLAT, "hardtanh", 0, 2000, 4000, (1000,)),
    "copy": (FLAT, "copy", 0, 0, 4000, (1000,)),
    "cast": (FLAT | {"to": "fp32"}, "cast", 0, 0, 6000, (1000,)),
    "rsqrt": (FLAT, "rsqrt", 0, 1000, 4000, (1000,)),
    "dropout_train": (FLAT, "dropout", 0, 2000, 5000, (1000,)),
    "fill_": (FLAT, "fill", 0, 0, 2002, (1000,)),
    "layer_norm": (GRID, "layer_norm", 0, 224, 128, (4, 8)),
    "rms_norm": (GRID, "rms_norm", 0, 128, 128, (4, 8)),
    "softmax": (GRID, "softmax", 0, 160, 128, (4, 8)),
    "log_softmax": (GRID, "log_softmax", 0, 160, 128, (4, 8)),
    "mean": (GRID, "mean", 0, 32, 72, (4, 1)),
    "sum": (GRID, "sum", 0, 32, 72, (4, 1)),
    "sum of all": (FLAT, "sum", 0, 1000, 2002, (1,)),
    "sum_all": (FLAT, "sum", 0, 1000, 2002, (1,)),
    "var": (GRID, "var", 0, 128, 72, (4, 1)),
    "argmax": (GRID, "argmax", 0, 32, 72, (4, 1)),
    "mul_row": (GRID, "mul", 0, 32, 2 * (32 + 8 + 32), (4, 8)),
    "mul_col": (GRID, "mul", 0, 32, 2 * (32 + 4 + 32), (4, 8)),
    "mul_rope": (HEADS, "mul", 0, 1024, 2 * (1024 + 256 + 1024), (2, 4, 8, 16)),
    "add_pos": ({"b": 2, "s": 8, "d": 16, "dtype": "fp16"}, "add", 0, 256, 2 * (256 + 128 + 256), (2, 8, 16)),
    "transpose_heads": (HEADS, "transpose", 0, 0, 4096, (2, 4, 8, 16)),
    "clone_heads": (FLAT, "copy", 0, 0, 4000, (1000,)),
    "add_permuted": (FLAT, "add", 0, 1000, 6000, (1000,)),
    "roll": (FLAT, "copy", 0, 0, 4000, (1000,)),
    "gelu_backward": (FLAT, "gelu_backward", 0, 11000, 6000, (1000,)),
    "topk": (GRID | {"k": 2}, "topk", 0, 0, 64 + 16 + 64, (4, 2)),
    "sum_columns": (GRID, "sum", 0, 32, 2 * (32 + 8), (1, 8)),
    "sort": (WHOLE, "topk", 0, 0, 3 * 8000, (1000,)),
    "index_put": (WHOLE, "scatter", 0, 0, 3 * 8000, (1000,)),
    "clamp": (FLAT, "hardtanh", 0, 2000, 4000, (1000,)),
    "transpose_2d": (GRID, "transpose", 0, 0, 128, (8, 4)),
    "cumsum": (GRID, "cumsum", 0, 32, 128, (4, 8)),
    **{kind: (FLAT, kind, 0, 1000, 4000, (1000,)) for kind in ("exp", "log", "sin", "cos", "erf", "square", "sqrt", "abs")},
    "relu6": (FLAT, "relu6", 0, 2000, 4000, (1000,)),
    "sub": (FLAT, "sub", 0, 1000, 6000, (1000,)),
    "div": (FLAT, "div", 0, 1000, 6000, (1000,)),
    "maximum": (FLAT, "greatest", 0, 1000, 6000, (1000,)),
    "compare": (FLAT | {"to": "bool"}, "compare", 0, 1000, 5000, (1000,)),
    "amax": (GRID, "amax", 0, 32, 72, (4, 1)),
    "sort_rows": (GRID, "topk", 0, 0, 64 + 64 + 32 * 8, (4, 8)),
    "clone_columns": ({"b": 2, "s": 5, "d": 10, "numel": 100, "dtype": "fp16"}, "copy", 0, 0, 400, (2, 5, 10)),
    "repeat_rows": ({"b": 2, "times": 3, "rows": 5, "cols": 10, "dtype": "fp16"}, "copy", 0, 0, 2 * (100 + 300), (2, 3, 5, 10)),
    "complex_mul": (FLAT | {"dtype": "complex64"}, "mul", 0, 1000, 3 * 8000, (1000,)),
    "complex_bmm": (
        {"b": 3, "m": 2, "n": 5, "k": 7, "dtype": "complex64"}, "bmm", 2 * 30 * 7, 2 * 30 * 7, 8 * (42 + 105 + 30), (3, 2, 5),
    ),
    "rfft": ({"rows": 4, "cols": 8, "dtype": "fp32", "to": "complex64"}, "fft", 0, 5 * 32 * 3, 4 * 32 + 8 * 4 * 5, (4, 5)),
    "fft": ({"rows": 4, "cols": 8, "dtype": "complex64"}, "fft", 0, 5 * 32 * 3, 2 * 8 * 32, (4, 8)),
    "conv3d flat in time": (
        {"n": 2, "c": 3, "t": 4, "h": 6, "w": 8, "out": 5, "kt": 1, "k": 2, "st": 1, "stride": 2, "pt": 0, "pad": 0, "dtype": "fp16"},
        "conv2d", 2 * 480 * 12, 2 * 480 * 12, 2 * (1152 + 60 + 480), (2, 5, 12, 4),
    ),
    "arange": (WHOLE, "fill", 0, 0, 8008, (1000,)),
    "adaptive_avg_pool2d": (PLANES, "mean", 0, 120, 2 * (120 + 6), (2, 3, 1, 1)),
    "cat_columns": ({"rows": 4, "parts": [3, 5], "dtype": "fp16"}, "cat", 0, 0, 2 * 2 * 32, (4, 8)),
    "cat_channels": ({"n": 2, "parts": [3, 1], "h": 4, "w": 5, "dtype": "fp16"}, "cat", 0, 0, 2 * 2 * 160, (2, 4, 4, 5)),
    "cat_token": ({"b": 2, "s": 7, "d": 16, "dtype": "fp16"}, "cat", 0, 0, 2 * 2 * 256, (2, 8, 16)),
    # three rows of 16 into each of 2 x 4 caches of 100: 384 elements, and where they go
    "index_copy_": (CACHE, "write", 0, 0, 2 * 384 * 2 + 3 * 8, (2, 4, 100, 16)),
    "index_put_rows_": (CACHE, "write", 0, 0, 2 * 384 * 2 + 3 * 8, (2, 4, 100, 16)),
    "scatter_rows_": (CACHE, "write", 0, 0, 2 * 384 * 2 + 384 * 8, (2, 4, 100, 16)),
    "slice_copy_": (CACHE, "copy", 0, 0, 2 * 384 * 2, (2, 4, 3, 16)),
    "upsample_nearest": (PLANES | {"scale": 2}, "upsample", 0, 0, 2 * (120 + 480), (2, 3, 8, 10)),
    "upsample_bilinear": (PLANES | {"scale": 2}, "upsample", 0, 0, 2 * (120 + 480), (2, 3, 8, 10)),
    "upsample_bicubic": (PLANES | {"scale": 2}, "upsample", 0, 0, 2 * (120 + 480), (2, 3, 8, 10)),
    "grid_sample": (PLANES, "grid_sample", 0, 0, 2 * (120 + 2 * 4 * 5 * 2 + 120), (2, 3, 4, 5)),
    "pixel_shuffle": ({"n": 2, "c": 4, "h": 3, "w": 5, "scale": 2, "dtype": "fp16"}, "copy", 0, 0, 2 * 2 * 120, (2, 1, 6, 10)),
    "pad": (PLANES | {"left": 1, "right": 0, "top": 2, "bottom": 0}, "pad", 0, 0, 2 * (120 + 2 * 3 * 36), (2, 3, 6, 6)),
    "pad_reflect": (PLANES | {"pad": 1}, "pad", 0, 0, 2 * (120 + 2 * 3 * 42), (2, 3, 6, 7)),
    "index_select": (PICKS, "gather", 0, 0, 2 * 2 * 24 + 3 * 8, (3, 8)),
    "index": (PICKS, "gather", 0, 0, 2 * 2 * 24 + 3 * 8, (3, 8)),
    "gather": (PICKS, "gather", 0, 0, 2 * 2 * 24 + 24 * 8, (3, 8)),
    # 2 x 3 x 4 x 5 inputs each meet 6 outputs of 2 x 2
    "conv_transpose2d": (
        PLANES | {"out": 6, "k": 2, "stride": 2, "pad": 0, "layout": "nhwc"},
        "conv_transpose2d", 2 * 120 * 24, 2 * 120 * 24, 2 * (120 + 72 + 2 * 6 * 80), (2, 6, 8, 10),
    ),
    # 20 long with kernels of 4 at stride 2: 9 outputs of 6 channels, each over 2 of 4 channels
    "conv1d": (
        {"n": 2, "c": 4, "length": 20, "out": 6, "k": 4, "stride": 2, "pad": 0, "groups": 2, "dtype": "fp16"},
        "conv2d", 2 * 108 * 8, 2 * 108 * 8, 2 * (160 + 48 + 108), (2, 6, 1, 9),
    ),
    # 4 frames of 6 x 8 with kernels of 2 at stride 2: 2 x 3 x 4 outputs
    "conv3d": (
        {"n": 2, "c": 3, "t": 4, "h": 6, "w": 8, "out": 5, "k": 2, "stride": 2, "pad": 0, "dtype": "fp16"},
        "conv2d", 2 * 240 * 24, 2 * 240 * 24, 2 * (1152 + 120 + 240), (2, 5, 6, 4),
    ),
    # two rows hit two of three experts
    "grouped_mm": (
        {"m": 2, "experts": 3, "k": 8, "n": 4, "dtype": "bf16"}, "grouped_matmul", 2 * 8 * 8, 128, 2 * (16 + 2 * 32 + 8) + 12, (2, 4),
    ),
    "generated_norm": (PLANES | {"groups": 3, "layout": "nchw"}, "group_norm", 0, 840, 2 * (240 + 12), (2, 3, 4, 5)),
    # planes of 6 x 6 with 3 x 3 taps on each of 3 channels
    "depthwise_nhwc": (
        {"n": 2, "c": 3, "hw": 6, "k": 3, "dtype": "fp16"}, "conv2d", 2 * 216 * 9, 2 * 216 * 9, 2 * (216 + 27 + 216), (2, 3, 6, 6),
    ),
    "sdpa under a mask": (SDPA | {"mask": 1}, "attention", 2 * 1024 * 64, 2 * 1024 * 64 + 5120, 2 * (4 * 2048 + 256), (2, 4, 8, 32)),
    "sdpa_math": (SDPA, "attention", 2 * 1024 * 64, 2 * 1024 * 64 + 5120, 2 * (4 * 2048 + 1024), (2, 4, 8, 32)),
    # scores 2 x 4 x 8 x 8 = 512 of 16; eight tensors
    "sdpa_backward": (HEADS | {"causal": 0}, "attention_backward", 10 * 512 * 16, 10 * 512 * 16 + 8 * 512, 2 * 8 * 1024, (2, 4, 8, 16)),
    "layer_norm_backward": ({"rows": 4, "width": 8, "dtype": "fp16"}, "norm_backward", 0, 384, 2 * (3 * 32 + 8), (4, 8)),
    "batch_norm_train": (PLANES, "batch_norm_train", 0, 960, 2 * (240 + 12), (2, 3, 4, 5)),
    "batch_norm_backward": (PLANES, "batch_norm_backward", 0, 1080, 2 * 360, (2, 3, 4, 5)),
    # two of 8 x 4: 4·16·(8 - 4/3) each; a read, as large a Q and a triangle written
    "decompose": (
        {"how": "qr", "matrices": 2, "longer": 8, "shorter": 4, "sides": 0, "dtype": "fp64"},
        "solver", 0, pytest.approx(2 * 4 * 16 * (8 - 4 / 3)), 8 * (64 + 64 + 32), (2, 8, 4),
    ),
    "decompose with right-hand sides": (
        {"how": "solve", "matrices": 2, "longer": 6, "shorter": 6, "sides": 3, "dtype": "fp32"},
        "solver", 0, 720, 4 * (72 + 36 + 36 + 72 + 12), (2, 6, 3),
    ),
    "captured": (CAPTURED, "mul", 0, 96, 4 * (96 + 24 + 96), (4, 3, 8)),
    # 4 x 5 in windows of 2: 2 x 2 outputs, 24 gradients with their places
    "max_pool2d_backward": (
        PLANES | {"k": 2, "stride": 2, "pad": 0}, "max_pool2d_backward", 0, 24, 24 * 2 + 24 * 8 + 240, (2, 3, 4, 5),
    ),
    "embedding_backward": (
        {"vocab": 100, "dim": 16, "tokens": 10, "dtype": "fp16"}, "embedding_backward", 0, 160, 320 + 80 + 3200, (100, 16),
    ),
    # 10 x 10 at stride 2: 25 outputs of 32 channels, twice 16 x 9 multiply-adds each
    "conv_backward": (
        {"n": 2, "c": 16, "h": 10, "out": 32, "k": 3, "stride": 2, "dtype": "fp16"},
        "conv_backward", 4 * 1600 * 144, 4 * 1600 * 144, 2 * (1600 + 2 * 3200 + 2 * 4608), (2, 16, 10, 10),
    ),
    # four groups: 4 x 9 multiply-adds, and a quarter of the weights
    "conv2d_backward": (
        {"n": 2, "c": 16, "h": 10, "w": 10, "out": 32, "kh": 3, "kw": 3, "stride": 2, "ph": 1, "pw": 1, "groups": 4, "dilation": 1,
         "layout": "nchw", "dtype": "bf16"},
        "conv_backward", 4 * 1600 * 36, 4 * 1600 * 36, 2 * (1600 + 2 * 3200 + 2 * 1152), (2, 16, 10, 10),
    ),
}  # fmt: skip
CURVES = {
    "log_softmax": "softmax", "captured": "broadcast",
    "mul_row": "broadcast", "mul_col": "broadcast_row", "mul_rope": "strided", "add_pos": "broadcast", "transpose_heads": "strided",
    "cast": "cast_up", "pow2": "power", "mul_scalar": "scale", "add_scalar": "shift", "dropout_train": "dropout", "fill_": "fill",
    "mean_hw": "mean", "cat_last": "cat", "cat_seq": "cat", "linear": "gemm", "matmul": "gemm_fp8", "sdpa": "attention",
    "bmm": "bmm_fp32_thin",
    "clone_heads": "strided", "add_permuted": "strided_columns", "sdpa under a mask": "attention_masked",
    "sum of all": "sum_all", "add_": "add", "conv2d depthwise": "depthwise_strided", "index_put": "scatter",
    "adaptive_avg_pool2d": "mean", **dict.fromkeys(("cat_columns", "cat_channels", "cat_token"), "cat"), "clamp": "hardtanh",
    "index_copy_": "write_copy", "index_put_rows_": "write_put", "scatter_rows_": "write_scatter", "slice_copy_": "strided",
    "upsample_nearest": "upsample", "pixel_shuffle": "strided", "index_select": "gather", "index": "gather", "gather": "gather_elements",
    "transpose_2d": "strided_columns", "clone_columns": "strided_columns", "repeat_rows": "strided", "complex_mul": "mul",
    "decompose": "solver_qr", "decompose with right-hand sides": "solver_solve_at_once",
    "complex_bmm": "bmm_complex64", "rfft": "fft", "maximum": "greatest", "conv_transpose2d": "conv_transpose",
}  # fmt: skip


def name(case: str) -> str:
    return case.partition(" ")[0]


def row(case: str, params=None, seconds: float = 1.0, **more):
    return {"kind": "op", "op": name(case), "params": params or BY_HAND[case][0], "busy_s": seconds, **more}


def listed(*kernels: tuple[str, float], count: float = 1.0):
    return [{"name": label, "count": count, "seconds": seconds} for label, seconds in kernels]


def only(found) -> Sample:
    (sample,) = found
    return sample


# ---- rows -> ops


@in_groups("case", BY_HAND, lambda case: f"{case[0]}…")
def test_each_row_is_the_op_it_names(case):
    params, kind, matmul, flops, moved, shape = BY_HAND[case]
    made = OPS[name(case)](params)
    assert made.kind == kind
    assert (made.work.matmul_flops, made.work.flops, made.work.bytes) == (matmul, flops, moved)
    assert made.outputs[0].shape == shape
    assert all(isinstance(size, int) for t in (*made.inputs, *made.outputs) for size in t.shape)
    assert made.inputs[0].dtype == params["dtype"] and made.outputs[0].dtype == params.get("to", params["dtype"])


@in_groups("case", BY_HAND, lambda case: f"{case[0]}…")
def test_tensors_have_names_of_their_own(case):
    """Two of one name would be one tensor to a graph."""
    made = OPS[name(case)](BY_HAND[case][0])
    names = [t.name for t in (*made.inputs, *made.outputs)]
    assert len({*names}) == len(names) and "" not in names
    assert made.name == made.kind


BATCHES = ("numel", "rows", "b", "m", "n", "tokens", "matrices")  # sizes by which an op is repeated
POINTS = [64, 128, 1024, 8192, 16384]


@pytest.mark.parametrize(("case", "size"), [(case, size) for case in BY_HAND for size in BATCHES if size in BY_HAND[case][0]])
def test_a_swept_batch_gets_the_kernels_of_each_of_its_points(case, size):
    def make(value):
        return OPS[name(case)](BY_HAND[case][0] | {size: value})

    for lowering, compiled in product((lower, lower_cpu), (False, True)):
        swept = lowering(make(np.array(POINTS)), compiled)
        for i, point in enumerate(POINTS):
            assert by_curve(lowering(make(point), compiled)) == by_curve(swept, i), (point, compiled)


def test_every_op_is_counted_here():
    assert {name(case) for case in BY_HAND} | {"histogram", "called"} == set(OPS)


def test_a_histogram_counts_integers():
    made = OPS["histogram"](WHOLE)
    assert made.kind == "scatter"
    assert [(t.shape, t.dtype) for t in (*made.inputs, *made.outputs)] == [((1000,), "int32"), ((8,), "int32")]


def test_the_layout_that_a_compiled_norm_finds():
    made = {layout: OPS["generated_norm"](PLANES | {"groups": 3, "layout": layout}).attrs for layout in ("nhwc", "nchw")}
    assert made == {"nhwc": {"groups": 3.0, "layout": "nhwc"}, "nchw": {"groups": 3.0, "layout": "to_nhwc"}}
    assert "layout" not in OPS["group_norm"](PLANES).attrs


# which inputs are parameters of a model; a bias of a convolution is measured as a tensor like any other
WEIGHTS = {
    "linear": (1,), "linear with bias": (1, 2), "matmul": (1,), "embedding": (0,), "depthwise_nhwc": (1,),
    "conv_backward": (2,), "conv2d_backward": (2,),
    "grouped_mm": (1,), "conv_transpose2d": (1,), "conv1d": (1,), "conv3d": (1,), "conv3d flat in time": (1,),
    **dict.fromkeys((case for case in BY_HAND if name(case) == "conv2d"), (1,)),
}  # fmt: skip


@in_groups("case", BY_HAND, lambda case: f"{case[0]}…")
def test_only_parameters_are_weights(case):
    made = OPS[name(case)](BY_HAND[case][0])
    assert [i for i, t in enumerate(made.inputs) if t.role == "weight"] == list(WEIGHTS.get(case, ()))
    assert {t.role for t in (*made.inputs, *made.outputs)} <= {"weight", "activation"}


def test_attributes_and_shapes():
    assert OPS["conv2d"](CONV).attrs == {"stride": 2, "dilation": 1}  # NCHW unless a row says otherwise
    spread = OPS["conv2d"](CONV | {"dilation": 3, "layout": "nhwc"})
    assert spread.attrs == {"stride": 2, "dilation": 3, "layout": "nhwc"}
    assert OPS["conv2d"](CONV | {"layout": "nchw"}).attrs == OPS["conv2d"](CONV).attrs
    assert OPS["sdpa"](SDPA).attrs["causal"] is False
    assert OPS["sdpa"](SDPA | {"causal": 1}).attrs["causal"] is True
    assert [t.shape for t in OPS["sdpa"](SDPA).inputs] == [(2, 4, 8, 32), (2, 2, 16, 32), (2, 2, 16, 32)]
    assert OPS["sdpa_masked"](SDPA).attrs["causal"] is True
    assert OPS["max_pool2d"](BY_HAND["max_pool2d"][0]).attrs["kernel"] == (2, 2)
    assert OPS["cat_seq"](BY_HAND["cat_seq"][0]).attrs["over"] == "seq"
    assert OPS["cat_last"](HEADS).attrs["over"] == "last"
    assert [t.shape for t in OPS["cat_seq"](BY_HAND["cat_seq"][0]).inputs] == [(2, 4, 9, 16), (2, 4, 1, 16)]
    assert [t.shape for t in OPS["cat_last"](HEADS).inputs] == [(2, 4, 8, 8)] * 2
    assert [t.shape for t in OPS["mul_rope"](HEADS).inputs] == [(2, 4, 8, 16), (2, 1, 8, 16)]
    assert [t.shape for t in OPS["add_pos"](BY_HAND["add_pos"][0]).inputs] == [(2, 8, 16), (1, 8, 16)]
    assert OPS["transpose_heads"](HEADS).inputs[0].shape == (2, 8, 4, 16)
    assert [t.dtype for t in OPS["dropout_train"](FLAT).outputs] == ["fp16", "bool"]
    assert OPS["embedding"](BY_HAND["embedding"][0]).inputs[1].dtype == "int64"
    assert OPS["sum_all"](FLAT).attrs["over"] == "all"
    assert [t.shape for t in OPS["batch_norm"](PLANES).inputs[1:]] == [(3,)] * 4


def test_attributes_of_experts_and_gradients():
    assert OPS["sdpa"](SDPA).attrs == {"impl": "flash", "causal": False}
    assert OPS["sdpa_masked"](SDPA).attrs == {"impl": "flash", "causal": True}
    assert OPS["sdpa_math"](SDPA | {"causal": 1}).attrs == {"path": "math", "impl": "flash", "causal": True}
    assert OPS["sum_columns"](GRID).attrs == {"over": "row", "axis": 0}
    # 4 x 5 with a rim of one, in windows of 3 at every other place: 2 x 3
    padded = OPS["max_pool2d_backward"](PLANES | {"k": 3, "stride": 2, "pad": 1})
    assert [t.shape for t in padded.inputs] == [(2, 3, 2, 3)] * 2


def test_a_grouped_convolution_is_a_sample_of_one_group():
    wide = CONV | {"c": 128, "out": 128, "stride": 1, "h": 4, "w": 4, "groups": 2}
    kernels = listed(("fprop", 6.0), count=2.0) + listed(("nchwToNhwc", 3.0), count=4.0) + listed(("nhwcToNchw", 1.0), count=2.0)
    conv = only(samples([row("conv2d", wide, 10.0, kernels=8, list=kernels)]))
    assert (conv.kernel.curve, conv.kernel.flops, conv.seconds) == ("conv", 2.0 * 2 * 16 * 64 * 576, 3.0)
    assert conv.kernel.count == 1.0
    # where cuDNN took all groups at once, nothing is known of one
    assert list(samples([row("conv2d", wide, 10.0, kernels=4, list=kernels[:2])])) == []
    # one kernel more or less is a workspace; two are another way
    assert [len(list(samples([row("conv2d", wide, 10.0, kernels=n, list=kernels)]))) for n in (6, 7, 9, 10)] == [0, 1, 1, 0]
    assert list(samples([row("conv2d", wide, 10.0, list=kernels)])) == []  # nobody counted


PARTS = {
    "layer_norm_backward": {"GammaBetaBackward": "layer_norm_weights", "layer_norm_grad_input": "layer_norm_backward"},
    "sdpa_backward": {"flash_bprop": "attention_backward", "compute_dot_do_o": "attention_dot", "convert_dq_to": "attention_dq"},
    **{name: {"xmma_dgrad": "conv_dgrad", "xmma_wgrad": "conv_wgrad"} for name in ("conv_backward", "conv2d_backward")},
    "batch_norm_train": {"collect_statistics": "batch_norm_stats", "transform_input": "batch_norm"},
    "max_pool2d_backward": {"max_pool_backward_nchw": "max_pool2d_backward"},
    "pad": {"vectorized_elementwise_kernel<8, FillFunctor": "fill", "gpu elementwise_kernel<128, 4": "strided"},
    "cumsum": {"tensor_kernel_scan_innermost_dim": "scan_rows"},
    "upsample_bicubic": {"upsample_bicubic2d_out_frame": "upsample_bicubic"},
    "embedding_backward": {"embedding_backward_feature": "embedding_backward"},
    "sum_columns": {"reduce_kernel": "sum_down"},
    "topk": {"sbtopk::gatherTopK": "topk", "bitonicSortKVInPlace": "topk_sort"},
    "sort": {"radixSortKVInPlace<-2, -1, 32, 32, long, long>": "sort_block"},
    "grouped_mm": {"_ZN7cutlass13device_kernelIN2at4cuda": "grouped_gemm"},
}


@pytest.mark.parametrize("case", PARTS)
def test_parts_are_told_by_their_names(case):
    kernels = listed(*((label, 1.0 + i) for i, label in enumerate(PARTS[case])), ("Memset", 9.0))
    found = {s.kernel.curve: s.seconds for s in samples([row(case, list=kernels)])}
    assert found == {curve: 1.0 + i for i, curve in enumerate(PARTS[case].values())}
    assert list(samples([row(case, list=listed(("Memset", 9.0)))])) == []


def test_sorts_by_how_much_one_thread_holds():
    short = listed(("radixSortKVInPlace<-2, -1, 32, 4, long, long>", 3.0), ("Memcpy", 9.0))
    assert only(samples([row("sort", WHOLE | {"numel": 64}, list=short)])) == Sample(Kernel("sort_short", 2.0 * 64 * 8), 3.0)
    long = listed(("DeviceRadixSortOnesweepKernel", 16.0), count=8.0)
    assert only(samples([row("sort", WHOLE | {"numel": 8192}, list=long)])) == Sample(Kernel("sort_pass", 4.0 * 8192 * 8), 2.0)
    warp = listed(("bitonicSortKVInPlace", 3.0))  # fitted to rows of topk
    assert list(samples([row("sort", WHOLE | {"numel": 32}, list=warp)])) == []


def test_a_histogram_is_its_counting():
    kernels = listed(("kernelHistogram1D", 2.0), ("FillFunctor", 1.0))
    assert only(samples([row("histogram", WHOLE, list=kernels)])) == Sample(Kernel("histogram", 4000.0 + 32), 2.0)


def test_a_compiled_norm_is_its_sums_and_its_stream():
    wide = {"n": 2, "c": 64, "h": 64, "w": 64, "groups": 32, "dtype": "fp16", "layout": "nhwc"}
    labels = ("triton_per_fused_convolution_native_group_norm_1", "triton_per_fused_native_group_norm_2")
    kernels = listed(
        (labels[0], 5.0), (labels[1], 1.0), ("triton_poi_fused_native_group_norm_silu_3", 3.0), ("triton_poi_fused_convolution", 7.0)
    )
    size = 2.0 * 64**3
    sums, stream = samples([row("generated_norm", wide, list=kernels)])
    assert sums == Sample(Kernel("group_sums_nhwc", 2 * size), 5.0)
    assert stream == Sample(Kernel("group_affine", 4 * size + 4 * 64 * 2), 3.0)
    turned = samples([row("generated_norm", wide | {"layout": "nchw"}, list=kernels)])
    assert [s.kernel.curve for s in turned] == ["group_sums", "group_turned"]
    assert list(samples([row("generated_norm", wide)])) == []


def test_a_compiled_norm_whose_stream_takes_longer_than_its_sums():
    wide = {"n": 2, "c": 64, "h": 64, "w": 64, "groups": 32, "dtype": "fp16", "layout": "nhwc"}
    kernels = listed(("triton_per_fused_native_group_norm_1", 2.0), ("triton_poi_fused_native_group_norm_silu_3", 6.0))
    found = samples([row("generated_norm", wide, list=kernels)])
    assert [(s.kernel.curve, s.seconds) for s in found] == [("group_sums_nhwc", 2.0), ("group_affine", 6.0)]


def test_a_weights_gradient_may_be_split():
    kernels = listed(("wgrad_indexed", 2.0), ("nvjet_hss_64", 3.0), ("reduce_wgrad", 1.0))
    assert [(s.kernel.curve, s.seconds) for s in samples([row("conv_backward", list=kernels)])] == [("conv_wgrad", 6.0)]
    narrow = listed(("nvjet_sm90_tst_64", 9.0), ("nvjet_sm90_tss_64", 3.0), ("Kernel2<cutlass_80_tensorop_s16816gemm", 2.0))
    assert [(s.kernel.curve, s.seconds) for s in samples([row("conv_backward", list=narrow)])] == [("conv_wgrad", 5.0)]


def test_no_rows_give_no_samples():
    assert list(samples([])) == []


def test_a_step_of_adamw_is_its_mean_launch():
    # 10 tensors of 100: 21 are read or written by eight passes
    found = {"kind": "op", "op": "adamw", "params": {"tensors": 10, "size": 100, "dtype": "fp32"}, "kernels": 8, "busy_s": 16.0}
    assert list(samples([found])) == [Sample(Kernel("foreach", 4 * 1000 * 21 / 8, rows=1000 * 21 / 8, depth=100), 2.0)]
    narrow = found | {"params": found["params"] | {"dtype": "bf16"}}
    assert list(samples([narrow])) == [Sample(Kernel("foreach", 2 * 1000 * 21 / 8, rows=1000 * 21 / 8, depth=100), 2.0)]
    uneven = found | {"params": found["params"] | {"largest": 10**6}}
    assert only(samples([uneven])).kernel.depth == 65536  # what one block goes through
    assert list(samples([found | {"kernels": None}, found | {"kind": "launch"}])) == []


def test_a_batch_norm_backwards_reads_twice():
    # gradient and input twice, 120 elements each, and the input's gradient
    assert only(samples([row("batch_norm_backward")])) == Sample(Kernel("batch_norm_backward", 5 * 240.0, rows=3, depth=40.0), 1.0)


def test_a_roll_is_a_sample_of_one_axis():
    assert only(samples([row("roll", seconds=4.0)])) == Sample(Kernel("roll", 4000.0), 2.0)


def test_the_maths_of_attention_are_no_sample():
    assert list(samples([row("sdpa_math")])) == []


def test_groups_are_those_of_the_row():
    assert OPS["group_norm"](PLANES | {"groups": 3}).attrs == {"groups": 3.0}
    assert OPS["group_norm"](PLANES).attrs == {}
    assert OPS["sdpa"](SDPA | {"mask": 1, "heads": 4}).inputs[3].shape == (2, 4, 8, 16)
    assert OPS["sdpa_backward"](HEADS | {"causal": 1}).attrs == {"causal": True}
    assert OPS["conv_backward"](BY_HAND["conv_backward"][0]).attrs == {"groups": 1, "wanted": 2}
    assert OPS["sdpa_math"](SDPA).attrs["path"] == "math"


def test_a_layer_norm_of_two_kernels_is_no_sample():
    assert list(samples([row("layer_norm", kernels=2)])) == []
    assert len(list(samples([row("layer_norm", kernels=1)]))) == 1


# ---- rows -> samples


@pytest.mark.parametrize(
    "case",
    sorted(
        set(BY_HAND)
        - {
            "batch_norm",
            "group_norm",
            "sdpa_masked",
            "sdpa_math",
            "roll",
            "batch_norm_backward",
            "generated_norm",
            "conv1d",
            "conv3d",
            "conv3d flat in time",
        }
        - set(PARTS)
        - {"sort_rows", "decompose", "decompose with right-hand sides"}
        - {c for c in BY_HAND if "conv2d" in c}
    ),
)
def test_an_op_of_one_kernel_is_one_sample(case):
    sample = only(samples([row(case)]))
    assert (sample.kernel.curve, sample.seconds) == (CURVES.get(case, CURVES.get(name(case), name(case))), 1.0)
    assert (sample.kernel.data, sample.kernel.count) == (BY_HAND[case][4], 1.0)


@pytest.mark.parametrize(
    "changed", [{"kind": "launch"}, {"kind": "model"}, {"op": "sorting"}, {"error": "out of memory"}, {"busy_s": None}, {"busy_s": 0.0}]
)
def test_rows_that_give_no_sample(changed):
    assert list(samples([row("relu") | changed])) == []
    assert len(list(samples([row("relu") | changed, row("relu"), row("gelu")]))) == 2


def test_a_row_without_a_device_time():
    for more in ({}, {"wall_s": 1.0}, {"graph_s": 1.0}):
        found = {"kind": "op", "op": "relu", "params": FLAT, **more}
        assert list(samples([found])) == []


@pytest.mark.parametrize(
    ("dtype", "more", "seconds"),
    [
        ("fp8", {"graph_s": 3e-5, "wall_s": 1e-3}, 3e-5),
        ("int8", {"graph_s": 3e-5}, 3e-5),
        ("fp8", {"wall_s": 1e-3}, 1e-3),
        ("int8", {"wall_s": 2e-4}, None),  # the launch may be in it
        ("fp8", {"wall_s": 2.1e-4}, 2.1e-4),
        ("fp8", {}, None),
        ("fp16", {"graph_s": 3e-5, "wall_s": 1e-3}, None),  # fp16 has rows with device times
        ("fp8", {"busy_s": 2e-5, "graph_s": 3e-5}, 2e-5),
    ],
)
def test_formats_that_no_profile_covers(dtype, more, seconds):
    found = list(samples([{"kind": "op", "op": "matmul", "params": GEMM | {"dtype": dtype}, **more}]))
    assert [s.seconds for s in found] == ([seconds] if seconds else [])
    if seconds and dtype != "fp16":
        assert found[0].kernel.curve == f"gemm_{dtype}"
    assert list(samples([{"kind": "op", "op": "linear", "params": GEMM | {"dtype": "fp8"}, "graph_s": 1.0}])) == []


def test_generated_kernels_bring_their_traffic():
    def generated(kernels=1, **params):
        return {
            "kind": "op",
            "op": "generated",
            "params": {"read_bytes": 30, "written_bytes": 12, **params},
            "kernels": kernels,
            "busy_s": 2.0,
        }

    assert only(samples([generated()])) == Sample(Kernel("fused", 42.0), 2.0)
    assert only(samples([generated(rows=5)])) == Sample(Kernel("fused_rows", 42.0, rows=5), 2.0)
    assert only(samples([generated(rows=5, over="row")])).kernel.curve == "fused_rows"
    assert only(samples([generated(rows=5, over="plane")])).kernel.curve == "fused_reduction"
    assert only(samples([generated(over="plane")])).kernel.curve == "fused"
    assert list(samples([generated(kernels=2)])) == []
    assert list(samples([generated() | {"error": "no"}])) == []
    assert list(samples([generated() | {"kind": "launch"}])) == []


def test_tiny_kernels_are_taken_off():
    kernels = listed(("flash", 0.7), ("Memset (Device)", 0.25), ("void splitKreduce_kernel", 0.125))
    assert only(samples([row("sdpa", seconds=1.0, list=kernels)])).seconds == pytest.approx(0.625)
    deep = {"m": 1, "n": 64, "k": 4096, "dtype": "fp16"}
    sample = only(samples([row("linear", deep, list=listed(("gemm", 0.75), ("splitKreduce", 0.25)))]))
    assert (sample.kernel.curve, sample.seconds) == ("gemm", 0.75)


def test_batch_norm_is_its_transform_and_two_tiny_kernels():
    kernels = listed(("unrolled", 0.125), ("transform", 0.5), ("vectorized", 0.25))
    transform, tiny = samples([row("batch_norm", seconds=1.0, list=kernels)])
    assert transform == Sample(Kernel("batch_norm", 504.0, rows=6.0, depth=20.0), 0.625)
    assert tiny == Sample(Kernel("tiny", 0.0), 0.1875)


def test_group_norm_is_its_longest_sum():
    kernels = listed(("RowwiseMoments", 0.5), ("elementwise_kernel", 0.75), ("ComputeFusedParams", 0.125))
    sample = only(samples([row("group_norm", PLANES | {"c": 64}, list=kernels)]))
    assert (sample.kernel.curve, sample.kernel.depth, sample.seconds) == ("group_norm", 40.0, 0.5)
    assert list(samples([row("group_norm", list=listed(("elementwise_kernel", 0.75)))])) == []
    assert list(samples([row("group_norm")])) == []


def test_masked_attention_is_its_longest_kernel():
    sample = only(samples([row("sdpa_masked", list=listed(("elementwise", 0.25), ("flash", 0.5), ("Memset", 0.125)))]))
    assert (sample.kernel.curve, sample.seconds) == ("attention_masked", 0.5)


def test_a_light_kernel_by_itself_is_the_sample():
    assert only(samples([row("mul_row", {"rows": 1, "cols": 8, "dtype": "fp16"})])).kernel.curve == "broadcast"
    assert only(samples([row("copy")])).kernel.curve == "copy"


# ---- convolutions


IN, OUT = ("void nchwToNhwcKernel<half>", 0.125), ("void nhwcToNchwKernel<half>", 0.0625)


def curves(found) -> dict[str, float]:
    return {s.kernel.curve: s.seconds for s in found}


def test_a_depthwise_convolution_is_one_sample():
    assert curves(samples([row("conv2d depthwise")])) == {"depthwise_strided": 1.0}


def test_a_convolution_without_the_layout_kernels_it_should_have_gives_none():
    assert list(samples([row("conv2d", list=listed(("implicit_gemm", 1.0)))])) == []
    direct = CONV | {"kh": 1, "kw": 1, "ph": 0, "pw": 0, "stride": 1, "h": 4, "w": 4}
    assert curves(samples([row("conv2d", direct, list=listed(("gemm", 1.0)))])) == {"conv_1x1": 1.0}
    assert list(samples([row("conv2d", direct, list=listed(("gemm", 0.5), IN, OUT))])) == []


def test_layout_bias_and_tiny_kernels_are_taken_off_a_convolution():
    kernels = listed(("implicit_gemm", 0.5), IN, OUT, ("Memset", 0.03125), ("elementwise_kernel<128>", 0.015625))
    found = curves(samples([row("conv2d with bias", list=kernels)]))
    assert found == {"conv": 1.0 - 0.125 - 0.0625 - 0.03125 - 0.015625, "layout": 0.0625}


def test_a_first_layer_is_its_convolution():
    images = CONV | {"n": 1, "c": 4, "h": 224, "w": 224, "stride": 1}  # 50,176 pixels: padded and converted
    found = curves(samples([row("conv2d", images, list=listed(("first_layer", 0.5), ("nhwcAddPadding", 0.125), IN, OUT))]))
    assert found == {"conv_first": 0.8125}


def test_the_output_conversion_is_a_sample():
    (_, out) = samples([row("conv2d", list=listed(("gemm", 0.5), IN, OUT))])
    assert out == Sample(Kernel("layout", 2 * 2 * 1280.0, rows=64), 0.0625)
    twice = [*listed(("gemm", 0.5), IN), *listed(OUT, count=2.0)]
    assert curves(samples([row("conv2d", list=twice)])).keys() == {"conv"}
    assert curves(samples([row("conv2d", list=listed(("gemm", 0.5), IN))])).keys() == {"conv"}


def test_the_input_conversion_is_a_sample_where_no_weight_is_converted():
    strided = CONV | {"kh": 1, "kw": 1, "ph": 0, "pw": 0}
    found = list(samples([row("conv2d", strided, list=listed(("gemm", 0.5), IN, OUT))]))
    assert [(s.kernel.curve, s.kernel.rows, s.seconds) for s in found] == [
        ("conv", 0.0, 0.8125),
        ("layout", 64, 0.0625),
        ("layout", 32, 0.125),
    ]
    twice = [*listed(("gemm", 0.5), OUT), *listed(IN, count=2.0)]
    assert [s.kernel.rows for s in samples([row("conv2d", strided, list=twice)])] == [0.0, 64]


def test_a_large_weights_conversion_is_a_sample():
    # x of 2 x 512 values, w of 512 x 512 x 9: the input's share is a floor of 1.6 µs
    deep = CONV | {"n": 1, "c": 512, "out": 512, "h": 2, "w": 1, "stride": 1}
    kernels = [*listed(("gemm", 0.5), OUT), *listed(IN, count=2.0)]
    found = list(samples([row("conv2d", deep, list=kernels)]))
    assert [s.kernel.curve for s in found] == ["conv", "layout", "layout_weight"]
    assert found[2] == Sample(Kernel("layout_weight", 2 * 2 * 512 * 512 * 9.0), pytest.approx(0.125 - 1.6e-6))
    # once, or next to a large input: not known whose time it is
    assert len(list(samples([row("conv2d", deep, list=listed(("gemm", 0.5), IN, OUT))]))) == 2
    wide = deep | {"h": 32, "w": 18}  # the input is an eighth of the weight
    assert len(list(samples([row("conv2d", wide, list=kernels)]))) == 2
    assert len(list(samples([row("conv2d", wide | {"w": 17}, list=kernels)]))) == 3
    assert len(list(samples([row("conv2d", deep | {"out": 1024, "h": 32, "w": 24}, list=kernels)]))) == 3  # the output may be large


def test_nhwc_rows_are_lowered_as_compiled():
    found = curves(samples([row("conv2d", CONV | {"layout": "nhwc"}, list=listed(("gemm", 0.75), IN))]))
    assert found == {"conv": 0.875}
    direct = CONV | {"kh": 1, "kw": 1, "ph": 0, "pw": 0, "layout": "nhwc"}
    assert curves(samples([row("conv2d", direct, list=listed(("gemm", 1.0), OUT, IN))])) == {"conv_1x1_nhwc": 0.8125}
    assert curves(samples([row("conv2d depthwise", BY_HAND["conv2d depthwise"][0] | {"layout": "nhwc"})])) == {"depthwise_nhwc": 1.0}


# ---- the evidence as it is


def test_the_h200s_rows_give_samples_of_every_important_kind():
    found = list(samples([r for file in evidence("h200_sxm") for r in file.rows]))
    count = {curve: sum(s.kernel.curve == curve for s in found) for curve in {s.kernel.curve for s in found}}
    assert len(found) > 1500
    assert all(s.seconds > 0 for s in found)
    assert all(isinstance(s.kernel.data, (int, float)) and s.kernel.count == 1.0 for s in found)
    for curve in ("gemm", "conv", "conv_1x1", "layout", "batch_norm", "attention", "attention_masked", "softmax", "layer_norm", "fused"):
        assert count[curve] >= 10, curve
    assert {"tiny", "layout_weight", "group_norm", "gemm_fp8", "gemm_int8", "cast_up", "depthwise", "attention_decode"} <= set(count)
