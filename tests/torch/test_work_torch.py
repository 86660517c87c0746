"""Work per op kind against PyTorch: output shapes, and FLOPs by its counter, on meta tensors."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F
from torch.utils.flop_counter import FlopCounterMode

from ironlaw.engine.device.types import Tensor
from ironlaw.engine.device.work import conv2d_shape, op


def meta(*shape: int) -> torch.Tensor:
    return torch.empty(shape, device="meta", dtype=torch.float16)


def counted(call) -> tuple[torch.Tensor, int]:
    with FlopCounterMode(display=False) as counter:
        result = call()
    return result, counter.get_total_flops()


def ours(*arrays: torch.Tensor) -> list[Tensor]:
    return [Tensor(f"t{i}", tuple(a.shape), "fp16") for i, a in enumerate(arrays)]


@pytest.mark.parametrize(
    ("shape", "out", "kernel", "stride", "padding", "dilation", "groups"),
    [
        ((2, 3, 32, 32), 8, (3, 3), 1, (1, 1), 1, 1),
        ((1, 3, 224, 224), 64, (7, 7), 2, (3, 3), 1, 1),
        ((2, 16, 28, 28), 16, (3, 3), 2, (1, 1), 1, 16),  # depthwise
        ((2, 16, 28, 28), 32, (3, 3), 1, (1, 1), 1, 4),  # grouped
        ((2, 16, 28, 28), 32, (1, 1), 1, (0, 0), 1, 1),
        ((1, 4, 30, 25), 6, (3, 5), 2, (2, 1), 2, 2),  # dilated, uneven
        ((1, 1, 49, 10), 64, (10, 4), 2, (5, 1), 1, 1),
    ],
)
@pytest.mark.parametrize("bias", [False, True])
def test_conv2d(shape, out, kernel, stride, padding, dilation, groups, bias):
    x, w = meta(*shape), meta(out, shape[1] // groups, *kernel)
    b = meta(out) if bias else None
    y, flops = counted(lambda: F.conv2d(x, w, b, stride, padding, dilation, groups))
    assert conv2d_shape(shape, out, kernel, stride, padding, dilation) == tuple(y.shape)
    made = op("conv2d", "conv", ours(x, w, *([b] if bias else [])), ours(y))
    assert made.work.matmul_flops == flops
    assert made.work.flops == flops + (y.numel() if bias else 0)
    assert made.work.bytes == 2 * (x.numel() + w.numel() + y.numel() + (out if bias else 0))


@pytest.mark.parametrize(
    ("shape", "kernel", "stride", "padding"), [((2, 3, 32, 32), (3, 3), 2, (1, 1)), ((1, 8, 17, 15), (2, 3), 1, (0, 1))]
)
def test_pooling_windows(shape, kernel, stride, padding):
    y = F.max_pool2d(meta(*shape), kernel, stride, padding)
    assert conv2d_shape(shape, shape[1], kernel, stride, padding) == tuple(y.shape)


@pytest.mark.parametrize(
    ("kind", "a", "b"),
    [("matmul", (5, 7), (7, 3)), ("matmul", (2, 4, 5, 7), (2, 4, 7, 3)), ("bmm", (6, 5, 7), (6, 7, 3)), ("matmul", (1, 4096), (4096, 128))],
)
def test_products(kind, a, b):
    x, w = meta(*a), meta(*b)
    y, flops = counted(lambda: x @ w)
    assert op(kind, "product", ours(x, w), ours(y)).work.matmul_flops == flops


@pytest.mark.parametrize("rows", [(6,), (2, 3), (2, 3, 4)])
@pytest.mark.parametrize("bias", [False, True])
def test_linear(rows, bias):
    x, w, b = meta(*rows, 7), meta(5, 7), meta(5)
    y, flops = counted(lambda: F.linear(x, w, b if bias else None))
    assert op("linear", "fc", ours(x, w, *([b] if bias else [])), ours(y)).work.matmul_flops == flops


@pytest.mark.parametrize(("s", "t"), [(16, 16), (1, 128), (33, 8)])
def test_attention_is_its_two_products(s, t):
    # the counter takes scaled_dot_product_attention on a CPU as 0, so its parts are counted
    q, k, v = meta(2, 4, s, 8), meta(2, 4, t, 8), meta(2, 4, t, 8)
    y, flops = counted(lambda: torch.softmax(q @ k.transpose(-1, -2), -1) @ v)
    for impl in ("naive", "flash"):
        assert op("attention", "a", ours(q, k, v), ours(y), impl=impl).work.matmul_flops == flops


def test_element_wise_ops_and_norms_count_nothing_in_the_counter():
    x = meta(4, 8)
    for kind, call in (("relu", torch.relu), ("softmax", lambda t: t.softmax(-1)), ("layer_norm", lambda t: F.layer_norm(t, (8,)))):
        y, flops = counted(lambda call=call: call(x))
        assert op(kind, kind, ours(x), ours(y)).work.matmul_flops == flops == 0


@pytest.mark.parametrize("shapes", [((4, 6), (6,)), ((4, 1), (1, 6)), ((2, 1, 3), (4, 1))])
def test_broadcasting(shapes):
    a, b = (meta(*shape) for shape in shapes)
    y = a + b
    made = op("add", "add", ours(a, b), ours(y))
    assert made.work.flops == y.numel()
    assert made.work.read == 2 * (a.numel() + b.numel())
