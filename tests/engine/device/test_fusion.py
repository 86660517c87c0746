"""Every branch of the decision tree, and what the planner makes of small graphs."""

from dataclasses import replace

import numpy as np
import pytest
from small_graphs import chain, tensor

from ironlaw.backends.inductor import INDUCTOR
from ironlaw.engine.device import merged_op
from ironlaw.engine.device.compiler_rules import POINTWISE, TREE, Rules
from ironlaw.engine.device.fusion import Group, fuse
from ironlaw.engine.device.fusion_rules import decide
from ironlaw.engine.device.types import Graph, Tensor, Work
from ironlaw.engine.device.work import KINDS, SMALL_REDUCTION, op, with_attrs

X = tensor("x", 64, 512, role="input")  # 32,768 elements: more than one block reduces
SMALL = tensor("small", 8, 512, role="input")  # 4,096: one block's
A, B, Y = tensor("a", 64, 512), tensor("b", 64, 512), tensor("y", 64, 512)
W = tensor("w", 512, 512, role="weight")
ONE = tensor("one", 1)
SAME, THIRD = tensor("same", 64, 512, role="input"), tensor("third", 64, 512, role="input")


def merge(ops, escaping):
    """The ops as one, in a graph of their own."""
    return merged_op.merge(ops, escaping, Graph("g", ops).tensors)


def edge(
    producer: str,
    consumer: str,
    *,
    made: Tensor = A,
    out: Tensor = Y,
    before: Tensor = X,
    over: str | None = None,
    under: str | None = None,
):
    """The verdict on producer -> consumer, through tensor `made`."""

    def build(kind: str, source: Tensor, target: Tensor, scope: str | None):
        more = [W] if kind in ("matmul", "linear") else [source, source] if kind == "attention" else []
        if kind == "conv2d":
            more = [tensor("w", 4, 4, 3, 3, role="weight")]
        if kind in ("embedding", "gather", "cross_entropy"):
            more = [tensor("index", 64, dtype="int64")]
        attrs = {"kernel": (2, 2)} if kind.endswith("pool2d") else {"flops": 8.0, "unit": "vector"} if kind == "custom" else {}
        return op(kind, kind, [source, *more], [target], **attrs, **({"over": scope} if scope else {}))

    return decide(build(producer, before, made, over), build(consumer, made, out, under))


def outcome(verdict):
    return verdict.fused, verdict.pattern


@pytest.mark.parametrize("producer", ["matmul", "linear"])
@pytest.mark.parametrize("consumer", ["relu", "gelu", "add", "batch_norm", "dropout"])
def test_epilogue_is_reached_for_a_matmul_and_an_element_wise_op(producer, consumer):  # erratum 34
    verdict = edge(producer, consumer)
    assert outcome(verdict) == (True, "epilogue")
    assert verdict.reason == f"{consumer} is done on {producer}'s tile before the tile is written"
    assert (verdict.producer, verdict.consumer) == (producer, consumer)


def test_convolution_and_relu_are_an_epilogue():
    x, y = tensor("x", 2, 4, 8, 8), tensor("y", 2, 4, 8, 8)
    conv = op("conv2d", "conv", [x, tensor("w", 4, 4, 3, 3, role="weight")], [tensor("a", 2, 4, 8, 8)])
    assert outcome(decide(conv, op("relu", "relu", [tensor("a", 2, 4, 8, 8)], [y]))) == (True, "epilogue")


def test_an_epilogue_keeps_the_shape():
    verdict = edge("linear", "add", out=tensor("wide", 3, 64, 512))
    assert outcome(verdict) == (False, "none")
    assert verdict.reason == "add changes the shape of what linear made, so a tile can't finish it"


def test_inductor_leaves_library_matmuls_alone():
    made, used = op("linear", "fc", [X, W], [A]), op("relu", "relu", [A], [Y])
    verdict = decide(made, used, INDUCTOR)
    assert outcome(verdict) == (False, "none")
    assert verdict.reason == "linear comes from a library that takes no epilogue"
    assert outcome(decide(made, used, TREE)) == outcome(decide(made, used)) == (True, "epilogue")
    assert Rules() == TREE == Rules(epilogue=True, horizontal=True)
    assert Rules(epilogue=False, horizontal=False) == INDUCTOR


@pytest.mark.parametrize("producer", ["relu", "layer_norm", "sum", "copy", "linear"])
@pytest.mark.parametrize("consumer", ["linear", "matmul", "attention"])
def test_what_is_read_many_times_is_stored(producer, consumer):
    verdict = edge(producer, consumer)
    assert outcome(verdict) == (False, "none")
    assert verdict.reason == f"{consumer} reads each element many times, so storing {producer} costs less than recomputing it"


@pytest.mark.parametrize("consumer", ["softmax", "layer_norm", "sum", "mean"])
def test_a_row_is_spread_over_a_matmuls_tiles(consumer):
    verdict = edge("linear", consumer)
    assert outcome(verdict) == (False, "barrier")
    assert verdict.reason == f"{consumer} needs a whole row, and linear's rows are spread over tiles"


