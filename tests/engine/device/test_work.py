"""A hand count for every op kind. Numbers are written out, not computed from the implementation's formula."""

import numpy as np
import pytest
from small_graphs import tensor

from ironlaw.engine.device.types import Tensor, Work
from ironlaw.engine.device.work import CATEGORIES, KINDS, Count, category, conv2d_shape, op
from ironlaw.errors import BadValue, UnknownName

X = tensor("x", 4, 6)  # 24 elements, 48 bytes
Y = tensor("y", 4, 6)
Z = tensor("z", 4, 6)
ROW = tensor("row", 6)  # broadcasts over X: 12 bytes
SAME = ([X], [Y])
TWO = ([X, Z], [Y])
IMAGE = tensor("x", 2, 3, 8, 8)  # 384 elements
TABLE = tensor("table", 1000, 4, role="weight")
INDEX = tensor("index", 2, 3, dtype="int64")  # 48 bytes

# kind: (inputs, outputs, attrs), (FLOPs, of these in matmuls, bytes read, bytes written, launches)
HAND = {
    # two [3, 4] × [4, 5]: 30 outputs of 4 multiply-adds; (24 + 40) and 30 elements of 2 bytes
    "matmul": (([tensor("a", 2, 3, 4), tensor("b", 2, 4, 5)], [tensor("y", 2, 3, 5)], {}), (240, 240, 128, 60, 1)),
    # three [2, 7] × [7, 5]: 30 outputs of 7 multiply-adds
    "bmm": (([tensor("a", 3, 2, 7), tensor("b", 3, 7, 5)], [tensor("y", 3, 2, 5)], {}), (420, 420, 294, 60, 1)),
    # [6, 7] × [5, 7]ᵀ + [5]: 30 outputs of 7 multiply-adds and one addition
    "linear": (([tensor("x", 6, 7), tensor("w", 5, 7), tensor("b", 5)], [tensor("y", 6, 5)], {}), (450, 420, 164, 60, 1)),
    # 2·4·8·8 = 512 outputs of 3·3·3 multiply-adds and one addition; 384 + 108 + 4 elements read
    "conv2d": (([IMAGE, tensor("w", 4, 3, 3, 3), tensor("b", 4)], [tensor("y", 2, 4, 8, 8)], {}), (28160, 27648, 992, 1024, 1)),
    # 6 rows meet one of 4 experts each: 30 outputs of 7 multiply-adds; all 4 matrices of [5, 7] are hit
    "grouped_matmul": (
        ([tensor("x", 6, 7), tensor("w", 4, 5, 7), tensor("ends", 4, dtype="int32")], [tensor("y", 6, 5)], {}),
        (420, 420, 380, 60, 1),
    ),
    # 1·2·3·5 = 30 scores: 30·4 multiply-adds twice, 5 a score for the softmax; 24 + 40 + 40 elements read
    "attention": (
        ([tensor("q", 1, 2, 3, 4), tensor("k", 1, 2, 5, 4), tensor("v", 1, 2, 5, 4)], [tensor("y", 1, 2, 3, 4)], {}),
        (630, 480, 208, 48, 1),
    ),
    "layer_norm": (([X, ROW, tensor("shift", 6)], [Y], {}), (168, 0, 72, 48, 1)),
    "group_norm": ((*SAME, {}), (168, 0, 48, 48, 1)),
    "rms_norm": (([X, ROW], [Y], {}), (96, 0, 60, 48, 1)),
    "softmax": ((*SAME, {}), (120, 0, 48, 48, 1)),
    "log_softmax": ((*SAME, {}), (120, 0, 48, 48, 1)),
    "batch_norm": (([X, *(tensor(n, 6) for n in "abcd")], [Y], {}), (96, 0, 96, 48, 1)),
    "cast": (([X], [tensor("y", 4, 6, dtype="fp32")], {}), (0, 0, 48, 96, 1)),
    "fill": (([], [Y], {}), (0, 0, 0, 48, 1)),
    "relu6": ((*SAME, {}), (48, 0, 48, 48, 1)),
    "hardtanh": ((*SAME, {}), (48, 0, 48, 48, 1)),
    "sigmoid": ((*SAME, {}), (96, 0, 48, 48, 1)),
    "silu": ((*SAME, {}), (120, 0, 48, 48, 1)),
    "gelu": ((*SAME, {}), (120, 0, 48, 48, 1)),
    "gelu_tanh": ((*SAME, {}), (192, 0, 48, 48, 1)),
    # in training: the mask of one byte an element is a second output
    "dropout": (([X], [Y, tensor("mask", 4, 6, dtype="bool")], {}), (48, 0, 48, 72, 1)),
    "sum": (([X], [tensor("y", 4, 1)], {}), (24, 0, 48, 8, 1)),
    "mean": (([X], [tensor("y", 4, 1)], {}), (24, 0, 48, 8, 1)),
    "amax": (([X], [tensor("y", 1)], {"over": "all"}), (24, 0, 48, 2, 1)),
    "cumsum": ((*SAME, {}), (24, 0, 48, 48, 1)),
    "argmax": (([X], [tensor("y", 4, dtype="int64")], {}), (24, 0, 48, 32, 1)),
    "var": (([X], [tensor("y", 4, 1)], {}), (96, 0, 48, 8, 1)),
    # 5 an element and one pick for each of 4 rows; 48 + 32 bytes read, one fp32 written
    "cross_entropy": (([X, tensor("t", 4, dtype="int64")], [tensor("loss", 1, dtype="fp32")], {}), (124, 0, 80, 4, 1)),
    # 2·3·4·4 = 96 outputs of 2·3 comparisons
    "max_pool2d": (([IMAGE], [tensor("y", 2, 3, 4, 4)], {"kernel": (2, 3)}), (576, 0, 768, 192, 1)),
    "avg_pool2d": (([IMAGE], [tensor("y", 2, 3, 1, 1)], {"kernel": (8, 8)}), (384, 0, 768, 12, 1)),
    # 6 rows of 4 are asked for, not the table of 1,000
    "embedding": (([TABLE, INDEX], [tensor("y", 2, 3, 4)], {}), (0, 0, 48 + 48, 48, 1)),
    "gather": (([TABLE, INDEX], [tensor("y", 2, 3)], {}), (0, 0, 12 + 48, 12, 1)),
    "topk": (([X], [tensor("v", 4, 2), tensor("i", 4, 2, dtype="int64")], {}), (0, 0, 48, 16 + 64, 1)),
    "scatter": (([X, INDEX], [Y], {}), (0, 0, 96, 48, 1)),
    "copy": ((*SAME, {}), (0, 0, 48, 48, 1)),
    "transpose": (([X], [tensor("y", 6, 4)], {}), (0, 0, 48, 48, 1)),
    "cat": (([X, Z], [tensor("y", 8, 6)], {}), (0, 0, 96, 96, 1)),
    "pad": (([X], [tensor("y", 6, 8)], {}), (0, 0, 48, 96, 1)),
    "repeat": (([X], [tensor("y", 12, 6)], {}), (0, 0, 48, 144, 1)),
    "upsample": (([X], [tensor("y", 8, 12)], {}), (0, 0, 48, 192, 1)),
    "grid_sample": (([IMAGE, tensor("grid", 2, 8, 8, 2)], [IMAGE], {}), (0, 0, 768 + 512, 768, 1)),
    # 6 places of a table of 1,000 x 4, which is neither read nor written: 48 bytes of values, 48 of indices, 48 written
    "write": (([TABLE, tensor("v", 6, 4), INDEX], [TABLE], {}), (0, 0, 48 + 48, 48, 1)),
    # 4 rows of 8: 5·8·3 each
    "fft": (([tensor("x", 4, 8, dtype="fp32")], [tensor("y", 4, 5, dtype="int64")], {}), (480, 0, 128, 160, 1)),
    # 2 matrices of 6 with 3 right-hand sides: 2/3·6³ + 2·36·3 each; 72 + 36 elements read, 36 + 72 written, 12 pivots
    "solver": (
        ([tensor("a", 2, 6, 6, dtype="fp32"), tensor("b", 2, 6, 3, dtype="fp32")],
         [tensor("x", 2, 6, 3, dtype="fp32"), tensor("lu", 2, 6, 6, dtype="fp32"), tensor("p", 2, 6, dtype="int32")], {"how": "solve"}),
        (720, 0, 4 * 108, 4 * 120, 1),
    ),
    "view": (([X], [tensor("y", 24)], {}), (0, 0, 0, 0, 0)),
    # 384 inputs of 4·3·3 multiply-adds; 384 + 108 elements read, 2·4·16·16 written
    "conv_transpose2d": (([IMAGE, tensor("w", 3, 4, 3, 3)], [tensor("y", 2, 4, 16, 16)], {}), (27648, 27648, 984, 4096, 1)),
    # 512 gradients of 3·3·3 multiply-adds, for the input and for the weight
    "conv_backward": (
        ([tensor("g", 2, 4, 8, 8), IMAGE, tensor("w", 4, 3, 3, 3)], [tensor("dx", 2, 3, 8, 8), tensor("dw", 4, 3, 3, 3)], {"wanted": 2}),
        (55296, 55296, 1024 + 768 + 216, 768 + 216, 2),
    ),
    # 30 scores: five products of 30·4 multiply-adds, 8 a score besides
    "attention_backward": (
        ([tensor("g", 1, 2, 3, 4), tensor("q", 1, 2, 3, 4), tensor("k", 1, 2, 5, 4), tensor("v", 1, 2, 5, 4), tensor("y", 1, 2, 3, 4)],
         [tensor("dq", 1, 2, 3, 4), tensor("dk", 1, 2, 5, 4), tensor("dv", 1, 2, 5, 4)], {}),
        (1440, 1200, 3 * 48 + 2 * 80, 48 + 2 * 80, 1),
    ),
    # 30 outputs of 8 multiply-adds, one scale and one addition each; 48 fp16, 40 int8, 5 + 5 fp16 read
    "quantised_linear": (
        ([tensor("x", 6, 8), tensor("w", 5, 8, dtype="int8"), tensor("s", 5, 1), tensor("b", 5)], [tensor("y", 6, 5)], {}),
        (540, 480, 156, 60, 1),
    ),
    # 6 rows meet one of 4 experts each; 160 weights of half a byte, each multiplied and added to; 40 scales and zeros
    "quantised_grouped_matmul": (
        ([tensor("x", 6, 8), tensor("w", 4, 5, 8, dtype="int4"), tensor("s", 4, 5, 1, 2), tensor("ends", 4, dtype="int32")],
         [tensor("y", 6, 5)], {}),
        (800, 480, 272, 60, 1),
    ),
    "norm_backward": (([X, Z], [Y], {}), (288, 0, 96, 48, 2)),
    "batch_norm_train": (([X, ROW], [Y], {}), (192, 0, 60, 48, 3)),
    "batch_norm_backward": (([X, Z], [Y], {}), (216, 0, 96, 48, 1)),
    "gelu_backward": ((*TWO, {}), (264, 0, 96, 48, 1)),
    # 96 gradients and where they go
    "max_pool2d_backward": (
        ([tensor("g", 2, 3, 4, 4), tensor("i", 2, 3, 4, 4, dtype="int64")], [IMAGE], {}), (96, 0, 192 + 768, 768, 2),
    ),
    # 6 rows of 4 are added to a table of 1,000
    "embedding_backward": (([tensor("g", 2, 3, 4), INDEX], [TABLE], {}), (24, 0, 48 + 48, 8000, 2)),
    # 60 pairs of 24 elements: 64 pairs go into one launch
    "foreach": (([X, Z] * 60, [Y] * 60, {}), (1440, 0, 5760, 2880, 1)),
    "unknown": (([X, Z], [Y], {"op": "mystery"}), (0, 0, 96, 48, 1)),
    "custom": (([X, Z], [Y], {"op": "lib::mine", "unit": "matrix", "flops": 500.0, "bytes": 288.0}), (500, 500, 192, 96, 1)),
    "block": (([X], [Y], {"matmul": 7.0, "vector": 5.0, "reads": (11.0,), "writes": (13.0,)}), (12, 7, 11, 13, 1)),
    **{name: ((*SAME, {}), (24, 0, 48, 48, 1)) for name in (
        "relu", "neg", "abs", "sqrt", "rsqrt", "exp", "log", "tanh", "erf", "cos", "sin", "square", "cube", "scale", "shift",
    )},
    **{name: ((*TWO, {}), (24, 0, 96, 48, 1)) for name in ("add", "sub", "mul", "div", "greatest", "least", "compare", "select", "power")},
}  # fmt: skip


