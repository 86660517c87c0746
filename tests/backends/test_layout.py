"""Which images have their channels innermost once a graph is compiled."""

from dataclasses import replace

from small_graphs import tensor

from ironlaw.backends.cuda.layout import laid_out
from ironlaw.backends.inductor import INDUCTOR
from ironlaw.engine.device.fusion import fuse
from ironlaw.engine.device.types import Graph
from ironlaw.engine.device.work import op
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