@pytest.mark.parametrize("consumer", ["relu", "linear", "softmax", "copy"])
def test_attention_is_taken_as_it_is(consumer):
    verdict = edge("attention", consumer)
    assert outcome(verdict) == (False, "none")
    assert verdict.reason == "a tiled attention kernel is taken from a library as it is"


@pytest.mark.parametrize("consumer", ["relu", "softmax", "copy"])
def test_sorting_is_taken_as_it_is(consumer):
    verdict = edge("topk", consumer)
    assert outcome(verdict) == (False, "none")
    assert verdict.reason == "sorting is taken from a library as it is"


def test_what_was_written_in_part_is_read_from_memory():
    part = op("write", "write", [X, tensor("rows", 8, 512), tensor("index", 8, dtype="int64")], [A])
    verdict = decide(part, op("relu", "relu", [A], [Y]))
    assert outcome(verdict) == (False, "none")
    assert verdict.reason == "relu reads a tensor of which only a part was written: all of it must be in memory"


def test_a_sum_in_two_steps_is_joined_before_others_go_on():
    column = tensor("column", 1, 512)
    relu = op("relu", "relu", [X], [A])
    total = with_attrs(op("sum", "sum", [A], [column]), split=True)
    verdict = decide(relu, total)
    assert outcome(verdict) == (False, "barrier")
    assert verdict.reason == "sum is taken in parts, which cut across what relu makes"
    verdict = decide(total, op("mul", "mul", [X, column], [Y]))
    assert outcome(verdict) == (False, "barrier")
    assert verdict.reason == "sum is taken in parts and must be joined before mul can start"
    after = op("exp", "exp", [column], [tensor("out", 1, 512)])  # one for each sum: done by whoever joins its parts
    assert outcome(decide(total, after)) == (True, "vertical")


def test_views_have_nothing_to_fuse():
    for verdict in (edge("view", "relu"), edge("relu", "view"), edge("attention", "view"), edge("linear", "view")):
        assert outcome(verdict) == (False, "none")
        assert verdict.reason == "a view moves nothing and launches nothing: there is nothing to fuse"


def test_fused_kernels_are_not_fused_again():
    pair = merge((op("relu", "r", [X], [A]), op("exp", "e", [A], [B])), {"b"})
    after = op("tanh", "t", [B], [Y])
    before = op("tanh", "t", [Y], [X])
    for verdict in (decide(pair, after), decide(before, pair)):
        assert outcome(verdict) == (False, "none")
        assert verdict.reason == "one of the two is a fused kernel already"
    assert (decide(pair, after).producer, decide(pair, after).consumer) == ("r…e", "t")


@pytest.mark.parametrize(("producer", "consumer"), [("relu", "gelu"), ("add", "mul"), ("dropout", "relu"), ("batch_norm", "relu")])
def test_pointwise_same_shape(producer, consumer):
    verdict = edge(producer, consumer)
    assert outcome(verdict) == (True, "pointwise")
    assert verdict.reason == f"{producer} and {consumer} visit the same elements in the same order"


def test_a_broadcast_value_is_used_where_it_is_made():
    verdict = edge("exp", "mul", made=tensor("row", 1, 512))
    assert outcome(verdict) == (True, "vertical")
    assert verdict.reason == "mul uses exp's value where it is made"


@pytest.mark.parametrize(
    "producer", ["layer_norm", "softmax", "rms_norm", "copy", "transpose", "embedding", "max_pool2d", "upsample", "sum"]
)
@pytest.mark.parametrize("consumer", ["relu", "dropout", "copy", "cat"])
def test_vertical_into_an_element_wise_op_or_a_move(producer, consumer):
    verdict = edge(producer, consumer)
    assert outcome(verdict) == (True, "vertical")
    assert verdict.reason == f"{consumer} uses {producer}'s value where it is made"


@pytest.mark.parametrize("producer", ["relu", "copy", "embedding", "avg_pool2d"])
@pytest.mark.parametrize("consumer", ["softmax", "layer_norm", "sum", "cross_entropy"])
def test_vertical_into_a_reduction_along_the_row(producer, consumer):
    verdict = edge(producer, consumer)
    assert outcome(verdict) == (True, "vertical")
    assert verdict.reason == f"{consumer} reduces along the row that {producer} is making"


@pytest.mark.parametrize(("producer", "consumer"), [("layer_norm", "softmax"), ("softmax", "sum"), ("sum", "layer_norm"), ("var", "mean")])
def test_two_reductions_along_one_row_stay_on_chip(producer, consumer):
    verdict = edge(producer, consumer)
    assert outcome(verdict) == (True, "vertical")
    assert verdict.reason == f"{producer} and {consumer} reduce along the same row, which stays on chip"


@pytest.mark.parametrize("consumer", ["max_pool2d", "avg_pool2d", "gather", "topk"])
@pytest.mark.parametrize("producer", ["relu", "layer_norm", "copy"])
def test_what_is_read_out_of_order_is_stored(producer, consumer):
    verdict = edge(producer, consumer)
    assert outcome(verdict) == (False, "none")
    assert verdict.reason == f"{consumer} reads elements out of order, so {producer} must be stored for it"


