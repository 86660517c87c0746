"""Which images have their channels innermost once a graph is compiled."""

from dataclasses import replace

import pytest
from small_graphs import tensor

from ironlaw.backends.cuda import BACKEND
from ironlaw.backends.cuda.layout import channels_last, laid_out, parts, prepared
from ironlaw.backends.inductor import INDUCTOR
from ironlaw.engine.device.fusion import fuse
from ironlaw.engine.device.machine import Plan
from ironlaw.engine.device.types import Graph
from ironlaw.engine.device.work import op
from ironlaw.registry.machines import hardware
from ironlaw.registry.workloads import workload


def image(name: str):
    return tensor(name, 2, 64, 8, 8)


def norm(name: str, x: str, y: str):
    return op("group_norm", name, [image(x)], [image(y)], groups=32)


def conv(name: str, x: str, y: str):
    return op("conv2d", name, [image(x), tensor(f"{name}.w", 64, 64, 1, 1, role="weight")], [image(y)])


def layouts(*ops):
    return {made.name: made.attrs.get("layout") for made in laid_out(ops)}


def test_a_given_image_is_turned_for_the_convolution_and_stays_so():
    ops = norm("first", "x", "a"), conv("one", "a", "b"), norm("second", "b", "c"), conv("two", "c", "d"), norm("last", "d", "e")
    assert layouts(*ops) == {"first": "to_nhwc", "one": None, "second": "nhwc", "two": None, "last": "nhwc"}


def test_what_no_convolution_reads_is_left():
    assert layouts(norm("alone", "x", "a")) == {"alone": ""}
    assert layouts(norm("alone", "x", "a"), conv("other", "x", "b")) == {"alone": "", "other": None}


def test_element_wise_ops_hand_the_layout_on():
    add = op("add", "add", [image("x"), image("b")], [image("c")])
    assert layouts(conv("one", "x", "b"), add, norm("after", "c", "d"))["after"] == "nhwc"


def test_a_sequence_is_no_image():
    flat = op("copy", "flatten", [image("b")], [tensor("c", 2, 64, 64)])
    back = op("copy", "unfold", [tensor("c", 2, 64, 64)], [image("d")])
    assert layouts(conv("one", "x", "b"), flat, back, norm("after", "d", "e"))["after"] == ""


def test_a_result_keeps_its_layout_past_other_convolutions():
    """The second convolution lies between the first one's result and the norm that reads it."""
    assert layouts(conv("one", "x", "b"), conv("two", "x", "c"), norm("after", "b", "d"))["after"] == "nhwc"


def test_ops_are_the_same_but_for_the_layout():
    ops = conv("one", "x", "b"), norm("second", "b", "c")
    first, second = laid_out(ops)
    assert first is ops[0]
    assert second == replace(ops[1], attrs={"groups": 32, "layout": "nhwc"}, key=(*ops[1].key, (("layout", "nhwc"),)))
    assert laid_out([ops[0]]) == (ops[0],)


def test_a_fused_group_knows_too():
    """A U-Net's block: the first norm turns its image, the second finds it turned."""
    ops = laid_out(fuse(workload("unet_block", dtype="fp16"), INDUCTOR).graph.ops)
    layouts = [op.attrs["layout"] for op in ops if "layout" in op.attrs]
    assert layouts == ["to_nhwc", "nhwc"]
    assert len({op.key for op in ops if "layout" in op.attrs}) == 2


def test_graphs_without_group_norm_are_not_touched():
    ops = (conv("one", "x", "b"),)
    assert laid_out(fuse(Graph("g", ops, "fp16")).graph.ops) == ops


# ---- what Inductor decides


@pytest.mark.parametrize(
    ("summed", "outputs", "count"),
    [
        (3136, 3584, 25), (784, 7168, 7), (196, 1536, 2), (196, 3840, 2), (49, 4608, 1), (3136, 6144, 25), (784, 12288, 1), (32, 16, 1),
    ],
)  # fmt: skip
def test_parts_of_a_sum_as_inductor_cuts_it(summed, outputs, count):
    """Read off what PyTorch 2.11 lowered for 132 multiprocessors: HGNet, MobileNetV3 and ConvNeXt V2 at batch 16."""
    assert parts(summed, outputs, 132) == count


def convolution(name: str, out: int, each: int, groups: int = 1, size: int = 3, rows: int = 32):
    x, y = tensor(f"{name}.x", 1, each * groups, rows, rows), tensor(f"{name}.y", 1, out, rows, rows)
    return op("conv2d", name, [x, tensor(f"{name}.w", out, each, size, size, role="weight")], [y], groups=groups)