def test_every_kind_has_a_hand_count():
    # a fused op takes its count from the ops inside it; a recurrent one reads back what it writes: test_recurrent.py
    assert set(KINDS) - set(HAND) == {"fused", "recurrent"}
    assert set(HAND) <= set(KINDS)


@pytest.mark.parametrize("name", HAND)
def test_hand_count(name):
    (inputs, outputs, attrs), (flops, matmul, read, written, launches) = HAND[name]
    made = op(name, "it", inputs, outputs, **attrs)
    assert made.work == Work(flops, matmul, read, written, launches)
    assert sum(made.reads) == read
    assert sum(made.writes) == written
    assert made.attrs == attrs


def test_categories():
    expected = {
        "contraction": "matmul bmm linear conv2d grouped_matmul fused block conv_transpose2d conv_backward recurrent"
        " quantised_linear quantised_grouped_matmul",
        "attention": "attention attention_backward",
        "rowwise": "layer_norm group_norm rms_norm softmax log_softmax norm_backward batch_norm_train batch_norm_backward",
        "reduction": "sum mean amax cumsum argmax var cross_entropy",
        "window": "max_pool2d avg_pool2d max_pool2d_backward",
        "lookup": "embedding gather topk scatter embedding_backward",
        "movement": "copy transpose cat pad repeat upsample grid_sample write",
        "free": "view",
        "opaque": "unknown custom fft solver",
    }
    for name, kinds in expected.items():
        assert {k for k in KINDS if category(k) == name} == set(kinds.split())
    rest = set(KINDS) - set(" ".join(expected.values()).split())
    assert {category(k) for k in rest} == {"elementwise"}
    assert {category(k) for k in KINDS} == set(CATEGORIES)