def test_a_reduction_over_a_large_tensor_is_a_barrier():  # erratum 21
    verdict = edge("sum", "div", made=ONE, over="all")
    assert outcome(verdict) == (False, "barrier")
    assert verdict.reason == "sum over the whole tensor must finish before div can start"
    assert outcome(edge("sum", "div", made=ONE, over="row")) == (True, "vertical")


def test_a_reduction_over_a_small_tensor_is_not():
    assert outcome(edge("sum", "div", made=ONE, over="all", before=SMALL)) == (True, "vertical")
    assert SMALL_REDUCTION == 8192
    assert outcome(edge("sum", "div", made=ONE, over="all", before=tensor("x", 8192))) == (True, "vertical")
    assert outcome(edge("sum", "div", made=ONE, over="all", before=tensor("x", 8193))) == (False, "barrier")


def test_into_a_reduction_over_a_large_tensor():
    verdict = edge("relu", "sum", out=ONE, under="all")
    assert outcome(verdict) == (True, "vertical")
    assert verdict.reason == "sum takes relu's elements as they are made; the parts are joined later"
    verdict = edge("softmax", "sum", out=ONE, under="all")
    assert outcome(verdict) == (False, "barrier")
    assert verdict.reason == "sum over the whole tensor is split over kernels"
    assert outcome(edge("softmax", "sum", made=tensor("a", 8, 512), out=ONE, under="all")) == (True, "vertical")


# their shapes are not those of a chain
ODD = {"conv_transpose2d", "conv_backward", "attention_backward", "quantised_linear", "quantised_grouped_matmul", "recurrent", "solver"}


def test_every_pair_of_kinds_gets_a_verdict_with_a_reason():
    for producer in KINDS:
        for consumer in KINDS:
            if {producer, consumer} & {"fused", "block", "conv2d", "bmm", "grouped_matmul", "scatter", "fill", *ODD}:
                continue
            verdict = edge(producer, consumer)
            assert verdict.pattern in ("epilogue", "pointwise", "vertical", "barrier", "none")
            assert verdict.fused == (verdict.pattern in ("epilogue", "pointwise", "vertical"))
            assert verdict.reason


# ---- the planner


def names(plan):
    return [[o.name for o in group.ops] for group in plan.groups]


def test_the_labs_chain_moves_a_third_of_the_bytes():
    graph = chain("layer_norm", "dropout", "relu", shape=(1024, 768))
    plan = fuse(graph)
    assert graph.bytes == 9_437_184  # 9.44 MB
    assert plan.graph.bytes == 3_145_728  # 3.15 MB
    assert plan.bytes_saved == 6_291_456
    assert (graph.kernels, plan.kernels) == (3, 1)
    assert graph.work.flops == plan.graph.work.flops == 10 * 1024 * 768
    assert graph.work.intensity == pytest.approx(10 / 12)  # erratum 12
    assert plan.graph.work.intensity == 2.5
    assert names(plan) == [["0:layer_norm", "1:dropout", "2:relu"]]
    group = plan.groups[0]
    assert group.name == "0:layer_norm…2:relu"
    assert group.patterns == ("vertical", "pointwise")
    assert group.reason == "dropout uses layer_norm's value where it is made; dropout and relu visit the same elements in the same order"


def test_dropouts_mask_is_written_even_when_fused():
    x, a, mask, y = (
        tensor("x", 1024, 768, role="input"),
        tensor("a", 1024, 768),
        tensor("m", 1024, 768, dtype="bool"),
        tensor("y", 1024, 768),
    )
    graph = Graph("g", (op("dropout", "d", [x], [a, mask]), op("relu", "r", [a], [y])))
    assert fuse(graph).graph.bytes == 1024 * 768 * (2 + 1 + 2)


def test_sigmoid_relu_of_x_times_w_plus_b():
    # review: 6 reads and 4 writes unfused, 3 reads and 1 write fused, all tensors full
    x, w, b = (tensor(n, 64, 64, role="input") for n in "xwb")
    t = [tensor(f"t{i}", 64, 64) for i in range(4)]
    graph = Graph(
        "g",
        (
            op("mul", "mul", [x, w], [t[0]]),
            op("add", "add", [t[0], b], [t[1]]),
            op("relu", "relu", [t[1]], [t[2]]),
            op("sigmoid", "s", [t[2]], [t[3]]),
        ),
    )
    size = x.bytes
    assert (graph.work.read / size, graph.work.written / size) == (6, 4)
    fused = fuse(graph).graph
    assert (fused.work.read / size, fused.work.written / size) == (3, 1)