def test_nhwc_where_pytorch_expects_to_gain():
    """Its own figures: 0.823 of the time, 1.358 for grouped ones; so groups may have up to a third of the arithmetic."""
    plain, grouped = convolution("plain", 128, 128), convolution("grouped", 256, 16, groups=16)
    assert channels_last(Graph("g", (plain,), "fp16"))
    assert not channels_last(Graph("g", (grouped,), "fp16"))
    share = grouped.work.matmul_flops / plain.work.matmul_flops
    assert share == 0.25
    assert channels_last(Graph("g", (plain, grouped), "fp16"))
    assert not channels_last(Graph("g", (plain, *(convolution(f"grouped {i}", 256, 16, groups=16) for i in range(2))), "fp16"))
    assert channels_last(Graph("g", (convolution("depthwise", 256, 1, groups=256),), "fp16"))
    assert not channels_last(Graph("g", (norm("alone", "x", "a"),), "fp16"))


def test_layouts_are_left_alone_where_convolutions_are_few():
    """A ViT has one, for its patches: cuDNN then converts, as in eager mode (DeiT on an H200: six kernels for it)."""
    machine, vit = hardware("h200_sxm"), workload("vit_b16", batch=1, dtype="fp16")
    assert not channels_last(vit)
    (patches,) = (one for one in prepared(vit, machine).ops if one.kind == "conv2d")
    assert patches.attrs["layout"] == "nchw"
    assert channels_last(workload("resnet50", batch=1, dtype="fp16"))


def test_a_sum_over_planes_is_cut_only_where_channels_are_innermost():
    machine = hardware("h200_sxm")
    conv = convolution("c", 256, 64, rows=28)
    mean = op("mean", "mean", [conv.outputs[0]], [tensor("m", 1, 256, 1, 1)], over="row")
    alone = op("mean", "mean", [tensor("x", 1, 256, 28, 28, role="input")], [tensor("m", 1, 256, 1, 1)], over="row")
    assert prepared(Graph("g", (conv, mean), "fp16"), machine).ops[1].attrs["split"]
    assert "split" not in prepared(Graph("g", (alone,), "fp16"), machine).ops[0].attrs
    act = op("relu", "act", [conv.outputs[0]], [tensor("a", 1, 256, 28, 28)])
    after = op("mean", "mean", [tensor("a", 1, 256, 28, 28)], [tensor("m", 1, 256, 1, 1)], over="row")
    groups = fuse(prepared(Graph("g", (conv, act, after), "fp16"), machine), INDUCTOR).groups
    assert [[part.kind for part in group.ops] for group in groups] == [["conv2d"], ["relu"], ["mean"]]


def test_depthwise_taps_that_are_no_square_have_a_slow_kernel_on_nhwc():
    """Measured with five taps and more: several times as long as a square of 9. A line of one pixel's height has a kernel of its own."""

    def seconds(*taps, plane=(32, 32)):
        x, y = (tensor(name, 64, 96, *plane, dtype="bf16") for name in "xy")
        one = op("conv2d", "c", (x, tensor("w", 96, 1, *taps, dtype="bf16")), (y,), layout="nhwc")
        h200 = hardware("h200_sxm")
        cost = h200.calibration.cost(one, h200, Plan(mode="compiled"))
        return cost.device, cost.doubt.place

    (narrow, place), (square, _) = seconds(3, 1), seconds(3, 3)
    assert narrow > 3 * square
    assert place == "inside"
    assert seconds(1, 3, plane=(1, 1024))[0] < 1.5 * square


def test_a_weight_is_turned_once_however_many_convolutions_read_it():
    """As in spikes_with_a_borrowed_slope: one weight for sixteen steps in time, whose copies one loop makes."""
    machine, w = hardware("h200_sxm"), tensor("w", 64, 64, 3, 3, role="weight")
    steps = tuple(op("conv2d", f"c{i}", [image(f"x{i}"), w], [image(f"y{i}")]) for i in range(3))
    ready = prepared(Graph("g", steps, "fp16"), machine)
    assert [[kernel.curve for kernel in BACKEND.lower(one, machine, "compiled")] for one in ready.ops] == [
        ["conv", "layout"],
        ["conv"],
        ["conv"],
    ]


def test_a_film_of_few_channels_is_convolved_as_it_stands():
    """By one kernel, whose tile is full from 32 results on: with fewer it takes no less."""
    machine = hardware("h200_sxm")

    def kernels(results):
        w = tensor("w", results, 3, 9, 3, role="weight")
        x, y = tensor("x", 1, 3, 512, 64, role="input"), tensor("y", 1, results, 512, 64)
        return BACKEND.lower(op("conv2d", "c", [x, w], [y], dims=3, layout="nchw"), machine, "compiled")

    few, full, more = (kernels(results) for results in (8, 32, 64))
    assert [len(one) for one in (few, full, more)] == [1, 1, 1]
    assert few[0].flops == full[0].flops == more[0].flops / 2