def test_bias_is_optional():
    x, w, y = tensor("x", 6, 7), tensor("w", 5, 7), tensor("y", 6, 5)
    assert op("linear", "fc", [x, w], [y]).work == Work(420, 420, 154, 60, 1)
    conv = op("conv2d", "c", [IMAGE, tensor("w", 4, 3, 3, 3)], [tensor("y", 2, 4, 8, 8)])
    assert conv.work == Work(27648, 27648, 984, 1024, 1)


def test_grouped_and_depthwise_convolutions():
    # 6 channels in 2 groups of 3, 3×3, out [1, 4, 5, 5]: 100 outputs of 27 multiply-adds
    grouped = op("conv2d", "c", [tensor("x", 1, 6, 5, 5), tensor("w", 4, 3, 3, 3)], [tensor("y", 1, 4, 5, 5)])
    assert grouped.work.matmul_flops == 5400
    # depthwise 3×2: each of 6·5·5 outputs takes 6 multiply-adds
    depthwise = op("conv2d", "c", [tensor("x", 1, 6, 5, 5), tensor("w", 6, 1, 3, 2)], [tensor("y", 1, 6, 5, 5)])
    assert depthwise.work.matmul_flops == 1800
    assert depthwise.work.read == (150 + 36) * 2


@pytest.mark.parametrize(
    ("shape", "out", "kernel", "options", "expected"),
    [
        ((1, 3, 224, 224), 64, (7, 7), {"stride": 2, "padding": (3, 3)}, (1, 64, 112, 112)),
        ((2, 3, 8, 9), 5, (3, 3), {}, (2, 5, 6, 7)),
        ((2, 3, 8, 9), 5, (3, 2), {"dilation": 2}, (2, 5, 4, 7)),
        ((1, 1, 49, 10), 64, (10, 4), {"stride": 2, "padding": (5, 1)}, (1, 64, 25, 5)),
        ((1, 64, 112, 112), 64, (3, 3), {"stride": 2, "padding": (1, 1)}, (1, 64, 56, 56)),
    ],
)
def test_shape_after_a_convolution(shape, out, kernel, options, expected):
    assert conv2d_shape(shape, out, kernel, **options) == expected