def test_x_over_its_sum_small_and_large():  # erratum 21: one kernel for a small tensor
    def graph(x):
        s, y = tensor("s", 1), Tensor("y", x.shape)
        return Graph("g", (op("sum", "sum", [x], [s], over="all"), op("div", "div", [x, s], [y])))

    assert fuse(graph(tensor("x", 4096, role="input"))).kernels == 1
    large = fuse(graph(tensor("x", 786_432, role="input")))
    assert large.kernels == 2
    assert names(large) == [["sum"], ["div"]]
    assert [group.reason for group in large.groups] == ["stands alone", "stands alone"]
    assert [group.patterns for group in large.groups] == [(), ()]
    assert [group.name for group in large.groups] == ["sum", "div"]


def test_matmul_bias_relu_is_one_kernel_for_the_tree_and_two_for_inductor():
    bias = tensor("bias", 512, role="weight")
    graph = Graph("g", (op("linear", "fc", [X, W], [A]), op("add", "bias", [A, bias], [B]), op("relu", "relu", [B], [Y])))
    assert names(fuse(graph)) == [["fc", "bias", "relu"]]
    assert names(fuse(graph, INDUCTOR)) == [["fc"], ["bias", "relu"]]
    fused = fuse(graph).graph.ops[0]
    # x and w, the bias, and the output once
    assert fused.work == Work(33_554_432 + 65_536, 33_554_432, 65_536 + 524_288 + 1024, 65_536, 1.0)
    assert (fused.kind, fused.name, fused.dtype) == ("fused", "fc…relu", "fp16")
    assert [t.name for t in fused.inputs] == ["x", "w", "bias"]
    assert [t.name for t in fused.outputs] == ["y"]
    assert (fused.reads, fused.writes) == ((65536.0, 524288.0, 1024.0), (65536.0,))
    assert fused.attrs["parts"] == graph.ops


def test_one_matmul_a_kernel():
    # relu(x·w) and relu(y·w) meet in an addition: it joins the first matmul only
    c, d = tensor("c", 64, 512), tensor("d", 64, 512)
    graph = Graph(
        "g",
        (op("linear", "one", [X, W], [A]), op("linear", "two", [X, W], [B]), op("add", "add", [A, B], [c]), op("relu", "relu", [c], [d])),
    )
    plan = fuse(graph)
    assert sorted(names(plan)) == [["one", "add", "relu"], ["two"]]
    refused = [v for v in plan.verdicts if not v.fused]
    assert [(v.producer, v.consumer, v.pattern) for v in refused] == [("two", "add", "none")]
    assert refused[0].reason == "one kernel holds one matmul or convolution"


def test_a_row_reduction_does_not_join_a_matmul_through_its_epilogue():
    graph = Graph("g", (op("linear", "fc", [X, W], [A]), op("relu", "relu", [A], [B]), op("softmax", "sm", [B], [Y])))
    plan = fuse(graph)
    assert names(plan) == [["fc", "relu"], ["sm"]]
    assert plan.verdicts[-1].reason == "a reduction along the row would span the matmul's tiles"
    assert plan.verdicts[-1].pattern == "none"
    reducing = Graph("g", (op("linear", "fc", [X, W], [A]), op("relu", "relu", [A], [B]), op("sum", "sum", [B], [tensor("s", 64, 1)])))
    assert names(fuse(reducing)) == [["fc", "relu"], ["sum"]]


def test_rows_of_different_length_stay_apart():
    a, s, y = tensor("a", 64, 512), tensor("s", 64, 1), tensor("y", 64, 1)
    graph = Graph("g", (op("softmax", "wide", [X], [a]), op("sum", "sum", [a], [s]), op("softmax", "narrow", [s], [y])))
    plan = fuse(graph)
    assert names(plan) == [["wide", "sum"], ["narrow"]]
    assert plan.verdicts[-1].reason == "the two reduce along rows of different length"
    assert plan.verdicts[-1].fused is False


def test_a_rows_length_can_be_given():
    # a layer norm over the last two axes does not share rows with one over the last
    a, y = tensor("a", 4, 8, 16), tensor("y", 4, 8, 16)
    x = tensor("x", 4, 8, 16, role="input")
    same = Graph("g", (op("layer_norm", "one", [x], [a]), op("layer_norm", "two", [a], [y])))
    assert fuse(same).kernels == 1
    apart = Graph("g", (op("layer_norm", "one", [x], [a], row=128), op("layer_norm", "two", [a], [y])))
    assert fuse(apart).kernels == 2
    again = Graph("g", (op("layer_norm", "one", [x], [a], row=128), op("layer_norm", "two", [a], [y], row=128)))
    assert fuse(again).kernels == 1


def test_no_cycle_through_an_op_outside():
    # a feeds a matmul whose result meets a again through an exp: relu and add can't be one kernel around it
    c, d = tensor("c", 64, 512), tensor("d", 64, 512)
    graph = Graph(
        "g",
        (op("relu", "relu", [X], [A]), op("linear", "fc", [A, W], [B]), op("softmax", "sm", [B], [c]), op("add", "add", [A, c], [d])),
    )
    plan = fuse(graph)
    assert names(plan) == [["relu"], ["fc"], ["sm", "add"]]
    first = next(v for v in plan.verdicts if (v.producer, v.consumer) == ("relu", "add"))
    assert first.reason == "an op between the two runs outside the group and needs its result: fusing would make a cycle"
    assert first.pattern == "none"


