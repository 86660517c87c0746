"""Kernels of a training step, and of tensors in another layout."""

from dataclasses import replace

from on_machines import lower
from small_graphs import tensor

from ironlaw.backends.kernel import Kernel
from ironlaw.backends.multi_tensor import list_launches
from ironlaw.engine.device.fusion_rules import decide
from ironlaw.engine.device.types import bytes_per_element
from ironlaw.engine.device.work import category, op

X, W, G = tensor("x", 2, 8, 4, 4), tensor("w", 16, 8, 3, 3, role="weight"), tensor("g", 2, 16, 4, 4)
TINY = Kernel("tiny", 0.0)
FLOPS = 2.0 * 2 * 16 * 16 * 8 * 9  # a multiply-add for each output and each of 8·3·3 weights


def test_a_gradient_is_to_the_planner_what_its_op_is():
    like = {
        "conv_transpose2d": "conv2d", "conv_backward": "conv2d", "attention_backward": "attention", "norm_backward": "layer_norm",
        "batch_norm_train": "layer_norm",  # statistics over a channel, unlike in inference
        "batch_norm_backward": "layer_norm", "gelu_backward": "gelu", "max_pool2d_backward": "max_pool2d",
        "embedding_backward": "embedding", "foreach": "add",
    }  # fmt: skip
    assert {kind: category(kind) for kind in like} == {kind: category(forward) for kind, forward in like.items()}
    assert op("gelu_backward", "g", [G, G], [G]).work.flops == 11 * 512  # eleven an element


def test_a_convolution_backwards_is_one_for_each_gradient_wanted():
    both = op("conv_backward", "b", [G, X, W], [tensor("dx", 2, 8, 4, 4), tensor("dw", 16, 8, 3, 3)], wanted=2)
    moved = 1024.0 + 512.0 + 2304.0
    assert lower(both) == (
        Kernel("conv_dgrad", moved, FLOPS, depth=144),  # over 16 channels of the gradient and 9 taps
        Kernel("conv_wgrad", moved, FLOPS, depth=32),  # over 2 images of 16 outputs
        Kernel("layout", 2048.0, rows=32, count=2.0),
        Kernel("layout", 1024.0, rows=16, count=2.0),
        Kernel("layout_weight", 4608.0, count=2.0),
        TINY,
    )
    one = op("conv_backward", "b", [G, X, W], [tensor("dw", 16, 8, 3, 3)], wanted=1)
    assert [(k.curve, k.count) for k in lower(one)] == [
        ("conv_wgrad", 1.0), ("layout", 1.0), ("layout", 1.0), ("layout_weight", 1.0), ("tiny", 1.0),
    ]  # fmt: skip
    assert lower(one)[0].flops == FLOPS


def test_a_convolution_backwards_over_a_strip_of_rows():
    # 2 x 6 outputs of 1 x 3 windows: the input's gradient sums 16 channels and 3 taps, the weight's 2 images of 12 outputs
    x, g, w = tensor("x", 2, 8, 2, 8), tensor("g", 2, 16, 2, 6), tensor("w", 16, 8, 1, 3, role="weight")
    found = lower(op("conv_backward", "b", [g, x, w], [x, w], wanted=2))
    assert [(k.curve, k.depth) for k in found[:2]] == [("conv_dgrad", 48), ("conv_wgrad", 24)]
    tall = op(
        "conv_backward", "b", [tensor("g", 2, 16, 4, 2), tensor("x", 2, 8, 4, 2), tensor("w", 16, 8, 3, 1, role="weight")], [x, w], wanted=2
    )
    assert [(k.curve, k.depth) for k in lower(tall)[:2]] == [("conv_dgrad", 48), ("conv_wgrad", 16)]