def test_a_kernel_has_two_sides():
    for kernel, padding in (((3,), (0, 0)), ((3, 3, 3), (0, 0)), ((3, 3), (0,))):
        with pytest.raises(ValueError, match="zip"):
            conv2d_shape((1, 3, 8, 8), 4, kernel, padding=padding)


@pytest.mark.parametrize(("s", "d", "ratio"), [(1024, 128, 9), (2048, 128, 17), (16384, 128, 129), (64, 64, 2)])
def test_naive_attention_moves_one_plus_s_over_d_times_the_bytes(s, d, ratio):
    q, k, v, y = (tensor(name, 2, 8, s, d) for name in "qkvy")
    naive = op("attention", "a", [q, k, v], [y], impl="naive")
    flash = op("attention", "a", [q, k, v], [y], impl="flash")
    assert naive.work.bytes / flash.work.bytes == ratio
    assert (naive.work.launches, flash.work.launches) == (3, 1)
    assert naive.work.flops == flash.work.flops
    assert flash == op("attention", "a", [q, k, v], [y], impl="flash")
    assert op("attention", "a", [q, k, v], [y]).work == flash.work


def test_naive_attention_by_hand():
    # 30 scores of 2 bytes: written by QKᵀ, read and written by the softmax, read by PV
    (inputs, outputs, _), _ = HAND["attention"]
    naive = op("attention", "a", inputs, outputs, impl="naive")
    assert naive.work == Work(630, 480, 208 + 120, 48 + 120, 3)
    assert naive.reads == (48.0, 80.0, 80.0)
    assert naive.writes == (48.0,)