def test_no_cycle_through_two_groups():
    # p: x -> a -> fc1 -> b;  q: x -> c -> fc2 -> d.  add1 = a + d, add2 = c + b: each pair alone is fine with its own, not both
    x = X
    a, b, c, d, e, f = (tensor(n, 64, 512) for n in "abcdef")
    graph = Graph(
        "g",
        (
            op("relu", "a", [x], [a]),
            op("exp", "c", [x], [c]),
            op("linear", "fc1", [a, W], [b]),
            op("linear", "fc2", [c, W], [d]),
            op("softmax", "sb", [b], [tensor("sb", 64, 512)]),
            op("softmax", "sd", [d], [tensor("sd", 64, 512)]),
            op("add", "add1", [c, tensor("sb", 64, 512)], [e]),
            op("add", "add2", [a, tensor("sd", 64, 512)], [f]),
        ),
        outputs=("e", "f"),
    )
    plan = fuse(graph)
    done = set()
    for group in plan.groups:  # the groups run one after the other
        inside = {t.name for o in group.ops for t in o.outputs}
        for o in group.ops:
            for t in o.inputs:
                assert t.role != "activation" or t.name in done | inside
        done |= inside


def test_siblings_share_one_read():
    graph = Graph("g", (op("relu", "r", [X], [A]), op("exp", "e", [X], [B])), outputs=("a", "b"))
    plan = fuse(graph)
    assert names(plan) == [["r", "e"]]
    assert plan.groups[0].patterns == ("horizontal",)
    assert plan.groups[0].reason == "relu and exp both read x: one read serves both"
    assert plan.graph.bytes == 3 * X.bytes
    assert plan.graph.outputs == ("a", "b")
    assert names(fuse(graph, INDUCTOR)) == names(fuse(graph, POINTWISE)) == [["r"], ["e"]]
    verdict = plan.verdicts[-1]
    assert (verdict.producer, verdict.consumer, verdict.fused, verdict.pattern) == ("r", "e", True, "horizontal")


def test_siblings_need_one_shape_and_a_tensor_that_flows():
    wide = tensor("wide", 2, 64, 512)
    other = tensor("other", 2, 64, 512, role="input")
    graph = Graph("g", (op("relu", "r", [X], [A]), op("add", "add", [X, other], [wide])), outputs=("a", "wide"))
    assert names(fuse(graph)) == [["r"], ["add"]]
    gain, y = tensor("gain", 64, 512, role="weight"), tensor("z", 64, 512, role="input")
    shared_weight = Graph("g", (op("mul", "m1", [X, gain], [A]), op("mul", "m2", [y, gain], [B])), outputs=("a", "b"))
    assert fuse(shared_weight).kernels == 2  # a weight alone is no reason
    # an activation is
    shared_activation = Graph("g", (op("copy", "c", [X], [A]), op("relu", "r", [A], [B]), op("exp", "e", [A], [Y])), outputs=("b", "y"))
    assert fuse(shared_activation).kernels == 1
    # rows are reduced apart
    norms = Graph("g", (op("layer_norm", "n1", [X], [A]), op("softmax", "n2", [X], [B])), outputs=("a", "b"))
    assert fuse(norms).kernels == 2


def test_three_siblings_and_an_op_that_reads_twice():
    c = tensor("c", 64, 512)
    graph = Graph("g", (op("mul", "square", [X, X], [A]), op("exp", "e", [X], [B]), op("tanh", "t", [X], [c])), outputs=("a", "b", "c"))
    plan = fuse(graph)
    assert names(plan) == [["square", "e", "t"]]
    assert plan.graph.work.read == X.bytes
    assert len(plan.verdicts) == 2


def test_what_others_need_is_written():
    # relu's result is used by exp in the group and by a matmul outside
    graph = Graph("g", (op("relu", "r", [X], [A]), op("exp", "e", [A], [B]), op("linear", "fc", [A, W], [Y])), outputs=("b", "y"))
    plan = fuse(graph)
    assert names(plan) == [["r", "e"], ["fc"]]
    assert [t.name for t in plan.graph.ops[0].outputs] == ["a", "b"]
    assert plan.graph.ops[0].work.written == A.bytes + B.bytes
    # and what is handed back
    kept = Graph("g", chain("relu", "exp").ops, outputs=("t0", "t1"))
    assert [t.name for t in fuse(kept).graph.ops[0].outputs] == ["t0", "t1"]
    assert [t.name for t in fuse(chain("relu", "exp")).graph.ops[0].outputs] == ["t1"]


def test_the_fused_graph_keeps_name_format_and_parameters():
    graph = Graph("net", chain("relu", "exp", dtype="fp32").ops, "fp32", {"batch": 4})
    fused = fuse(graph).graph
    assert (fused.name, fused.dtype, fused.settings, fused.outputs) == ("net fused", "fp32", {"batch": 4}, ("t1",))
    assert fuse(graph).source is graph