def point(size=4, stride=1, wanted=2):
    x, w = tensor("x", 2, 8, size, size), tensor("w", 16, 8, 1, 1, role="weight")
    return op("conv_backward", "b", [tensor("g", 2, 16, size // stride, size // stride), x, w], [x, w][-wanted:], wanted=wanted)


def test_a_1x1_convolution_backwards_is_two_matrix_products():
    data, flops = 1024.0 + 512.0 + 256.0, 2.0 * 2 * 16 * 16 * 8
    assert lower(point()) == (Kernel("conv_1x1", data, flops, depth=16), Kernel("conv_wgrad", data, flops, depth=32), TINY)
    assert [k.curve for k in lower(point(wanted=1))] == ["conv_wgrad", "tiny"]
    of_input = replace(point(wanted=1), outputs=point().outputs[:1])  # the weight is frozen
    assert [k.curve for k in lower(of_input)] == ["conv_1x1", "tiny"]
    # planes of 49 fill no vector, those of 36 half of one: slower products, each image by itself
    assert [(k.curve, k.depth) for k in lower(point(7))] == [("conv_1x1_odd", 16), ("conv_1x1_odd", 49), ("tiny", 0.0)]
    assert [(k.curve, k.depth) for k in lower(point(6))] == [("conv_1x1_even", 16), ("conv_1x1_even", 36), ("tiny", 0.0)]
    # a stride skips outputs: converted, but for the weights
    assert [(k.curve, k.count) for k in lower(point(8, stride=2))] == [
        ("conv_dgrad", 1.0), ("conv_wgrad", 1.0), ("layout", 2.0), ("layout", 2.0), ("tiny", 1.0),
    ]  # fmt: skip


def gradients(channels, out, each, k, size=8, dtype="bf16", **attrs):
    x, w = tensor("x", 2, channels, size, size, dtype=dtype), tensor("w", out, each, k, k, dtype=dtype, role="weight")
    return lower(op("conv_backward", "b", [tensor("g", 2, out, size, size, dtype=dtype), x, w], [x, w], wanted=2, **attrs))


def test_gradients_of_a_depthwise_convolution_are_pytorchs_own():
    # counted on mobilenet_v3_small: two kernels, nothing converted; two bytes take as long as four
    assert gradients(32, 32, 1, 3) == gradients(32, 32, 1, 3, dtype="fp32") == (
        Kernel("depthwise_backward", 4.0 * (2 * 2 * 32 * 64 + 32 * 9), 2.0 * 2 * 32 * 64 * 9, depth=9),
        Kernel("depthwise_wgrad", 4.0 * (2 * 2 * 32 * 64 + 32 * 9), 2.0 * 2 * 32 * 64 * 9, depth=9),
    )  # fmt: skip
    # counted on rdnet_base, in NHWC: cuDNN's own, and the weight's gradient is joined
    assert [k.curve for k in gradients(32, 32, 1, 3, layout="nhwc")] == ["depthwise_nhwc_dgrad", "depthwise_nhwc_wgrad", "tiny"]


def test_gradients_of_few_channels_in_groups_fill_a_tile():
    whole, grouped = gradients(64, 64, 64, 3), gradients(64, 64, 8, 3)
    assert [k.curve for k in whole] == [k.curve for k in grouped]
    assert grouped[0].flops == whole[0].flops == 2.0 * 2 * 64 * 64 * 64 * 9


def test_channels_that_fill_no_vector_are_filled_up_for_their_gradients():
    odd = [(k.curve, k.count) for k in gradients(18, 64, 18, 1)]
    assert odd == [
        ("conv_dgrad", 1.0), ("conv_wgrad", 1.0), ("layout", 2.0), ("layout", 2.0), ("layout_weight", 2.0), ("tiny", 4.0),
    ]  # fmt: skip
    assert [k.curve for k in gradients(18, 64, 18, 1, size=1)] == ["conv_1x1_even", "conv_1x1_even", "tiny"]


def test_a_transposed_convolution():
    made = op("conv_transpose2d", "t", [X, tensor("w", 8, 16, 3, 3, role="weight")], [tensor("y", 2, 16, 6, 6)])
    assert lower(made) == (
        Kernel("conv_transpose", 512.0 + 2304.0 + 2304.0, 2.0 * 256 * 16 * 9, depth=72),
        Kernel("layout", 1024.0, rows=16),
        Kernel("layout", 4608.0, rows=32),
        Kernel("layout_weight", 4608.0),
    )
    biased = op("conv_transpose2d", "t", [X, tensor("w", 8, 16, 3, 1, role="weight"), tensor("b", 16)], [tensor("y", 2, 16, 6, 4)])
    assert (biased.work.matmul_flops, biased.work.flops) == (2.0 * 256 * 16 * 3, 2.0 * 256 * 16 * 3 + 2 * 16 * 6 * 4)
    assert made.work.flops == made.work.matmul_flops
    assert lower(biased)[0].depth == 24


def test_attention_and_norms_backwards():
    q = tensor("q", 1, 2, 3, 4)
    attention = op("attention_backward", "a", [q] * 5, [q] * 3)
    assert lower(attention) == (
        Kernel("attention_dot", 96.0),
        # one tile of 128 x 128 scores on each of 132 processors: five products of a head padded to 64, and an exponential
        Kernel("attention_backward", 8 * 48.0, 132 * 128 * 128 * (5 * 2 * 64 + 256.0), depth=128),
        Kernel("attention_dq", 48.0 + 96.0),
        TINY,
    )
    long = tensor("q", 1, 132, 1024, 64)
    full, half = (lower(op("attention_backward", "a", [long] * 5, [long] * 3, causal=c))[1].flops for c in (False, True))
    assert half / full == 5.5 / 8  # of 8 waves, 9/16 and the last
    x = tensor("x", 6, 8)
    norm = op("norm_backward", "n", [x, x], [x])
    assert lower(norm) == (Kernel("layer_norm_backward", 3 * 96.0, rows=6.0, depth=8), Kernel("layer_norm_weights", 192.0, depth=6.0))


def test_a_gradient_may_be_wider_than_what_it_is_of():
    x, g = tensor("x", 2, 3, 8), tensor("g", 2, 3, 8, dtype="fp32")
    norm = op("norm_backward", "n", [g, x], [x])
    assert lower(norm) == (
        Kernel("layer_norm_backward", 192.0 + 96.0 + 96.0, rows=6.0, depth=8), Kernel("layer_norm_weights", 288.0, depth=6.0),
    )  # fmt: skip
    g = tensor("g", 2, 8, 4, 4, dtype="fp32")
    assert lower(op("batch_norm_backward", "n", [g, X], [X])) == (
        Kernel("batch_norm_backward", 2 * (1024.0 + 512.0) + 512.0, rows=8, depth=32.0 * 1.45),
    )  # fmt: skip


def test_attention_backwards_over_other_keys_and_wider_values():
    # 2 heads of 3 queries and 300 keys of 4, values of 6: 1,800 scores; QK, dQ and dK over 4, dV and dP over 6
    q, k, v, y = tensor("q", 1, 2, 3, 4), tensor("k", 1, 2, 300, 4), tensor("v", 1, 2, 300, 6), tensor("y", 1, 2, 3, 6)
    made = op("attention_backward", "a", [y, q, k, v, y], [q, k, v])
    assert (made.work.matmul_flops, made.work.flops) == (2.0 * 1800 * (3 * 4 + 2 * 6), 2.0 * 1800 * 24 + 8 * 1800)
    dot, main, dq, tiny = lower(made)
    assert (dot, dq, tiny) == (Kernel("attention_dot", 96.0), Kernel("attention_dq", 48.0 + 96.0), TINY)
    assert main.flops == 132 * 128 * 384 * (5 * 2 * 64 + 256.0)  # one tile of queries, three of keys


def test_batch_norm_in_training():
    scale = tensor("s", 8)
    there = op("batch_norm_train", "n", [X, scale, scale], [tensor("y", 2, 8, 4, 4)], row=32, axis=1)
    assert lower(there) == (
        Kernel("batch_norm_stats", 512.0, rows=8, depth=32.0),
        TINY,
        Kernel("batch_norm", 512.0 + 16.0 + 16.0 + 512.0, rows=16, depth=16),
    )
    back = op("batch_norm_backward", "n", [tensor("g", 2, 8, 4, 4), X], [tensor("dx", 2, 8, 4, 4)])
    assert lower(back) == (Kernel("batch_norm_backward", 5 * 512.0, rows=8, depth=32.0 * 1.45),)  # its input was written long ago
    again = op("batch_norm_backward", "n", [tensor("g", 2, 8, 4, 4), X], [tensor("dx", 2, 8, 4, 4)], hot=True)
    assert lower(again) == (Kernel("batch_norm_backward", 5 * 512.0, rows=8, depth=32.0),)


def test_batch_norm_of_columns_in_training():
    # 6 rows of 8 channels: 96 bytes, summed down the columns, then read and written; backwards two are read and one is written
    x, scale = tensor("x", 6, 8), tensor("s", 8)
    there = op("batch_norm_train", "n", [x, scale, scale], [tensor("y", 6, 8)], row=6, axis=1)
    assert lower(there) == (Kernel("sum_columns", 96.0, depth=6), TINY, Kernel("broadcast", 192.0, rows=48))
    back = op("batch_norm_backward", "n", [tensor("g", 6, 8), x], [tensor("dx", 6, 8)])
    assert lower(back) == (Kernel("sum_columns", 192.0, depth=6), Kernel("broadcast", 288.0, rows=48))


def test_the_gradient_of_a_bias_is_a_sum_over_images_and_pixels():
    # 2 images of 16 pixels for each of 16 channels: 1,024 bytes; many pixels are shared out over blocks, whose counters are cleared
    given, wanted = [G, X, W], [X, W]
    plain, biased = (lower(op("conv_backward", "b", given, wanted, wanted=2, **more)) for more in ({}, {"bias": True}))
    assert biased == (*plain, Kernel("sum_planes", 1024.0, rows=512.0))
    large = op("conv_backward", "b", [tensor("g", 2, 16, 32, 32), tensor("x", 2, 8, 32, 32), W], wanted, wanted=2, bias=True)
    assert lower(large)[-2:] == (Kernel("sum_planes", 65536.0, rows=32768.0), TINY)


def test_gradients_of_pooling_and_lookups_are_filled_first():
    g, i = tensor("g", 2, 8, 2, 2), tensor("i", 2, 8, 2, 2, dtype="int64")
    pool = op("max_pool2d_backward", "p", [g, i], [X])
    assert lower(pool) == (Kernel("fill", 512.0), Kernel("max_pool2d_backward", 128.0 + 512.0 + 512.0, rows=256))
    rows, ids = tensor("g", 2, 3, 4), tensor("i", 2, 3, dtype="int64")
    table = op("embedding_backward", "e", [rows, ids], [tensor("t", 100, 4)])
    assert lower(table) == (Kernel("fill", 800.0), Kernel("embedding_backward", 96.0, depth=6.0))


def test_channels_last_converts_nothing():
    y = tensor("y", 2, 16, 4, 4)
    assert lower(op("conv2d", "c", [X, W], [y], layout="nhwc")) == (Kernel("conv", 512.0 + 2304.0 + 1024.0, FLOPS, depth=72),)
    narrow = op("conv2d", "c", [X, tensor("w", 16, 8, 1, 1, role="weight"), tensor("b", 16)], [y], layout="nhwc")
    assert [k.curve for k in lower(narrow)] == ["conv_1x1_nhwc", "broadcast"]
    assert len(lower(op("conv2d", "c", [X, W], [y]))) > 1
    each = op("conv2d", "c", [X, tensor("w", 8, 1, 7, 7, role="weight")], [X], layout="nhwc")
    assert lower(each) == (Kernel("depthwise_nhwc", 512.0 + 784.0 + 512.0, 2.0 * 256 * 49, depth=49),)


def test_what_is_not_known_does_not_fuse():
    x, y = tensor("x", 6, 8), tensor("y", 6, 8)
    mystery, relu = op("unknown", "m", [x], [y], aten="mystery"), op("relu", "r", [y], [x])
    for pair in ((mystery, relu), (relu, mystery)):
        assert decide(*pair).reason == "nothing is known of what unknown does inside"
        assert not decide(*pair).fused


LISTS = (
    (110, 1, 1.0), (111, 1, 2.0), (64, 2, 1.0), (65, 2, 2.0), (48, 3, 1.0), (49, 3, 2.0), (36, 4, 1.0), (37, 4, 2.0), (30, 5, 1.0),
    (31, 5, 2.0), (31, 9, 2.0),
)  # fmt: skip


def test_an_optimisers_lists_go_out_in_few_launches():
    x, y = tensor("x", 6, 8), tensor("y", 6, 8)
    for tensors, lists, launches in LISTS:
        assert list_launches([x] * (tensors * lists), [y] * tensors) == launches
    big = tensor("big", 320 * 65536 + 1)
    made = op("foreach", "step", [big], [big], launches=list_launches([big], [big]))
    assert made.work.launches == 2.0
    elements = made.work.bytes / 2 / bytes_per_element(big.dtype)  # each costs by itself, beside its bytes
    assert lower(made) == (Kernel("foreach", made.work.bytes / 2, made.work.flops / 2, rows=elements, depth=65536.0, count=2.0),)
    short = op("foreach", "step", [x, x], [x, y], launches=1.0)
    assert lower(short)[0].depth == 48  # a block has no more to go through than the largest tensor
    assert lower(made, compiled=True) == lower(made)