def test_grouped_query_attention():
    # 8 query heads share 2 heads of keys and values: the same arithmetic, a quarter of the cache read
    q, y = tensor("q", 1, 8, 16, 4), tensor("y", 1, 8, 16, 4)
    many = op("attention", "a", [q, tensor("k", 1, 8, 16, 4), tensor("v", 1, 8, 16, 4)], [y])
    few = op("attention", "a", [q, tensor("k", 1, 2, 16, 4), tensor("v", 1, 2, 16, 4)], [y])
    assert few.work.matmul_flops == many.work.matmul_flops == 2 * 2 * 8 * 16 * 16 * 4
    assert (many.reads, few.reads) == ((1024.0, 1024.0, 1024.0), (1024.0, 256.0, 256.0))


def test_values_may_have_another_width_than_keys():
    # 30 scores; QKᵀ 4 multiply-adds a score, PV 6
    made = op("attention", "a", [tensor("q", 1, 2, 3, 4), tensor("k", 1, 2, 5, 4), tensor("v", 1, 2, 5, 6)], [tensor("y", 1, 2, 3, 6)])
    assert made.work.matmul_flops == 2 * 30 * 4 + 2 * 30 * 6


def test_broadcasting_reads_each_input_at_its_own_size():
    made = op("add", "a", [X, ROW], [Y])
    assert made.reads == (48.0, 12.0)
    assert made.work.flops == 24


def test_dropout_without_a_mask():
    assert op("dropout", "d", [X], [Y]).work == Work(48, 0, 48, 48, 1)
    assert op("dropout", "d", [X], [Y, tensor("m", 4, 6, dtype="bool")]).writes == (48.0, 24.0)


def test_a_write_moves_what_it_touches():
    values = tensor("v", 6, 4, dtype="fp32")  # 24 elements, 96 bytes; in the table they are fp16
    plain, added, few, alone = (
        op("write", "w", inputs, [TABLE], **attrs)
        for inputs, attrs in (
            ([TABLE, values], {}),
            ([TABLE, values, INDEX], {"accumulate": True}),
            ([TABLE, values], {"touched": 10}),
            ([TABLE], {}),
        )
    )
    assert (plain.reads, plain.writes) == ((0.0, 96.0), (48.0,))
    assert (added.reads, added.writes) == ((48.0, 96.0, 48.0), (48.0,))  # what is there is read, too
    assert (few.reads, few.writes) == ((0.0, 96.0), (20.0,))
    assert (alone.reads, alone.writes) == ((0.0,), (0.0,))