def test_a_fused_op_computes_in_its_matmuls_format():
    x, wide, y = tensor("x", 64, 512, role="input"), tensor("a", 64, 512, dtype="fp32"), tensor("y", 64, 512, dtype="fp32")
    fc = op("linear", "fc", [x, W], [wide])
    assert merge((op("cast", "c", [wide], [x]), fc), {"a"}).dtype == "fp16"
    assert merge((op("relu", "r", [wide], [y]), op("cast", "c", [y], [x])), {"x"}).dtype == "fp32"


def test_merging_one_op_leaves_it():
    only = op("relu", "r", [X], [A])
    assert merge((only,), set()) is only


def test_merge_reads_an_input_once_at_its_larger_size():
    # a table is read by rows in one op and in full in another
    table, index = tensor("t", 100, 4, role="weight"), tensor("i", 3, dtype="int64")
    rows, full = tensor("rows", 3, 4), tensor("full", 100, 4)
    both = merge((op("gather", "g", [table, index], [rows]), op("scale", "s", [table], [full])), {"rows", "full"})
    assert dict(zip([t.name for t in both.inputs], both.reads, strict=True)) == {"t": 800.0, "i": 24.0}
    swapped = merge((op("scale", "s", [table], [full]), op("gather", "g", [table, index], [rows])), {"rows", "full"})
    assert swapped.work.read == 824.0


def test_two_slices_of_one_tensor_are_both_read():
    whole = tensor("gate_up", 64, 512)  # its halves bear its name, as registry/families/moe_family.py makes them
    gate = up = tensor("gate_up", 64, 256)
    a, y = tensor("a", 64, 256), tensor("y", 64, 256)
    graph = Graph("g", (op("linear", "fc", [X, W], [whole]), op("silu", "silu", [gate], [a]), op("mul", "mul", [a, up], [y])))
    plan = fuse(graph, INDUCTOR)
    assert names(plan) == [["fc"], ["silu", "mul"]]
    assert plan.graph.ops[1].work.read == 2 * gate.bytes == whole.bytes
    # three reads of a half are still no more than the whole
    b = tensor("b", 64, 256)
    more = Graph("g", (graph.ops[0], op("silu", "silu", [gate], [a]), op("mul", "mul", [a, up], [b]), op("add", "add", [b, gate], [y])))
    assert fuse(more, INDUCTOR).graph.ops[1].work.read == whole.bytes


def test_keys_of_fused_ops():
    one = merge((op("relu", "r", [X], [A]), op("exp", "e", [A], [B])), {"b"})
    same = merge((op("relu", "p", [X], [tensor("c", 64, 512)]), op("exp", "q", [tensor("c", 64, 512)], [Y])), {"y"})
    kept = merge((op("relu", "r", [X], [A]), op("exp", "e", [A], [B])), {"a", "b"})
    apart = merge((op("relu", "r", [X], [A]), op("exp", "e", [X], [B])), {"b"})
    other = merge((op("relu", "r", [X], [A]), op("tanh", "e", [A], [B])), {"b"})
    assert one.key == same.key
    assert len({one.key, kept.key, apart.key, other.key}) == 4
    assert one.key[0] == "fused"


def test_a_swept_batch_is_planned_like_its_scalars():
    sizes = np.array([1, 16, 64])

    def graph(batch):
        t = [Tensor(f"t{i}", (batch, 512)) for i in range(4)]
        return Graph(
            "g",
            (
                op("linear", "fc", [Tensor("x", (batch, 512), role="input"), W], [t[0]]),
                op("gelu", "g", [t[0]], [t[1]]),
                op("softmax", "s", [t[1]], [t[2]]),
                op("mul", "m", [t[2], t[1]], [t[3]]),
            ),
        )

    many = fuse(graph(sizes))
    for i, size in enumerate(sizes.tolist()):
        one = fuse(graph(size))
        assert names(one) == names(many)
        assert many.graph.bytes[i] == one.graph.bytes


def test_a_swept_reduction_is_small_only_where_it_always_is():
    def graph(size):
        x, s, y = Tensor("x", (size,), role="input"), tensor("s", 1), Tensor("y", (size,))
        return Graph("g", (op("sum", "sum", [x], [s], over="all"), op("div", "div", [x, s], [y])))

    assert fuse(graph(np.array([100, 8192]))).kernels == 1
    assert fuse(graph(np.array([100, 8193]))).kernels == 2


def test_sweeps_of_different_size_are_not_the_same_shape():
    n, m = np.array([1, 2, 3]), np.array([1, 2, 4])
    made = op("linear", "fc", [Tensor("x", (n, 8)), tensor("w", 8, 8, role="weight")], [Tensor("a", (n, 8))])
    same = op("relu", "r", [Tensor("a", (n, 8))], [Tensor("y", (n * 1, 8))])
    other = op("add", "r", [Tensor("a", (n, 8))], [Tensor("y", (m, 8))])
    first = op("add", "r", [Tensor("a", (n, 8))], [Tensor("y", (n * np.array([2, 1, 1]), 8))])
    assert decide(made, same).pattern == "epilogue"
    assert decide(made, other).pattern == "none"
    assert decide(made, first).pattern == "none"


