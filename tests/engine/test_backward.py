"""Kernels of a training step, and of tensors in another layout."""

from ironlaw.engine.lowering import Kernel, lower
from ironlaw.engine.tree import decide
from ironlaw.engine.work import op

from .build import tensor

X, W, G = tensor("x", 2, 8, 4, 4), tensor("w", 16, 8, 3, 3, role="weight"), tensor("g", 2, 16, 4, 4)
FLOPS = 2.0 * 2 * 16 * 16 * 8 * 9  # a multiply-add for each output and each of 8·3·3 weights


def test_a_convolution_backwards_is_one_for_each_gradient_wanted():
    both = op("conv_backward", "b", [G, X, W], [tensor("dx", 2, 8, 4, 4), tensor("dw", 16, 8, 3, 3)], wanted=2)
    assert lower(both) == (
        Kernel("conv", 1024.0 + 512.0 + 2304.0, FLOPS, depth=72, count=2.0),
        Kernel("layout", 2048.0, rows=32, count=2.0),
        Kernel("layout", 1024.0, rows=16, count=2.0),
        Kernel("layout_weight", 4608.0, count=2.0),
    )
    one = op("conv_backward", "b", [G, X, W], [tensor("dw", 16, 8, 3, 3)], wanted=1)
    assert [k.count for k in lower(one)] == [1.0] * 4
    assert lower(one)[0].flops == FLOPS


def test_a_transposed_convolution():
    made = op("conv_transpose2d", "t", [X, tensor("w", 8, 16, 3, 3, role="weight")], [tensor("y", 2, 16, 6, 6)])
    assert lower(made) == (
        Kernel("conv", 512.0 + 2304.0 + 2304.0, 2.0 * 256 * 16 * 9, depth=72),
        Kernel("layout", 1024.0, rows=16),
        Kernel("layout", 4608.0, rows=32),
        Kernel("layout_weight", 4608.0),
    )


def test_attention_and_norms_backwards():
    q = tensor("q", 1, 2, 3, 4)
    attention = op("attention_backward", "a", [q] * 5, [q] * 3)
    assert lower(attention) == (
        Kernel("fused_rows", 96.0, rows=6),
        Kernel("attention", 8 * 48.0, 5 * 2.0 * 18 * 4, 2),
        Kernel("cast", 144.0),
    )
    x = tensor("x", 6, 8)
    norm = op("norm_backward", "n", [x, x], [x])
    assert lower(norm) == (Kernel("layer_norm", 3 * 96.0, 12.0 * 48, 6.0), Kernel("fused_rows", 192.0, 0.0, 6.0))


def test_channels_last_converts_nothing():
    y = tensor("y", 2, 16, 4, 4)
    assert lower(op("conv2d", "c", [X, W], [y], layout="nhwc")) == (Kernel("conv", 512.0 + 2304.0 + 1024.0, FLOPS, depth=72),)
    narrow = op("conv2d", "c", [X, tensor("w", 16, 8, 1, 1, role="weight"), tensor("b", 16)], [y], layout="nhwc")
    assert [k.curve for k in lower(narrow)] == ["conv_1x1_nhwc", "broadcast"]
    assert len(lower(op("conv2d", "c", [X, W], [y]))) > 1


def test_what_is_not_known_does_not_fuse():
    x, y = tensor("x", 6, 8), tensor("y", 6, 8)
    mystery, relu = op("unknown", "m", [x], [y], aten="mystery"), op("relu", "r", [y], [x])
    for pair in ((mystery, relu), (relu, mystery)):
        assert decide(*pair).reason == "nothing is known of what unknown does inside"
        assert not decide(*pair).fused


def test_an_optimisers_lists_go_out_in_few_launches():
    x, y = tensor("x", 6, 8), tensor("y", 6, 8)
    for tensors, lists, launches in ((110, 1, 1.0), (111, 1, 2.0), (64, 2, 1.0), (65, 2, 2.0), (31, 5, 2.0), (31, 9, 2.0)):
        made = op("foreach", "step", [x] * (tensors * lists), [y] * tensors)
        assert made.work.launches == launches
    big = tensor("big", 320 * 65536 + 1)
    made = op("foreach", "step", [big], [big])
    assert made.work.launches == 2.0
    assert lower(made) == (Kernel("elementwise", made.work.bytes / 2, made.work.flops / 2, count=2.0),)
