"""Where an op lies among its like: each size is an axis on which doubling is one step; what else changes the kernel is a step too."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

import ironlaw as il
from ironlaw.backends import require
from ironlaw.backends.evidence_ops import OPS
from ironlaw.backends.rows import Row
from ironlaw.backends.signatures import APART, PLACES, STREAMS, Signature, signature
from ironlaw.engine.device.fusion import fuse
from ironlaw.engine.device.types import Graph, Tensor
from ironlaw.engine.device.work import KINDS, category, op
from ironlaw.formats import FORMATS
from ironlaw.registry.evidence import evidence

CUDA = require("cuda")


def linear(m=16, n=32, k=64, fmt="fp16", kind="linear", **attrs):
    w = Tensor("w", (k, n) if kind == "matmul" else (n, k), fmt, "weight")
    return op(kind, "it", [Tensor("x", (m, k), fmt), w], [Tensor("y", (m, n), fmt)], **attrs)


def bmm(b=4, m=16, n=32, k=64, fmt="fp16", kind="bmm"):
    return op(kind, "it", [Tensor("x", (b, m, k), fmt), Tensor("w", (b, k, n), fmt)], [Tensor("y", (b, m, n), fmt)])


def conv(batch=2, each=16, out=64, plane=64, taps=3, stride=1, groups=2, dilation=1, fmt="fp16", **attrs):
    """`taps` lie in one row of the kernel, and an image has one of its sides from `plane`."""
    x, w = Tensor("x", (batch, each * groups, stride * 8, plane // 8), fmt), Tensor("w", (out, each, 1, taps), fmt, "weight")
    y = Tensor("y", (batch, out, 8, plane // 8), fmt)
    return op("conv2d", "it", [x, w], [y], stride=stride, dilation=dilation, **attrs)


def depthwise(batch=2, c=16, plane=64, taps=3, stride=1, fmt="fp16", high=1, **attrs):
    x, w = Tensor("x", (batch, c, stride * 8, plane // 8), fmt), Tensor("w", (c, 1, high, taps), fmt, "weight")
    return op("conv2d", "it", [x, w], [Tensor("y", (batch, c, 8, plane // 8), fmt)], stride=stride, **attrs)


def attention(batch=2, heads=8, shared=2, queries=16, keys=32, d=64, fmt="fp16", mask=False, **attrs):
    q, k = Tensor("q", (batch, heads, queries, d), fmt), Tensor("k", (batch, heads // shared, keys, d), fmt)
    more = [Tensor("mask", (queries, keys), fmt)] if mask else []
    return op("attention", "it", [q, k, k, *more], [q], **attrs)


def rows(count=16, row=64, fmt="fp16", kind="softmax", **attrs):
    return op(kind, "it", [Tensor("x", (count, row), fmt)], [Tensor("y", (count, row), fmt)], **attrs)


def planes(batch=2, c=16, plane=64, groups=4, fmt="fp16", kind="group_norm", **attrs):
    x = Tensor("x", (batch, c, 8, plane // 8), fmt)
    return op(kind, "it", [x], [x], groups=groups, **attrs)


def stream(size=64, fmt="fp16", kind="add", inputs=2, **attrs):
    return op(kind, "it", [Tensor(f"x{i}", (size,), fmt) for i in range(inputs)], [Tensor("y", (size,), fmt)], **attrs)


# what builds an op of the family; the sizes that are its first axes, in order
AXES = {
    "linear": (linear, ("m", "n", "k")),
    "bmm": (bmm, ("b", "m", "n", "k")),
    "conv": (conv, ("batch", "each", "out", "plane", "taps", "stride", "groups", "dilation")),
    "depthwise": (depthwise, ("batch", "c", "plane", "taps", "stride")),
    "attention": (attention, ("batch", "shared", "queries", "keys", "d")),
    "softmax": (rows, ("count", "row")),
    "group_norm": (planes, ("batch", "c", "plane", "groups")),
    "add": (stream, ("size",)),
}
SIZES = {
    "b": 4, "m": 16, "n": 32, "k": 64, "batch": 2, "each": 16, "out": 64, "plane": 64, "taps": 3, "stride": 1, "groups": 4, "dilation": 1,
    "c": 16, "shared": 2, "queries": 16, "keys": 32, "d": 64, "count": 16, "row": 64, "size": 64,
}  # fmt: skip
HEADS = 8  # of attention: an axis together with the batch


@pytest.mark.parametrize(("family", "name"), [(family, name) for family, (_, names) in AXES.items() for name in names])
def test_doubling_a_size_is_one_step_along_its_own_axis(family, name):
    """All sizes fill vectors, before and after."""
    build, names = AXES[family]
    sizes = {key: SIZES[key] for key in names}
    here, there = signature(build(**sizes)), signature(build(**sizes | {name: 2 * sizes[name]}))
    assert here.family.split()[0] == family and here.family == there.family
    steps = [b - a for a, b in zip(here.place, there.place, strict=True)]
    assert steps == pytest.approx([float(other == name) for other in names] + [0.0] * (len(steps) - len(names)))
    begun = [math.log2(sizes[key] * (HEADS if (family, key) == ("attention", "batch") else 1)) for key in names]
    assert here.place == pytest.approx([*begun, *[0.0] * (len(steps) - len(names))])


# the sizes of a family whose vectors may be filled or not, in the order of their axes, which come after the sizes' own
ALIGNED = {
    "linear": ("n", "k"), "bmm": ("n", "k"), "conv": ("each", "plane"), "depthwise": ("across",), "softmax": ("row",), "add": ("size",),
}  # fmt: skip


def unaligned(size):
    return 0.0 if size % 8 == 0 else APART / 2 if size % 2 == 0 else APART


@pytest.mark.parametrize("family", ALIGNED)
@given(data=st.data())
def test_a_size_that_fills_no_vector_is_a_step_and_an_odd_one_two(family, data):
    build, names = AXES[family]
    sizes = {key: 8 * SIZES[key] if key == "plane" else SIZES[key] for key in names}
    for name in ALIGNED[family]:
        step = 8 if name in ("plane", "across") else 1  # an image here is eight rows high
        sizes["plane" if name == "across" else name] = step * data.draw(st.integers(1, 40).filter(lambda n: n > 1), label=name)
    told = {**sizes, "across": sizes.get("plane", 8) // 8}
    place = signature(build(**sizes)).place[len(names) : len(names) + len(ALIGNED[family])]
    assert place == tuple(unaligned(told[name]) for name in ALIGNED[family])


@pytest.mark.parametrize(("one", "axis"), [
    (attention(causal=True), 5), (attention(mask=True), 6), (attention(path="math"), 7), (conv(taps=1), 10),
])  # fmt: skip
def test_a_yes_that_changes_the_kernel_is_a_step_of_its_own(one, axis):
    plain = signature(conv() if one.kind == "conv2d" else attention()).place
    place = signature(one).place
    assert (plain[axis], place[axis]) == (0.0, APART)
    assert sum(a != b for a, b in zip(plain, place, strict=True)) == (2 if one.kind == "conv2d" else 1)  # one tap is a size, too


@pytest.mark.parametrize("build", [build for build, _ in AXES.values()])
def test_formats_of_one_width_are_one_family(build):
    families = {fmt: signature(build(fmt=fmt)).family for fmt in FORMATS}
    own = build is AXES["depthwise"][0]  # PyTorch's own kernels in BF16, as in FP32
    assert families["bf16"] == families["fp32" if own else "fp16"] and "16 bit" in families["fp16"]
    assert "32 bit" in families["fp32"] and "64 bit" in families["fp64"]
    own = [fmt for fmt in ("tf32", "fp8", "int8", "int4") if fmt in families]
    assert len({families[fmt] for fmt in (*own, "fp16", "fp32", "fp64")}) == len(own) + 3
    assert all(fmt in families[fmt] for fmt in own)


def test_families_are_told_apart_by_what_chooses_the_library_s_kernel():
    assert {signature(linear(kind=kind)).family for kind in ("linear", "matmul")} == {"linear 16 bit"}
    assert {signature(bmm(kind=kind)).family for kind in ("bmm", "matmul")} == {"bmm 16 bit"}
    assert signature(attention(queries=1)).family == "decode 16 bit" != signature(attention(queries=2)).family
    for build, family in ((conv, "conv"), (depthwise, "depthwise")):
        assert signature(build()).family == signature(build(layout="nchw")).family == f"{family} 16 bit nchw"
        assert signature(build(layout="nhwc", **({"high": 3} if build is depthwise else {}))).family == f"{family} 16 bit nhwc"
    assert signature(depthwise(layout="nhwc")) is None  # taps that are no square, of which no row says anything
    assert signature(conv(each=1, groups=1)).family == "conv 16 bit nchw"  # one channel is not depthwise
    assert signature(planes(layout="nhwc")).family == "group_norm 16 bit nhwc"
    assert {signature(rows(kind=kind)).family.split()[0] for kind in ("layer_norm", "rms_norm", "log_softmax")} == {
        "layer_norm", "rms_norm", "log_softmax",
    }  # fmt: skip
    # what is not said is the plain case: no stride, no dilation, one group; and two channels are as depthwise as many
    x, w = Tensor("x", (2, 8, 8, 8)), Tensor("w", (8, 8, 3, 3))
    assert signature(op("conv2d", "it", [x, w], [x])) == signature(op("conv2d", "it", [x, w], [x], stride=1, dilation=1))
    assert signature(op("batch_norm", "it", [x], [x])) == signature(op("batch_norm", "it", [x], [x], groups=1))
    assert signature(depthwise(c=2)).family == "depthwise 16 bit nchw"
    # the rows of a deeper tensor are all its axes but the last
    deep = op("softmax", "it", [Tensor("x", (2, 8, 64))], [Tensor("y", (2, 8, 64))])
    assert signature(deep) == signature(rows(16, 64))
    # normalised over more than the last axis: the row is as long as it says
    wide = op("layer_norm", "it", [Tensor("x", (8, 64))], [Tensor("y", (8, 64))], row=128)
    assert signature(wide).place == signature(rows(4, 128)).place


def test_what_has_no_neighbours():
    assert set(PLACES) <= set(KINDS)
    for kind in set(KINDS) - set(PLACES):
        assert category(kind) not in ("contraction", "attention") or kind in (
            "grouped_matmul", "fused", "block", "conv_backward", "recurrent", "quantised_linear",
            "quantised_grouped_matmul", "attention_backward",
        )  # fmt: skip
    assert signature(op("cumsum", "a", [Tensor("x", (4, 8))], [Tensor("y", (4, 8))])) is None
    assert signature(planes(kind="batch_norm")) and signature(rows(kind="batch_norm")) is None  # of rows, not of images
    for kind in STREAMS:
        assert signature(stream(kind=kind)).family == f"{kind} 16 bit"
        if kind != "copy":  # one that is strided has a family of its own
            assert signature(stream(kind=kind, rolled=True)) is None


def test_what_goes_element_by_element_is_alike_whatever_it_computes():
    assert signature(stream(kind="mul", strided=True)) == signature(stream(kind="add", strided=True))
    spread = op("add", "it", [Tensor("x", (4, 8)), Tensor("row", (8,))], [Tensor("y", (4, 8))])
    # 32 elements in rows of 8, of which 40 are read
    assert signature(spread) == Signature("singly 16 bit", (5.0, 3.0, math.log2(40 / 32), 0.0, 0.0, 0.0))
    before = op("add", "it", [Tensor("x", (4, 8)), Tensor("one", (1, 4, 8))], [Tensor("y", (1, 4, 8))])
    assert signature(before).family == "add 16 bit"  # ones before a shape change nothing


def fused(first, *kinds):
    """The one op that a compiler leaves of `first` and what follows it."""
    ops, last = [first], first.outputs[0]
    for i, kind in enumerate(kinds):
        ops.append(op(kind, f"{kind}{i}", [last], [Tensor(f"z{i}", last.shape, last.dtype)]))
        last = ops[-1].outputs[0]
    (made,) = fuse(Graph("g", tuple(ops), "fp16")).graph.ops
    assert len(made.attrs["parts"]) == 1 + len(kinds)
    return made


def test_a_compiler_keeps_the_library_s_contractions_and_writes_the_rest():
    for one in (linear(), bmm()):
        assert CUDA.signature(one, "eager") == CUDA.signature(one, "compiled") == signature(one)
    for one in (stream(), rows(), planes()):
        assert CUDA.signature(one, "eager") == signature(one) and CUDA.signature(one, "compiled") is None
    assert CUDA.signature(fused(stream(kind="relu", inputs=1), "gelu"), "compiled") is None
    assert signature(fused(linear(), "relu")) is None  # whose kernel it is, only a backend knows
    assert CUDA.signature(fused(linear(), "relu"), "compiled") == signature(linear())


def test_torch_compile_keeps_images_in_nhwc():
    assert CUDA.signature(conv(), "eager") == signature(conv())
    assert CUDA.signature(conv(), "compiled") == signature(conv(layout="nhwc"))
    assert CUDA.signature(fused(conv(), "relu"), "compiled") == signature(conv(layout="nhwc"))


@pytest.mark.parametrize("change", [{}, {"kind": "launch"}, {"op": "nonsense"}, {"busy_s": None}, {"error": "out of memory"}])
def test_a_row_is_of_one_op_when_it_ran_and_is_known(change):
    row = Row(**{"kind": "op", "op": "relu", "params": {"numel": 64, "dtype": "fp16"}, "busy_s": 1e-6} | change)
    measured = CUDA.measured(row)
    assert (measured is None) == bool(change)
    assert change or measured.key == OPS["relu"](row.params).key
    assert require("cpu").measured(row) is None  # a processor's calls are timed from outside


def test_every_family_of_the_stored_rows_is_one_that_an_op_can_have():
    """Asked for by name: a family that no signature gives would never be found again."""
    rows = [row for file in evidence("h200_sxm") for row in file.rows]
    given = {one.family for row in rows if (made := CUDA.measured(row)) and (one := CUDA.signature(made, "eager"))}
    assert set(il.hardware("h200_sxm").calibration.families) <= given


def test_only_images_are_padded_beside_measured_rows():
    """Padding was measured on images; that of a sequence lies among none of them."""

    def pad(*shape):
        return op("pad", "it", [Tensor("x", shape, "fp16")], [Tensor("y", (*shape[:-1], shape[-1] + 2), "fp16")])

    assert signature(pad(2, 8, 16, 16)).family == "pad 16 bit" and signature(pad(2, 8, 16)) is None


def test_an_image_one_pixel_high_is_the_line_that_a_model_convolves():
    """A profile shows what PyTorch hands to cuDNN for a line."""
    sides = {"inputs": [["bf16", "activation", 8, 64, 1, 512], ["bf16", "weight", 128, 64, 1, 3]], "dtype": "bf16"}
    rows = {"kind": "conv2d", "outputs": [["bf16", "activation", 8, 128, 1, 512]], **sides}
    made = OPS["captured"](rows | {"attrs": {"stride": 1, "padding": [0, 1]}})
    assert made.attrs["dims"] == 1 and signature(made).family == "conv1d 16 bit"
    assert "dims" not in OPS["captured"](rows | {"attrs": {"stride": 1, "layout": "nhwc"}}).attrs