def test_a_graph_remembers_its_plan_for_each_set_of_rules():
    graph = chain("relu", "exp")
    assert fuse(graph) is fuse(graph) is fuse(graph, TREE)
    assert fuse(graph, INDUCTOR) is fuse(graph, Rules(epilogue=False, horizontal=False))
    assert fuse(graph) is not fuse(graph, INDUCTOR)
    assert fuse(chain("relu", "exp")) is not fuse(graph)


def test_groups_name_themselves():
    r, e = chain("relu", "exp").ops
    assert Group((r,), (), "").name == "0:relu"
    assert Group((r, e), (), "").name == "0:relu…1:exp"


# ---- faults that were found by these tests


def test_a_barrier_holds_though_a_third_op_joins_both_sides():
    s = tensor("s", 1)
    graph = Graph("g", (op("neg", "neg", [X], [A]), op("sum", "sum", [A], [s], over="all"), op("div", "div", [A, s], [Y])))
    plan = fuse(graph)
    assert not any({"sum", "div"} <= {o.name for o in group.ops} for group in plan.groups)


def test_a_barrier_holds_though_a_fourth_op_joins_both_sides():
    """mul needs the whole sum: add, which joins mul and could join exp as well, must not bring them together."""
    s, c = tensor("s", 1), tensor("c", 64, 512)
    ops = (op("relu", "relu", [X], [A]), op("exp", "exp", [A], [B]), op("sum", "sum", [B], [s], over="all"), op("mul", "mul", [A, s], [c]))
    assert names(fuse(Graph("g", (*ops, op("add", "add", [c, B], [Y]))))) == [["relu", "exp", "sum"], ["mul", "add"]]


def in_order(plan):
    """Whether every group runs after those that it needs."""
    made = {t.name: i for i, group in enumerate(plan.groups) for one in group.ops for t in one.outputs}
    return all(made.get(t.name, i) <= i for i, group in enumerate(plan.groups) for one in group.ops for t in one.inputs)


def test_a_group_waits_for_what_only_its_first_op_needs():
    """The norm and its sum need the first group, which ends later than they do; the sum alone needs only the norm."""
    x, t1, t2, t3, t4, t6 = (
        tensor(name, 4, 8, role="input" if name == "x" else "activation") for name in ("x", "t1", "t2", "t3", "t4", "t6")
    )
    s, total, after = tensor("s", 1), tensor("total", 1), tensor("after", 4, 1)
    ops = (
        op("sum", "sum", [x], [s], over="all"), op("mul", "mul", [x, s], [t1]), op("add", "add", [t1, x], [t2]),
        op("relu", "relu", [t2], [t3]), op("layer_norm", "norm", [t1], [t4]), op("sum", "after", [t4], [after], over="row"),
        op("add", "twice", [t3, t3], [t6]), op("sum", "total", [t3], [total], over="all"),
    )  # fmt: skip
    plan = fuse(Graph("g", ops, outputs=("t6", "after", "total")))
    assert names(plan)[0][0] == "sum" and ["norm", "after"] in names(plan) and in_order(plan)


def test_a_group_waits_for_what_an_op_that_joined_it_needs():
    """fc2 needs fc1, whose kernel also takes the products after it, and these wait for the first group."""
    s, weight = tensor("s", 1), tensor("w2", 512, 512, role="weight")
    t0, t2, t3, t4, t5, t6, t7 = (tensor(f"t{i}", 64, 512) for i in (0, 2, 3, 4, 5, 6, 7))
    ops = (
        op("mul", "square", [X, X], [t0]), op("sum", "sum", [t0], [s], over="row"), op("relu", "relu", [t0], [t2]),
        op("linear", "fc1", [X, W], [t3]), op("mul", "scaled", [t3, s], [t4]), op("mul", "gated", [t4, t2], [t5]),
        op("linear", "fc2", [t3, weight], [t6]), op("add", "twice", [t4, t4], [t7]),
    )  # fmt: skip
    plan = fuse(Graph("g", ops, outputs=("t5", "t6", "t7")))
    assert in_order(plan)


def test_a_residual_does_not_pull_a_matmuls_input_into_its_kernel():
    graph = Graph("g", (op("relu", "relu", [X], [A]), op("linear", "fc", [A, W], [B]), op("add", "add", [B, A], [Y])))
    assert names(fuse(graph)) == [["relu"], ["fc", "add"]]


def test_keys_tell_apart_groups_that_share_an_input():
    shared = merge((op("add", "a", [X, SAME], [A]), op("mul", "m", [A, X], [B])), {"b"})
    apart = merge((op("add", "a", [X, SAME], [A]), op("mul", "m", [A, THIRD], [B])), {"b"})
    assert shared.work.read == 2 * X.bytes
    assert apart.work.read == 3 * X.bytes
    assert shared.key != apart.key