@pytest.mark.parametrize(
    ("shape", "attrs", "flops"),
    [
        ((2, 4, 16), {}, 5 * 128 * 4),  # the last axis: log₂ 16 = 4
        ((4, 8), {"row": 32}, 5 * 32 * 5),  # both axes: log₂ 32 = 5
        ((4, 2), {}, 5 * 8 * 1),
        ((8, 1), {}, 5 * 8 * 1),  # never less than a row of two
    ],
)
def test_a_fourier_transform_takes_the_logarithm_of_its_row(shape, attrs, flops):
    assert op("fft", "f", [tensor("x", *shape)], [tensor("y", *shape)], **attrs).work.flops == flops


def test_a_custom_op_without_matrices_or_bytes():
    assert op("custom", "c", [X, Z], [Y], op="lib::mine", unit="vector", flops=500.0).work == Work(500, 0, 96, 48, 1)


BATCHES = np.array([1, 2, 7, 32])


def at(t: Tensor, batch) -> Tensor:
    """The tensor with its first size times the batch."""
    return Tensor(t.name, (t.shape[0] * batch, *t.shape[1:]), t.dtype, t.role)


def test_experts_that_no_row_asks_for_are_not_read():
    # 2 rows, 4 experts: half of 4·5·7 elements of 2 bytes
    made = op("grouped_matmul", "moe", [tensor("x", 2, 7), tensor("w", 4, 5, 7), tensor("ends", 4, dtype="int32")], [tensor("y", 2, 5)])
    assert made.reads == (28.0, 140.0, 16.0)
    assert made.work == Work(140, 140, 184, 20, 1)
    # rows are all axes but the last
    deep = op("grouped_matmul", "moe", [tensor("x", 1, 2, 7), tensor("w", 4, 5, 7)], [tensor("y", 1, 2, 5)])
    assert deep.reads == (28.0, 140.0)
    # with as many rows as experts, and with more, all of it
    for rows in (4, 9):
        assert op("grouped_matmul", "moe", [tensor("x", rows, 7), tensor("w", 4, 5, 7)], [tensor("y", rows, 5)]).reads[1] == 280.0


@pytest.mark.parametrize("name", sorted(set(HAND) - {"block"}))
def test_a_batch_of_arrays_equals_the_scalars(name):
    (inputs, outputs, attrs), _ = HAND[name]
    still = {t.name for t in inputs if t.role == "weight" or t.name in ("w", "b", "row", "shift", "index", "ends")} - (
        {"b"} if name in ("matmul", "bmm") else set()
    )

    def build(batch):
        return op(name, "it", [t if t.name in still else at(t, batch) for t in inputs], [at(t, batch) for t in outputs], **attrs)

    many = build(BATCHES)
    for i, batch in enumerate(BATCHES.tolist()):
        one = build(batch).work
        for field in ("flops", "matmul_flops", "read", "written", "launches"):
            assert np.broadcast_to(getattr(many.work, field), 4)[i] == getattr(one, field)


def test_keys_tell_costs_apart():
    base = op("add", "a", [X, Z], [Y])
    assert base.key == op("add", "another name", [Z, X], [tensor("other", 4, 6)]).key
    assert hash(base.key) == hash(op("add", "a", [X, Z], [Y]).key)
    others = [
        op("mul", "a", [X, Z], [Y]),
        op("add", "a", [X, ROW], [Y]),
        op("add", "a", [X, tensor("z", 4, 6, dtype="fp32")], [Y]),
        op("add", "a", [X, tensor("z", 4, 6, role="weight")], [Y]),
        op("add", "a", [X, Z], [Y], over="all"),
        op("add", "a", [X, Z], [tensor("y", 4, 6, dtype="fp32")]),
    ]
    assert len({base.key, *(o.key for o in others)}) == 7
    assert op("sum", "s", [X], [Y], a=1, b=2).key == op("sum", "s", [X], [Y], b=2, a=1).key


def test_equal_sizes_make_equal_keys_whoever_holds_the_number():
    one, two = (op("relu", "r", [tensor("x", int("123456"))], [tensor("y", int("123456"))]) for _ in range(2))
    assert one.key == two.key