# ---- reasons


def plain(*rows: tuple[str, list[str]], size: tuple[int, int] = (200, 64)) -> Graph:
    """Ops by kind and the names of what they read; op i makes t<i>, and a sum runs over the whole tensor."""
    known = {"x": Tensor("x", size, "fp16", "input")}
    ops = []
    for i, (kind, reads) in enumerate(rows):
        known[f"t{i}"] = Tensor(f"t{i}", (1,) if kind == "sum" else size)
        inputs = [known[name] for name in reads]
        if kind == "linear":
            inputs.append(Tensor(f"w{i}", (size[1], size[1]), "fp16", "weight"))
        ops.append(op(kind, str(i), inputs, [known[f"t{i}"]], **({"over": "all"} if kind == "sum" else {})))
    return Graph("plain", tuple(ops))


def test_a_refusal_keeps_its_own_reason():
    plan = fuse(plain(("sum", ["x"]), ("div", ["x", "t0"])))
    assert [v.reason for v in plan.verdicts] == ["sum over the whole tensor must finish before div can start"]
    plan = fuse(plain(("neg", ["x"]), ("sum", ["t0"]), ("div", ["t0", "t1"])))
    why = {(v.producer, v.consumer): v.reason for v in plan.verdicts}
    assert why["0", "2"] == "another op in the one group must not share a kernel with one in the other"
    assert why["1", "2"] == "sum over the whole tensor must finish before div can start"


def test_two_groups_that_join_keep_all_their_reasons():
    y = tensor("y0", 64, 512, role="input")
    c, d, e = (tensor(n, 64, 512) for n in "cde")
    graph = Graph(
        "g",
        (
            op("relu", "1", [X], [A]),
            op("exp", "2", [A], [B]),
            op("tanh", "3", [y], [c]),
            op("copy", "4", [c], [d]),
            op("add", "5", [B, d], [e]),
        ),
    )
    group = fuse(graph).groups[0]
    assert [o.name for o in group.ops] == ["1", "2", "3", "4", "5"]
    assert sorted(group.patterns) == ["pointwise", "vertical"]
    assert set(group.reason.split("; ")) == {
        "relu and exp visit the same elements in the same order",
        "exp and add visit the same elements in the same order",
        "copy uses tanh's value where it is made",
        "add uses copy's value where it is made",
    }


def test_siblings_share_an_activation_that_is_stored_anyway():
    q = tensor("q", 1, 2, 64, 32, role="input")
    a, b, y = (tensor(n, 1, 2, 64, 32) for n in "aby")
    graph = Graph("g", (op("attention", "attn", [q, q, q], [a]), op("relu", "r", [a], [b]), op("exp", "e", [a], [y])), outputs=("b", "y"))
    assert names(fuse(graph)) == [["attn"], ["r", "e"]]
    assert fuse(graph).graph.ops[1].work.read == a.bytes


def test_reductions_of_different_length_stay_apart():
    # relu feeds a sum along the row (512 together) and one down the column (8 together)
    x, a = tensor("x", 8, 512, role="input"), tensor("a", 8, 512)
    ops = (op("relu", "r", [x], [a]), op("sum", "row", [a], [tensor("s", 8, 1)]), op("sum", "column", [a], [tensor("c", 1, 512)]))
    plan = fuse(Graph("g", ops, outputs=("s", "c")))
    assert names(plan) == [["r", "row"], ["column"]]
    assert plan.verdicts[-1].reason == "the two reduce along rows of different length"


def test_a_norm_and_a_sum_along_the_last_axis_share_the_row():
    x, a, s = tensor("x", 4, 8, 16, role="input"), tensor("a", 4, 8, 16), tensor("s", 4, 8, 1)
    assert fuse(Graph("g", (op("layer_norm", "n", [x], [a]), op("sum", "s", [a], [s])))).kernels == 1


def test_outputs_need_not_be_the_last_ops():
    graph = Graph("g", chain("relu", "exp").ops, outputs=("t0",))
    assert fuse(graph).graph.outputs == ("t0",)


def test_the_format_of_a_fused_op():
    wide, x16, y16 = tensor("wide", 64, 512, dtype="fp32", role="input"), tensor("x16", 64, 512), tensor("y16", 64, 512)
    product = merge((op("cast", "c", [wide], [x16]), op("linear", "fc", [x16, W], [y16])), {"y16"})
    assert (product.inputs[0].dtype, product.dtype) == ("fp32", "fp16")
    told = merge((op("relu", "r", [X], [A], dtype="fp32"), op("exp", "e", [A], [B])), {"b"})
    assert (told.inputs[0].dtype, told.dtype) == ("fp16", "fp32")


def test_an_op_with_a_byte_count_missing_is_refused():
    r, e = chain("relu", "exp").ops
    for broken in (replace(r, reads=()), replace(r, writes=())):
        with pytest.raises(ValueError, match="zip"):
            merge((broken, e), {"t1"})