def test_equal_attributes_make_equal_keys_whoever_holds_the_number():
    one, two = (op("sum", "s", [X], [Y], axis=int("123456"), kernel=(int("234567"), 2)) for _ in range(2))
    assert one.key == two.key


def test_arrays_in_attributes_are_their_own_keys():
    one, two = np.array([1.0, 2.0]), np.array([1.0, 2.0])

    def block(reads):
        return op("block", "b", [X], [Y], matmul=1.0, vector=1.0, reads=(reads,), writes=(3.0,)).key

    assert block(one) == block(one)
    assert block(one) != block(two)
    assert block(1.0) == block(1.0) != block(2.0)
    assert isinstance(hash(block(one)), int)


def test_a_memo_counts_equal_ops_once():
    memo: dict = {}
    first = op("add", "one", [X, Z], [Y], memo=memo)
    again = op("add", "two", [X, Z], [Y], memo=memo)
    assert again.work is first.work
    assert again.reads is first.reads
    assert (again.name, again.key) == ("two", first.key)
    assert again == op("add", "two", [X, Z], [Y])
    other = op("add", "three", [X, ROW], [Y], memo=memo)
    assert other.work == Work(24, 0, 60, 48, 1)
    assert len(memo) == 2
    assert op("add", "one", [X, Z], [Y]).work is not first.work
    assert "memo" not in first.attrs
    with pytest.raises(BadValue, match="every size must be above 0"):
        op("relu", "r", [tensor("x", 0)], [Y], memo=memo)
    # who passes a memo has checked the arrays' entries
    assert op("relu", "r", [tensor("x", np.array([1, 0]))], [Y], memo=memo).work.flops == 24


def test_a_swept_size_is_its_own_key():
    one, two = BATCHES, BATCHES + 1
    x = op("relu", "r", [tensor("x", one)], [tensor("y", one)])
    assert x.key == op("relu", "r", [tensor("x", one)], [tensor("y", one)]).key
    assert x.key != op("relu", "r", [tensor("x", two)], [tensor("y", two)]).key
    assert isinstance(hash(x.key), int)


def test_unknown_kinds_and_formats():
    with pytest.raises(UnknownName) as error:
        op("conv", "c", [X], [Y])
    assert str(error.value).startswith("no op kind 'conv'; did you mean")
    assert str(error.value).endswith("to add one: a function in engine/device/work/ decorated with @kind")
    with pytest.raises(UnknownName, match="no op kind 'zzzzz'"):
        category("zzzzz")
    with pytest.raises(UnknownName, match="no number format 'float'"):
        op("relu", "r", [tensor("x", 4, dtype="float")], [Y])
    with pytest.raises(UnknownName, match="no number format 'f8'"):
        op("relu", "r", [X], [tensor("y", 4, dtype="f8")])


@pytest.mark.parametrize("shape", [(4, 0), (-1, 6), (4, float("nan")), (np.array([1, 0]), 6)])
def test_bad_sizes_name_tensor_and_op(shape):
    for inputs, outputs in (([Tensor("it", shape)], [Y]), ([X], [Tensor("it", shape)])):
        with pytest.raises(BadValue) as error:
            op("relu", "act", inputs, outputs)
        assert str(error.value) == f"tensor 'it' of op 'act' has shape {shape}; every size must be above 0"


def test_fused_ops_are_not_made_by_hand():
    with pytest.raises(BadValue) as error:
        op("fused", "f", [X], [Y])
    assert str(error.value) == "a fused op is built by merged_op.merge from the ops inside it; call il.fuse(graph)"


def test_a_new_kind_is_one_decorated_function():
    try:

        @KINDS("elementwise")
        def test_only_softsign(x, y, a):
            return Count(vector=3.0 * y[0].size)

        KINDS("rowwise", "test_only_a", "test_only_b")(test_only_softsign)
        assert op("test_only_softsign", "s", [X], [Y]).work == Work(72.0, 0.0, 48.0, 48.0, 1.0)
        assert category("test_only_a") == category("test_only_b") == "rowwise"
    finally:
        for name in ("test_only_softsign", "test_only_a", "test_only_b"):
            KINDS.pop(name, None)


def test_a_count_asks_for_nothing_by_default():
    assert Count() == Count(0.0, 0.0, None, None, 0.0, 1.0)
